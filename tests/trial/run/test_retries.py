"""When a client that failed is started again: soon, and seldom where it is of no use."""

from __future__ import annotations

import math

import pytest

from httpbed.trial.run.clients import APART_S, LATER_SHARE, MANY_RUNS, Pauses


def starts(limit_s: float, takes_s: float) -> list[float]:
    """Return when each run begins, if each fails after as long."""
    pauses, found, now = Pauses(limit_s), list[float](), 0.0
    while now < limit_s:
        found.append(now)
        ended = now + takes_s
        now = max(ended, pauses.due_s(now, ended))
    return found


@pytest.mark.parametrize("limit_s", [60.0, 900.0])
def test_a_gap_of_any_length_is_outlasted(limit_s: float) -> None:
    """Runs that fail at once go on until the time limit, and are few even so."""
    found = starts(limit_s, takes_s=0.02)
    assert len(found) <= 20 + math.log(limit_s / 2) / math.log(1 + LATER_SHARE) + 2 < MANY_RUNS
    for one, following in zip(found, [*found[1:], limit_s], strict=True):
        assert following - one <= max(APART_S, LATER_SHARE * (one + 0.02)) + 1e-9


def test_a_short_gap_costs_a_tenth_of_a_second() -> None:
    """As ever, for two seconds."""
    assert starts(2.0, 0.02)[:20] == pytest.approx([number * APART_S for number in range(20)])


def test_a_run_that_took_its_time_is_followed_at_once() -> None:
    """And what failed long ago does not make the next failures wait."""
    pauses = Pauses(900.0)
    for number in range(50):
        pauses.due_s(number * 0.5, number * 0.5 + 0.02)
    assert pauses.due_s(25.0, 60.0) <= 60.0
    assert pauses.due_s(60.0, 60.02) == 60.0 + APART_S


@pytest.mark.parametrize("takes_s", [0.0, 0.11, 1.0])
def test_runs_are_bounded(takes_s: float) -> None:
    """Also where each lasts long enough for the next to begin at once."""
    assert len(starts(900.0, takes_s)) <= 2 * MANY_RUNS
