"""One sentence for each factor."""

from __future__ import annotations

from collections.abc import Mapping

from campaigns import VERSIONS, campaign
from httpbed.report.answer import factor_sentences
from httpbed.results.findings import find

MANY = VERSIONS.replace('["0 %", "2 %"]', str([f"{index} %" for index in range(20)])).replace(
    '["1.1", "2", "3"]', '["2", "3"]'
)
NOISE = (-0.08, 0.05, 0.0, 0.11, -0.03)


def texts(ends: object, text: str, metric: str = "request_time") -> list[str]:
    """Return the sentences on a campaign's factors."""
    found = find(campaign(ends, text), metric)  # type: ignore[arg-type]
    return [str(one) for one in factor_sentences(metric, found.effects)]


def noisy(levels: Mapping[str, str], block: int) -> float:
    """Let the version change nothing that five blocks could settle."""
    shift = 2 if levels["http_version"] == "3" else 0
    return 1 + NOISE[(block + shift) % 5]


def test_differences_that_chance_gives_are_called_so() -> None:
    """Of twenty cells one may differ, though nothing does."""

    def ends(levels: Mapping[str, str], block: int) -> float:
        slow = levels["http_version"] == "3" and levels["loss"] == "7 %"
        return noisy(levels, block) * (2 if slow else 1)

    assert texts(ends, MANY)[0] == (
        "HTTP version: against HTTP/2, HTTP/3 needed more time in 1 of 20 cells (2.11x), less in"
        " none, no more than chance gives, 19 not settled with 5 blocks."
    )


def test_factors_that_vary_together_are_not_told_apart() -> None:
    """The sentence says why there is no comparison."""
    groups = """
[[groups]]
name = "old"
levels = { http_version = ["1.1"], loss = ["0 %"] }

[[groups]]
name = "new"
levels = { http_version = ["3"], loss = ["2 %"] }
"""
    alone = "no two treatments with values differ in this factor alone."
    assert texts(lambda *_: 1.0, VERSIONS + groups) == [f"HTTP version: {alone}", f"Loss: {alone}"]
