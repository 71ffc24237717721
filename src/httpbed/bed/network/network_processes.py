"""The processes that make a network, planned to the last detail.

The code that starts them needs neither topology nor impairments, so it does not import the schema
of experiments (``docs/decisions/0034``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from httpbed.base.clock import NS
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec

TOOLS = "tools"
"""Name, inside the sandbox, of the root filesystem that has ip, ethtool, ss and ping."""


@dataclass(frozen=True)
class NetworkProcesses:
    """Everything that makes a network, in the order of its first fields."""

    wiring: ProcessSpec | None
    """In the sandbox's own network: the veth pairs; None where the emulator makes the devices."""
    hosts: tuple[ProcessSpec, ...]
    """On each host: addresses, neighbours, routes, offloads; with a kernel backend also its
    disciplines. The commands do not depend on each other."""
    emulator: ProcessSpec
    """The link emulator; it speaks line by line."""
    after_ready: tuple[ProcessSpec, ...]
    """Commands that need a ready emulator, one after the other."""
    counters: ProcessSpec | None = None
    """Reads the kernel's own counters where its disciplines carry the packets."""

    def counter_readings(self, *readings: str) -> tuple[ProcessSpec, ...]:
        """Return the readings of the kernel's counters; none if the emulator carries."""
        if self.counters is None:
            return ()
        return tuple(replace(self.counters, stdout=counters_file(reading)) for reading in readings)

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Return every process that makes the network, in order."""
        wiring = (self.wiring,) if self.wiring else ()
        return (*wiring, *self.hosts, self.emulator, *self.after_ready)


def counters_file(reading: str) -> str:
    """Name the file with one of the kernel's counter readings, among a trial's artifacts."""
    return f"qdiscs-{reading}.json"


def polled_s(event: Mapping[str, Any]) -> float:
    """Return the CPU time in which the emulator polled, by its event ``counters`` or ``result``.

    Time in which it polled and other processes had the CPU is no CPU time.
    """
    return float(min(event.get("polled_ns", 0), event.get("cpu_ns", 0)) / NS)
