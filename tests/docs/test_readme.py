"""The README agrees with the archives of the studies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

import readme_results
import results_archives
import results_clocks

pytestmark = pytest.mark.slow

TEXT = readme_results.README.read_text()


def test_the_verdicts_are_counted_as_in_the_archives(
    published: list[results_archives.PublishedExperiment],
) -> None:
    """`make docs` writes the sentence and the table."""
    assert readme_results.page(TEXT, published) == TEXT


def test_the_example_has_the_values_of_its_claims(
    published: list[results_archives.PublishedExperiment],
) -> None:
    """Published and measured times (L-7, L-8), and with which senders the ratio holds (L-9)."""
    claims = {claim["id"]: claim for claim in results_clocks.claims_of(published)}
    (case,) = re.findall(r"^An example: Liu .*?(?=\n\n)", TEXT, re.MULTILINE | re.DOTALL)
    stated = re.findall(r"(\d+) s\b", case)
    h3 = {round(cell["value"]) for cell in claims["L-7"]["cells"]}
    h2 = round(claims["L-8"]["estimate"]["value"])
    assert stated == [*_published_s(claims["L-7"], claims["L-8"]), *map(str, h3), str(h2)]
    assert (claims["L-8"]["verdict"], claims["L-9"]["verdict"]) == ("open", "reproduced")
    arms = {arm["name"]: arm["verdict"] for arm in claims["L-9"]["arms"]}
    assert arms["New Reno of ngtcp2 over QUIC"] == "contradicted"
    assert arms["nginx 1.30 with Cubic over QUIC"] == "contradicted"


def _published_s(*claims: Mapping[str, Any]) -> list[str]:
    return [claim["published"].removesuffix(" s") for claim in claims]
