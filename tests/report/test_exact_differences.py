"""The answer in virtual time: whether two treatments give the same values, and by how much not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import reports
from campaigns import VERSIONS, campaign
from httpbed.report.answer import answer
from httpbed.report.phrasing import signed
from httpbed.report.publish import summary
from httpbed.results.findings import find

VIRTUAL = {"clock": "virtual"}
BUILDS = VERSIONS.replace('http_version = ["1.1", "2", "3"]', 'build = ["old", "new"]').replace(
    '{ factor = "http_version" }', '"2"'
)
"""Two builds with and without loss, in five blocks."""


def sentences(
    later_s: Mapping[tuple[str, int], float], clock: str = "virtual", text: str = BUILDS
) -> list[str]:
    """Answer when the new build is so much slower at a loss in a block."""

    def ends(levels: Mapping[str, str], block: int) -> float:
        more_s = later_s.get((levels["loss"], block), 0.0) if levels["build"] == "new" else 0.0
        return 0.5 + block / 8 + more_s

    results = campaign(ends, text, manifest={"clock": clock})
    found = find(results, base={"build": "old"})
    return [str(sentence) for sentence in answer(found, results.document, with_link=False)]


def test_equal_builds_are_identical_in_all_blocks() -> None:
    """And no margin is mentioned, because there is no noise to allow for."""
    assert sentences({}) == [
        "At 0 % loss, new needed the same time as old: identical in all 5 blocks.",
        "At 2 % loss, new needed the same time as old: identical in all 5 blocks.",
    ]


@pytest.mark.parametrize(("later_s", "is_open"), [(0.0, False), (0.001, True)])
def test_builds_that_are_identical_in_few_blocks_leave_nothing_open(
    later_s: float, *, is_open: bool
) -> None:
    few = BUILDS.replace("replicates = 5", "replicates = 3")

    def ends(levels: Mapping[str, str], block: int) -> float:
        return 0.5 + block / 8 + later_s * (levels["build"] == "new")

    results = campaign(ends, few, manifest=VIRTUAL)
    notes = reports.notes(results, find(results, base={"build": "old"}))
    assert any("not settled" in note for note in notes) == is_open


def test_a_difference_is_stated_exactly() -> None:
    """From the least to the most, with the blocks in which there is none."""
    lossless, lossy = sentences({("2 %", 1): 2.56e-7, ("2 %", 2): -0.0125})
    assert lossless.endswith("identical in all 5 blocks.")
    assert lossy.startswith(
        "At 2 % loss, new needed 1.00x the time of old, which the blocks do not settle:"
        " exactly -12.50 ms to +0.256 us in all 5 blocks, 3 of them identical ("
    )


def test_a_difference_in_every_block_alike_is_one_number() -> None:
    """As of a build that sends one packet more after the handshake."""
    later = {("2 %", block): 0.25 for block in range(1, 6)}
    assert "exactly +250.0 ms in all 5 blocks (" in sentences(later)[1]


def test_a_single_block_is_exact_too() -> None:
    """It says nothing about other losses, so the sentence names the single block."""
    one = BUILDS.replace("replicates = 5", "replicates = 1")
    assert sentences({}, text=one)[0].endswith("identical in the only block.")
    later = sentences({("2 %", 1): 0.25}, text=one)[1]
    assert "the time of old in a single block: exactly +250.0 ms in the only block" in later


def test_real_time_has_no_exact_difference() -> None:
    """There the machine adds noise to every value."""
    assert not any(
        "identical" in sentence or "exactly" in sentence for sentence in sentences({}, clock="real")
    )


def test_no_identity_is_stated_where_nobody_asked_for_it() -> None:
    """HTTP versions may need the same time; that they differ by nothing was not the question."""
    results = campaign(lambda *_: 1.0, VERSIONS, manifest={"clock": "virtual"})
    told = [str(sentence) for sentence in answer(find(results), results.document)]
    assert any("the same time" in one for one in told)
    assert not any("identical" in one or "exactly" in one for one in told)


def test_many_comparisons_are_counted() -> None:
    """Where the answer sums up, one sentence counts those without any difference."""
    losses = '["0 %", "1 %", "2 %", "3 %", "4 %", "5 %", "6 %"]'
    text = BUILDS.replace('["0 %", "2 %"]', losses)
    assert sentences({("2 %", 3): 1.0}, text=text)[0] == (
        "6 of 7 comparisons are identical in all their blocks."
    )


def test_json_has_the_differences(tmp_path: Path) -> None:
    """Unrounded, in the metric's unit."""
    results = campaign(lambda levels, _: 1.0 + (levels["build"] == "new") / 4, BUILDS)
    found = find(results, base={"build": "old"})
    ratio = summary(results, found, tmp_path / "report.html")["treatments"][1]["ratio"]
    assert ratio["differences"] == {"least": 0.25, "most": 0.25, "none": 0}


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-2.56e-7, "-0.256 us"), (0.0124, "+12.40 ms"), (3.0, "+3.00 s")],
)
def test_a_difference_has_its_sign_and_a_unit_of_its_own(value: float, text: str) -> None:
    """Nanoseconds and seconds may stand side by side."""
    assert signed("request_time", value) == text
