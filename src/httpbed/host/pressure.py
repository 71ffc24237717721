"""How long something on this machine that wanted a CPU had to wait for one.

Source: pressure stall information (Documentation/accounting/psi.rst, "some" of cpu). Where the
kernel has none, time stolen by the hypervisor, from /proc/stat.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_PSI = Path("/proc/pressure/cpu")
_STAT = Path("/proc/stat")
_STEAL_COLUMN = 8


@dataclass(frozen=True)
class Waited:
    """A reading of a counter that only grows."""

    source: str
    """``psi`` or ``steal``."""
    seconds: float
    at_s: float
    """When it was read, by a clock that never goes back."""

    def share_since(self, before: Waited) -> float:
        """Share of the time since an earlier reading; the steal of all CPUs can be more than 1."""
        return (self.seconds - before.seconds) / max(self.at_s - before.at_s, 1e-9)


def read() -> Waited:
    """Read the counter."""
    try:
        for line in _PSI.read_text().splitlines():
            if line.startswith("some "):
                seconds = int(line.rsplit("total=", 1)[1]) / 1e6
                return Waited("psi", seconds, time.monotonic())
    except OSError:
        pass
    ticks = _STAT.read_text().splitlines()[0].split()[_STEAL_COLUMN]
    return Waited("steal", int(ticks) / os.sysconf("SC_CLK_TCK"), time.monotonic())


def killed_for_memory() -> int:
    """Count the processes that the kernel has killed for want of memory since this machine began.

    0 where it does not tell (before Linux 4.13).
    """
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    counts = dict(line.split() for line in lines)
    return int(counts.get("oom_kill", 0))
