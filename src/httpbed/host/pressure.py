"""How long something on this machine that wanted a CPU had to wait for one.

Source: pressure stall information (Documentation/accounting/psi.rst, "some" of cpu). Where the
kernel has none, time stolen by the hypervisor, from /proc/stat.
"""

from __future__ import annotations

import os
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


def read() -> Waited:
    """Read the counter."""
    try:
        for line in _PSI.read_text().splitlines():
            if line.startswith("some "):
                return Waited("psi", int(line.rsplit("total=", 1)[1]) / 1e6)
    except OSError:
        pass
    ticks = _STAT.read_text().splitlines()[0].split()[_STEAL_COLUMN]
    return Waited("steal", int(ticks) / os.sysconf("SC_CLK_TCK"))
