"""Both clocks at one moment, whoever gets the CPU meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from httpbed.trial.handover.execution import read_clocks

APART_NS = 10**18
MS = 10**6


@dataclass
class Machine:
    """Its time goes on by so much with each reading."""

    steps: Iterator[int]
    now_ns: int = 0

    def monotonic_ns(self) -> int:
        """Read one clock."""
        self.now_ns += next(self.steps)
        return self.now_ns

    def realtime_ns(self) -> int:
        """Read the other."""
        return self.monotonic_ns() + APART_NS


def test_whoever_was_put_off_between_two_readings_reads_again() -> None:
    """All but one of the readings lost the CPU for 3 ms or more, before or after the second."""
    took = [100, 3 * MS, 100, 100, 100, 9 * MS, 100, 60, 60, 100, 5 * MS, 5 * MS, 100, 100, 4 * MS]
    machine = Machine(iter(took))
    found = read_clocks(machine.monotonic_ns, machine.realtime_ns)
    assert found["within_ns"] == 120
    assert found["realtime_ns"] - found["monotonic_ns"] == APART_NS


def test_the_machines_own_clocks() -> None:
    """As they are, ascending."""
    first, second = read_clocks(), read_clocks()
    assert first["monotonic_ns"] < second["monotonic_ns"]
    assert first["within_ns"] > 0
