"""How far a campaign is: reasons, estimates, and the time left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest

from campaigns import Ending, campaign, timed
from httpbed.addons.live import status
from httpbed.results.findings import find
from httpbed.store.results import Results

LATE = "emulator lateness: p99 {} us"


def ends(levels: Mapping[str, str], block: int) -> Ending | None:
    """Return the ends of a campaign in its third block of five."""
    if block == 3 and levels["http_version"] == "3":
        return None
    if block > 3:
        return None
    if levels == {"http_version": "3", "loss": "2 %"}:
        return Ending({}, "failed", f"client ended well: exit code 7 after {block}.5 s")
    if levels == {"http_version": "1.1", "loss": "2 %"} and block == 2:
        return Ending({}, "timed out", "the client was still busy at the time limit")
    late = [LATE.format(6000 + block)] if levels["loss"] == "0 %" and block < 3 else []
    made = timed(1.0 + block / 10)
    return Ending(made.observations, invalid_first=late)


def found(results: Results) -> dict[str, Any]:
    """Return the document of a campaign under way."""
    return status.document(results, "request_time", running=True)


def test_outcomes_count_trials_and_reasons_count_attempts() -> None:
    """Sixteen of thirty trials ended, after six invalid attempts."""
    one = found(campaign(ends))
    assert (one["ended"], one["planned"]) == (16, 30)
    assert one["outcomes"] == {"completed": 13, "failed": 2, "timed out": 1}
    assert one["last_invalid"]["reason"] == LATE.format(6002)


def test_reasons_that_differ_in_numbers_are_one() -> None:
    """The latest is shown, and those of failed trials name the programs."""
    one = found(campaign(ends))
    (late,) = one["invalid_attempts"]
    assert (late["count"], late["reason"], late["programs"]) == (6, LATE.format(6002), "")
    failed, timed_out = one["failures"]
    assert (failed["count"], failed["programs"]) == (2, "curl, nginx")
    assert failed["reason"] == "client ended well: exit code 7 after 2.5 s"
    assert (timed_out["count"], timed_out["outcome"]) == (1, "timed out")


def test_estimates_are_those_of_the_report() -> None:
    """Every treatment, its values and its interval."""
    results = campaign(ends)
    rows = [row for _, row in find(results, "request_time").rows()]
    shown = {tuple(one["levels"].values()): one for one in found(results)["treatments"]}
    assert len(shown) == len(rows) == 6
    for row in rows:
        one = shown[tuple(row.levels.values())]
        assert one["n"] == row.sample.n
        if row.estimate is None:
            assert one["estimate"] is None
        else:
            assert one["estimate"]["median"] == asdict(row.estimate.median)
            assert (one["estimate"]["interval"] is None) == (row.estimate.interval is None)


def test_a_campaign_without_attempts_has_a_status() -> None:
    """No estimate, no time left."""
    one = found(campaign(lambda _levels, _block: None))
    assert (one["ended"], one["planned"], one["left_s"]) == (0, 30, None)
    assert [treatment["estimate"] for treatment in one["treatments"]] == [None] * 6
    assert (one["last_invalid"], one["invalid_attempts"], one["failures"]) == (None, [], [])


def attempt(started: str, wall_s: float, level: str = "a", trial: str = "") -> dict[str, object]:
    day = f"2026-11-21T{started}.000+00:00"
    return {"started": day, "wall_s": wall_s, "factor": level, "trial": trial or started}


def test_the_time_left_follows_the_usual_distance_between_starts() -> None:
    """A pause of an hour between two runs does not count."""
    starts = ["12:00:00", "12:00:10", "13:00:20", "13:00:30", "13:00:40"]
    rows = [attempt(start, 8) for start in starts]
    assert status.time_left_s(rows, {("a",): 6}, ["factor"]) == pytest.approx(60)
    assert status.time_left_s(rows[:2], {("a",): 6}, ["factor"]) is None


def test_the_time_left_is_that_of_the_missing_treatments() -> None:
    """Trials of two lengths, each with as long a rest of its own kind; and one not seen yet."""
    rows = [
        attempt("12:00:00", 2, "short"),
        attempt("12:00:02", 20, "long"),
        attempt("12:00:22", 2, "short"),
        attempt("12:00:24", 2, "short"),
    ]
    for level, left_s in (("short", 10), ("long", 100), ("new", 10)):
        assert status.time_left_s(rows, {(level,): 5}, ["factor"]) == pytest.approx(left_s)


def test_trials_side_by_side_and_repeated_attempts_change_the_time_left() -> None:
    """Four at a time need a quarter; if each trial needs two attempts, twice as long."""
    starts = [f"12:00:{second:02}" for second in range(0, 24, 2)]
    rows = [attempt(start, 8) for start in starts]
    assert status.time_left_s(rows, {("a",): 4}, ["factor"]) == pytest.approx(8)
    twice = [{**row, "trial": str(number // 2)} for number, row in enumerate(rows)]
    assert status.time_left_s(twice, {("a",): 4}, ["factor"]) == pytest.approx(16)
