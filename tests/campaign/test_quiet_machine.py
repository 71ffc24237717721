"""When the next attempt waits for a quiet machine, and for how long."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from httpbed.addons.capacity import quiet_machine
from httpbed.addons.capacity.quiet_machine import Patience
from httpbed.bed.machine.pressure import PressureReading
from httpbed.experiment.check import CARRIED_OUT, LATENESS, PRESSURE, ROUND_TRIP_TIME
from httpbed.experiment.check_descriptor import CheckDescriptor
from httpbed.experiment.trial import Attempt
from recorded import H2_LOSS, trial

STARTED = "2026-11-22T10:00:00+00:00"


def attempt(*broken: CheckDescriptor) -> Attempt:
    """Return an attempt in which these checks failed."""
    checks = [one.result(passed=False, figure="") for one in broken]
    kind = "invalid" if broken else "completed"
    said = {"trial": trial(H2_LOSS), "number": 1, "started": STARTED, "phases_s": {}}
    return Attempt.model_validate({**said, "outcome": {"kind": kind}, "checks": checks})


@pytest.mark.parametrize(("number", "seconds"), [(1, 1.0), (2, 2.0), (3, 4.0)])
def test_the_wait_doubles_with_each_attempt(number: int, seconds: float) -> None:
    """The first wait was too short."""
    assert Patience().after_s(attempt(PRESSURE, LATENESS), number) == seconds


def test_a_wait_that_the_user_allows_is_not_shortened() -> None:
    """Nor is a longer one; other causes than a busy machine are not waited for."""
    assert Patience(600.0).after_s(attempt(PRESSURE), 1) == 600.0
    assert Patience(5.0).after_s(attempt(PRESSURE), 4) == 8.0
    assert Patience(600.0).after_s(attempt(CARRIED_OUT), 1) == 0.0


@pytest.mark.parametrize(
    "ended", [attempt(), attempt(PRESSURE, ROUND_TRIP_TIME), attempt(CARRIED_OUT)]
)
def test_other_invalid_attempts_are_retried_without_a_wait(ended: Attempt) -> None:
    """Waiting helps only against a busy machine."""
    assert Patience().after_s(ended, 1) == 0


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


class Machine:
    """A machine whose processes wait for a CPU until a time; its clock advances by each look."""

    def __init__(self, busy_until_s: float) -> None:
        self.busy_until_s, self.now_s = busy_until_s, 0.0

    def look(self) -> PressureReading:
        """Return a reading a quarter of a second after the last one."""
        now_s, self.now_s = self.now_s, self.now_s + quiet_machine.LOOK_S
        return PressureReading("psi", min(now_s, self.busy_until_s), now_s)


@pytest.fixture
def immediate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every wait end at once: the machine's own clock counts."""

    async def sleep(_: float) -> None:
        """Return at once."""

    monkeypatch.setattr(asyncio, "sleep", sleep)


@pytest.mark.usefixtures("immediate")
@pytest.mark.parametrize(
    ("busy_until_s", "lines"),
    [
        (0.0, []),
        (60.0, ["waiting until it is quiet, at most 10 min (--wait)", "the machine is quiet"]),
        (6000.0, ["waiting until it is quiet, at most 10 min", "still busy after 10 min"]),
    ],
)
def test_a_run_waits_for_a_quiet_machine_at_most_so_long(
    busy_until_s: float, lines: list[str]
) -> None:
    """It says why nothing happens; a quiet machine delays it by two seconds."""
    machine, said = Machine(busy_until_s), list[str]()
    quiet_machine.before_a_run(600.0, said.append, machine.look)
    assert len(said) == len(lines)
    assert all(words in line for words, line in zip(lines, said, strict=True))
    least_s = min(busy_until_s, 600.0) + quiet_machine.STEADY_S
    assert least_s <= machine.now_s <= least_s + 4.0


@pytest.mark.usefixtures("immediate")
def test_a_pause_in_other_work_is_not_yet_a_quiet_machine() -> None:
    """Between two commands of a build there is a second without work."""
    seconds = iter([0.0, 0.25, 0.25, 0.25, 0.25, 0.5] + [0.5] * 20)
    times = itertools.count(step=quiet_machine.LOOK_S)

    def look() -> PressureReading:
        return PressureReading("psi", next(seconds), next(times))

    assert asyncio.run(quiet_machine.until_quiet(60.0, look, for_s=quiet_machine.STEADY_S))
    assert next(times) == 5 * quiet_machine.LOOK_S + quiet_machine.STEADY_S + quiet_machine.LOOK_S


def test_an_interrupt_ends_the_wait() -> None:
    """Nobody wants a further attempt then."""
    looks = (PressureReading("psi", float(number), number * 0.5) for number in itertools.count())
    asyncio.run(quiet_machine.until_quiet(600.0, lambda: next(looks), ended=lambda: True))
    assert next(looks).at_s == 0.5
