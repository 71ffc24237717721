"""When the next try waits for a quiet machine, and how long."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from httpbed.campaign import quiet_machine
from httpbed.experiment.trial import Attempt, Check
from httpbed.host.pressure import PressureReading
from recorded import H2_LOSS, trial

TOLD = {"figure": "", "limit": ""}


def attempt(*broken: str, of: str = "bed") -> Attempt:
    """Make an attempt in which these checks are broken."""
    checks = [
        Check.model_validate({"name": name, "of": of, "passed": False} | TOLD) for name in broken
    ]
    kind = "invalid" if of == "bed" and broken else "completed"
    said = {"trial": trial(H2_LOSS), "number": 1, "started": "", "phases_s": {}}
    return Attempt.model_validate({**said, "outcome": {"kind": kind}, "checks": checks})


@pytest.mark.parametrize(("tries", "seconds"), [(1, 1.0), (2, 2.0), (3, 4.0)])
def test_patience_grows_with_the_tries(tries: int, seconds: float) -> None:
    """What was too short the last time is doubled."""
    assert quiet_machine.patience_s(attempt("CPU pressure", "emulator lateness"), tries) == seconds


@pytest.mark.parametrize(
    "ended", [attempt(), attempt("CPU pressure", "round-trip time"), attempt("trial carried out")]
)
def test_only_a_busy_machine_is_waited_for(ended: Attempt) -> None:
    """Waiting mends nothing else."""
    assert quiet_machine.patience_s(ended, 1) == 0


@pytest.mark.parametrize(("waited", "found"), [(0.0, True), (0.25, True), (0.3, False)])
def test_quiet_is_a_quarter_of_the_time(waited: float, found: bool) -> None:
    """Less than what would make a trial invalid, to which the trial's own programs add."""
    assert (
        quiet_machine.is_quiet(
            PressureReading("psi", 7.0, 10.0), PressureReading("psi", 7.0 + waited, 11.0)
        )
        is found
    )


def test_a_machine_that_never_is_quiet_is_waited_for_no_longer_than_promised() -> None:
    """The try comes, and its checks tell how it went."""
    looks = (PressureReading("psi", float(number), number * 0.5) for number in itertools.count())
    asyncio.run(quiet_machine.until_quiet(0.5, lambda: next(looks)))
    assert next(looks).at_s == 1.0


def test_a_quiet_machine_is_waited_for_no_longer_than_a_look() -> None:
    """The second look settles it."""
    looks = iter([PressureReading("psi", 0.0, 0.0), PressureReading("psi", 0.0, 0.25)])
    asyncio.run(quiet_machine.until_quiet(time.monotonic(), lambda: next(looks)))
    assert next(looks, None) is None
