"""Real-time priority (SCHED_FIFO) for processes in a sandbox, set from outside.

Inside a user namespace even root may not set it. Outside, root may, and so may a user with
RLIMIT_RTPRIO; both need the PID of the host's namespace.
"""

from __future__ import annotations

import os
from pathlib import Path

PRIORITY = 10


def promote(init_pid: int, inner_pid: int) -> bool:
    """Give real-time priority to the process ``inner_pid`` of the sandbox led by ``init_pid``.

    Returns:
        Whether the kernel permitted it.
    """
    pid = outer_pid(init_pid, inner_pid)
    if pid is None:
        return False
    try:
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except (PermissionError, ProcessLookupError):
        return False
    return True


def outer_pid(init_pid: int, inner_pid: int) -> int | None:
    """Return the host's PID of ``inner_pid`` in the sandbox led by ``init_pid``."""
    children = Path(f"/proc/{init_pid}/task/{init_pid}/children")
    try:
        candidates = [int(word) for word in children.read_text().split()]
        return next((pid for pid in candidates if _inner_pid(pid) == inner_pid), None)
    except OSError:
        return None


def _inner_pid(pid: int) -> int | None:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return None
