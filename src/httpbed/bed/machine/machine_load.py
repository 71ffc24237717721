"""The load of the machine (CPU pressure, idle time, memory), and the priority of processes.

CPU pressure is the time during which at least one runnable task waited for a CPU. Sources:
pressure stall information (Documentation/accounting/psi.rst, "some" of cpu), and /proc/stat. If the
kernel has no pressure stall information: steal time.

Real-time priority (SCHED_FIFO) is set from outside of a sandbox: inside a user namespace even root
may not set it. Outside, root may, and so may a user with RLIMIT_RTPRIO; both need the PID of the
host's namespace.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

BY_TASK = "schedstat"
"""The source of CPU pressure that counts the trial's own tasks."""
_PSI = Path("/proc/pressure/cpu")
_STAT = Path("/proc/stat")
_IDLE_COLUMN = 4
_STEAL_COLUMN = 8
_TAKEN_COLUMNS = (1, 3, 6, 7, _STEAL_COLUMN)
"""user, system, irq, softirq and steal: without idle time, and without niced programs, which give
way."""
_NICED_COLUMN = 2
BUSY_SHARE = 0.5
"""Of the CPUs: if other programs take as much, the machine is busy. The admission of attempts never
counts on less than the other half (``campaign/admission.py``, MIN_SHARE)."""
LOOK_S = 2.0
"""Time over which :func:`taken_share` looks: longer than the start of a program, whose burst is
over before a trial begins."""


@dataclass(frozen=True)
class PressureReading:
    """A reading of the monotonic counter."""

    source: str
    """``psi`` or ``steal``."""
    seconds: float
    at_s: float
    """Time of the reading, by the monotonic clock."""


def read_pressure() -> PressureReading:
    """Read the counter."""
    try:
        for line in _PSI.read_text().splitlines():
            if line.startswith("some "):
                seconds = int(line.rsplit("total=", 1)[1]) / 1e6
                return PressureReading("psi", seconds, time.monotonic())
    except OSError:
        pass
    return PressureReading("steal", _seconds(_stat_lines()[0], _STEAL_COLUMN), time.monotonic())


def idle_s() -> float:
    """Return for how long the CPUs that this process may use have been idle since boot, added."""
    usable_cpus = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    return sum(_seconds(line, _IDLE_COLUMN) for line in _stat_lines() if line[0] in usable_cpus)


def taken_share(over_s: float = LOOK_S) -> float:
    """Return the share of this process's CPUs that programs take meanwhile.

    Niced programs give way, and are left out; they do not give way to a process that is niced
    itself. Sleeps for ``over_s`` seconds.
    """
    before, at_s = _taken_s(), time.monotonic()
    time.sleep(over_s)
    cpus = len(os.sched_getaffinity(0))
    share = (_taken_s() - before) / (cpus * (time.monotonic() - at_s))
    return min(max(share, 0.0), 1.0)


def _taken_s() -> float:
    usable_cpus = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    lines = [line for line in _stat_lines() if line[0] in usable_cpus]
    is_niced = os.getpriority(os.PRIO_PROCESS, 0) > 0
    columns = (*_TAKEN_COLUMNS, _NICED_COLUMN) if is_niced else _TAKEN_COLUMNS
    return sum(_seconds(line, column) for line in lines for column in columns)


def _stat_lines() -> list[list[str]]:
    return [line.split() for line in _STAT.read_text().splitlines()]


def _seconds(line: list[str], column: int) -> float:
    return int(line[column]) / os.sysconf("SC_CLK_TCK")


def available_bytes() -> int:
    """Return the memory that programs may still use without swapping (proc(5), MemAvailable)."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    kib = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return int(kib) * 1024


def killed_for_memory() -> int:
    """Return the number of out-of-memory kills since boot; 0 before Linux 4.13."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    counts = dict(line.split() for line in lines)
    return int(counts.get("oom_kill", 0))


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


def become_idle() -> None:
    """Give this process the CPU only when no other process wants it.

    Threads and processes that it starts later inherit this (sched(7), SCHED_IDLE).
    """
    with suppress(AttributeError, OSError):  # not Linux
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
