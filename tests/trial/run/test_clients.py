"""When a failed client starts again: soon, and rarely where retries fail at once."""

from __future__ import annotations

import math

import pytest

from httpbed.trial.run.clients import APART_S, LATER_SHARE, MANY_RUNS, Pauses


def starts(limit_s: float, takes_s: float) -> list[float]:
    """Return when each run begins, if each fails after so long."""
    pauses, found, now = Pauses(limit_s), list[float](), 0.0
    while now < limit_s:
        found.append(now)
        ended = now + takes_s
        now = max(ended, pauses.due_s(now, ended))
    return found


@pytest.mark.parametrize("limit_s", [60.0, 900.0])
def test_retries_outlast_a_gap_of_any_length(limit_s: float) -> None:
    """They go on until the time limit, and are few."""
    found = starts(limit_s, takes_s=0.02)
    assert len(found) <= 20 + math.log(limit_s / 2) / math.log(1 + LATER_SHARE) + 2 < MANY_RUNS
    for one, following in zip(found, [*found[1:], limit_s], strict=True):
        assert following - one <= max(APART_S, LATER_SHARE * (one + 0.02)) + 1e-9


def test_retries_begin_every_tenth_of_a_second_at_first() -> None:
    """For two seconds."""
    assert starts(2.0, 0.02)[:20] == pytest.approx([number * APART_S for number in range(20)])


def test_a_long_run_is_followed_at_once() -> None:
    """Earlier failures do not delay it."""
    pauses = Pauses(900.0)
    for number in range(50):
        pauses.due_s(number * 0.5, number * 0.5 + 0.02)
    assert pauses.due_s(25.0, 60.0) <= 60.0
    assert pauses.due_s(60.0, 60.02) == 60.0 + APART_S


@pytest.mark.parametrize("takes_s", [0.0, 0.11, 1.0])
def test_the_number_of_runs_is_bounded(takes_s: float) -> None:
    """Even where each run lasts until the next is due."""
    assert len(starts(900.0, takes_s)) <= 2 * MANY_RUNS
