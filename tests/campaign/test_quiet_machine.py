"""When the next attempt waits for a quiet machine, and for how long."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from httpbed.campaign import quiet_machine
from httpbed.experiment.check import (
    CARRIED_OUT,
    LATENESS,
    PRESSURE,
    ROUND_TRIP_TIME,
)
from httpbed.experiment.check_descriptor import CheckDescriptor
from httpbed.experiment.trial import Attempt
from httpbed.host.pressure import PressureReading
from recorded import H2_LOSS, trial


def attempt(*broken: CheckDescriptor) -> Attempt:
    """Return an attempt in which these checks failed."""
    checks = [one.result(passed=False, figure="") for one in broken]
    kind = "invalid" if broken else "completed"
    said = {"trial": trial(H2_LOSS), "number": 1, "started": "", "phases_s": {}}
    return Attempt.model_validate({**said, "outcome": {"kind": kind}, "checks": checks})


@pytest.mark.parametrize(("number", "seconds"), [(1, 1.0), (2, 2.0), (3, 4.0)])
def test_the_wait_doubles_with_each_attempt(number: int, seconds: float) -> None:
    """The first wait was too short."""
    assert quiet_machine.patience_s(attempt(PRESSURE, LATENESS), number) == seconds


@pytest.mark.parametrize(
    "ended", [attempt(), attempt(PRESSURE, ROUND_TRIP_TIME), attempt(CARRIED_OUT)]
)
def test_other_invalid_attempts_are_retried_without_a_wait(ended: Attempt) -> None:
    """Waiting helps only against a busy machine."""
    assert quiet_machine.patience_s(ended, 1) == 0


@pytest.mark.parametrize(("waited", "found"), [(0.0, True), (0.25, True), (0.3, False)])
def test_a_machine_is_quiet_up_to_a_quarter_of_the_time(waited: float, found: bool) -> None:
    """This is less than what makes a trial invalid, because its own programs add to it."""
    assert (
        quiet_machine.is_quiet(
            PressureReading("psi", 7.0, 10.0), PressureReading("psi", 7.0 + waited, 11.0)
        )
        is found
    )


def test_the_wait_for_a_machine_that_stays_busy_ends() -> None:
    """The attempt then runs, and its checks judge it."""
    looks = (PressureReading("psi", float(number), number * 0.5) for number in itertools.count())
    asyncio.run(quiet_machine.until_quiet(0.5, lambda: next(looks)))
    assert next(looks).at_s == 1.0


def test_the_wait_ends_with_the_first_quiet_reading() -> None:
    """Two readings are enough."""
    looks = iter([PressureReading("psi", 0.0, 0.0), PressureReading("psi", 0.0, 0.25)])
    asyncio.run(quiet_machine.until_quiet(time.monotonic(), lambda: next(looks)))
    assert next(looks, None) is None
