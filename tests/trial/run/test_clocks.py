"""Reading both clocks at one time, whichever process gets the CPU in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from httpbed.trial.run.runner import read_clocks

APART_NS = 10**18
MS = 10**6


@dataclass
class Machine:
    """A machine whose time advances by a step with each reading."""

    steps: Iterator[int]
    now_ns: int = 0

    def monotonic_ns(self) -> int:
        self.now_ns += next(self.steps)
        return self.now_ns

    def realtime_ns(self) -> int:
        return self.monotonic_ns() + APART_NS


def test_the_closest_pair_of_readings_counts() -> None:
    """All other readings lost the CPU for 3 ms or more."""
    took = [100, 3 * MS, 100, 100, 100, 9 * MS, 100, 60, 60, 100, 5 * MS, 5 * MS, 100, 100, 4 * MS]
    machine = Machine(iter(took))
    found = read_clocks(machine.monotonic_ns, machine.realtime_ns)
    assert found["within_ns"] == 120
    assert found["realtime_ns"] - found["monotonic_ns"] == APART_NS
