"""Invalid attempts of a run: one line for each block, and none of any length for an attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import stored_campaigns
from httpbed.base.clock import Clock
from httpbed.campaign.executor import AttemptProgress
from httpbed.cli.progress import InvalidAttempts, RunParts
from httpbed.experiment.check import CARRIED_OUT, LATENESS, PRESSURE
from httpbed.experiment.trial import Attempt, Check, Trial

TRIALS = stored_campaigns.loaded().trials
STRAINED = [PRESSURE.result(passed=False, figure="62 % of 1.00 s with a task waiting")]
LATE = [*STRAINED, LATENESS.result(passed=False, figure="p99 9 ms")]
BROKEN = [CARRIED_OUT.result(passed=False, figure="the emulator died " * 30)]


def attempt(
    place: int,
    number: int,
    checks: Iterable[Check] | None,
    clock: Clock = "real",
    trials: Sequence[Trial] = TRIALS,
) -> Attempt:
    """Return an attempt at a trial of the design; None makes it valid."""
    trial = trials[place].model_copy(update={"clock": clock})
    kind = "completed" if checks is None else "invalid"
    made = stored_campaigns.record(trial, number, kind).attempt
    if checks is None:
        return made
    reason = "; ".join(check.figure for check in checks)
    outcome = made.outcome.model_copy(update={"reason": reason})
    return made.model_copy(update={"checks": tuple(checks), "outcome": outcome})


def lines(told: Iterable[AttemptProgress]) -> list[str]:
    """Tell a run's progress, in blocks of two trials."""
    counted = InvalidAttempts(RunParts.blocks(TRIALS[:2]))
    during = [line for progress in told for line in counted.note(progress)]
    return [*during, *counted.rest()]


def test_a_block_has_one_line_with_counts_and_reasons() -> None:
    told = [
        AttemptProgress(attempt(0, 1, STRAINED), retried=True),
        AttemptProgress(attempt(0, 2, LATE), retried=True),
        AttemptProgress(attempt(0, 3, None), retried=False),
        AttemptProgress(attempt(1, 1, BROKEN), retried=False),
    ]
    (line,) = lines(told)
    assert line.startswith(f"block {TRIALS[0].block}: 3 invalid attempts")
    for part in ("1 by CPU pressure,", "1 by CPU pressure and emulator lateness", "2 repeated"):
        assert part in line
    assert "1 trial given up" in line
    assert len(line) < 300


def test_what_an_interrupt_leaves_is_not_called_repeated() -> None:
    told = [
        AttemptProgress(attempt(0, 1, STRAINED), retried=True),
        AttemptProgress(attempt(0, 2, STRAINED), retried=True),
        AttemptProgress(attempt(1, 1, STRAINED), retried=True, later=True),
    ]
    (line,) = lines(told)
    assert "1 repeated at once" in line
    assert "2 trials not repeated" in line


def test_the_clock_that_helps_is_named_once_and_only_in_real_time() -> None:
    def told(clock: Clock) -> list[AttemptProgress]:
        first = AttemptProgress(attempt(0, 1, STRAINED, clock), retried=True, later=True)
        second = AttemptProgress(attempt(1, 1, STRAINED, clock), retried=True, later=True)
        again = AttemptProgress(attempt(1, 2, STRAINED, clock), retried=False)
        return [first, second, again]

    real = lines(told("real"))
    assert ["--clock virtual" in line for line in real] == [True, False]
    assert "2 trials again at the end" in real[0]
    assert "1 trial given up" in real[1]
    assert not any("--clock" in line for line in lines(told("virtual")))


def test_a_run_without_invalid_attempts_has_no_such_line() -> None:
    assert lines([AttemptProgress(attempt(one, 1, None), retried=False) for one in (0, 1)]) == []
