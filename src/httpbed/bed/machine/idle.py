"""The lowest priority, for work that must not disturb trials."""

from __future__ import annotations

import os
from contextlib import suppress


def become_idle(pid: int = 0) -> None:
    """Give a process, by default this one, the CPU only when no other process wants it.

    Threads and processes that it starts later inherit this (sched(7), SCHED_IDLE).
    """
    with suppress(AttributeError, OSError):  # not Linux, or the process has ended
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
