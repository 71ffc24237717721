"""What a report with claims begins with, and the effect that each claim's row shows."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims import claims_section_report as claims_section
from httpbed.addons.claims import judging
from httpbed.store.results import Results

CLAIMS = """
[scales.paper]
replicates = 10
levels = { http_version = ["2", "3"] }
published = { cells = 9, runs = 90 }
absent = ["a satellite: nobody has one"]

[[claim]]
id = "faster"
says = "HTTP/3 is faster"
metric = "request_time"
over = ["loss"]
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
expect = "< 1"

[[claim]]
id = "short"
says = "HTTP/3 needs less than 0.9 s without loss"
metric = "request_time"
where = { loss = "0 %", http_version = "3" }
expect = "< 0.9 s"

[[claim]]
id = "both"
says = "HTTP/3 is faster, and short"
all_of = ["faster", "short"]
"""
CITED = VERSIONS.replace("replicates", 'citation = "A. Author: Times (2020)"\nreplicates') + CLAIMS
SECONDS = {"1.1": 2.0, "2": 1.0, "3": 0.5}


def usual(levels: Mapping[str, str], block: int) -> Ending | None:
    """Return times that differ by version; HTTP/1.1 with loss did not run."""
    if levels == {"http_version": "1.1", "loss": "2 %"}:
        return None
    return timed(SECONDS[levels["http_version"]] * (1 + block / 100))


def opening(results: Results) -> str:
    """Return what stands above the table of claims."""
    section = claims_section.make(results, judging.judge(results))
    assert section is not None
    return " ".join(section["opening"])


def test_a_report_begins_with_citation_scale_and_coverage() -> None:
    """And counts a claim of two parts once."""
    results = campaign(usual, CITED, manifest={"scale": "full", "for_claims": True})
    text = opening(results)
    assert text.startswith("The claim is from A. Author: Times (2020).")
    assert "at scale full, but only what its claims need: 25 trials of 5 cells" in text
    assert "has 4 cells and 40 trials. Of these 4 cells (100 %) and 20 trials (50 %) ran" in text
    assert "The publication has 9 cells and 90 runs. Absent: a satellite: nobody has one." in text
    section = claims_section.make(results, judging.judge(results))
    assert section is not None
    assert [count for _, count in section["counted"]] == [1]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (2, "0.5x [0.5, 0.5] and 0.5x [0.5, 0.5]"),
        (5, "worst of 5: 1.5x [1.5, 1.5]; 4 of 5 as claimed"),
    ],
)
def test_a_claim_about_cells_shows_their_values_or_the_worst(levels: int, words: str) -> None:
    """With the interval of the cell itself, and never how many cells alone."""
    losses = [f"{at} %" for at in range(levels)]
    text = CITED.replace('loss = ["0 %", "2 %"]', f"loss = {losses!r}".replace("'", '"'))

    def ends(at: Mapping[str, str], _: int) -> Ending:
        slow = at == {"http_version": "3", "loss": "4 %"}
        return timed(1.5 if slow else SECONDS[at["http_version"]])

    judged = judging.judge(campaign(ends, text))
    effects = claims.effects(judged)
    assert effects["faster"] == words
    assert effects["both"] == f"faster {words}; short {effects['short']}"
