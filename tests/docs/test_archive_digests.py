"""The lists of digests beside the published reports."""

from __future__ import annotations

from hashlib import sha256

import pytest

import results_archives
from results_archives import PublishedExperiment
from results_campaigns import SUMS

pytestmark = pytest.mark.slow

PAGE = (results_archives.ROOT / "docs/results.md").read_text()


def test_the_digests_are_those_of_every_file(one: PublishedExperiment) -> None:
    """Of the archive, the verdicts, the report and the figures."""
    lines = [line.partition("  ") for line in (one.folder / SUMS).read_text().splitlines()]
    listed = {name: digest for digest, _, name in lines}
    files = [file for file in one.folder.rglob("*") if file.is_file() and file.name != SUMS]
    assert listed == {
        str(file.relative_to(one.folder)): sha256(file.read_bytes()).hexdigest() for file in files
    }
    assert f"{sha256((one.folder / SUMS).read_bytes()).hexdigest()}  results/{one.place}/" in PAGE
