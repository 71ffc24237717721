"""The clock of a trial: the machine's, or that of a guest, in which computing takes no time.

A guest's clock stands still while any of its processes runs. When all of them wait, it jumps to the
next timer. So it shows the time that a network takes, and a busy machine changes nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, get_args

NS = 1e9
"""Nanoseconds in a second."""
Clock = Literal["real", "virtual"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)

GUEST_STARTS = datetime(2027, 1, 15, 8, tzinfo=UTC)
"""What the clock of every guest shows when it starts."""
MEANING = "virtual time: computing takes none"
"""What stands beside results in virtual time."""
