"""A browser's processes: started over a pipe, ended whole, their CPU seconds complete.

Chromium is a family: helpers, a zygote whose children are the tabs, processes that come and go.
A process whose parent ends is given to this program, which asked the kernel for that: so all of
them are seen to end, and what each used is known (getrusage(2) counts those waited for).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import select
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

READS, WRITES = 3, 4
"""Descriptors on which a browser with --remote-debugging-pipe listens and speaks."""
FIRST_FREE = 10
CHUNK_BYTES = 2**20
MOST_LAST_BYTES = 500
"""Of what it said last, as reasons quote it."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TICKS = os.sysconf("SC_CLK_TCK")
_PRCTL = ctypes.CDLL(None, use_errno=True).prctl


class BrowserEndedError(Exception):
    """Its end of the pipe is closed, or it takes nothing from it any more."""


class Browser:
    """One that was started."""

    def __init__(self, argv: Sequence[str], log: Path) -> None:
        """Start it; what it says of itself goes to ``log``."""
        _PRCTL(_PR_SET_CHILD_SUBREAPER, 1)
        self._log = log
        self._used_s: float | None = None
        self._before_s = _children_s()
        read, self._to = _high_pipe()
        self._from, write = _high_pipe()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self.pid = os.fork()
        if self.pid == 0:
            _become(argv, read, write, log)
        os.close(read)
        os.close(write)

    def send(self, message: bytes) -> None:
        """Give it a message; what does not fit into the pipe, nobody reads."""
        try:
            os.write(self._to, message + b"\0")
        except OSError as error:
            raise BrowserEndedError(f"it took no more commands: {error.strerror}") from None

    def receive(self, until: float) -> bytes:
        """Return what it has said; empty when the clock shows ``until`` before."""
        if not select.select([self._from], [], [], max(0.0, until - time.monotonic()))[0]:
            return b""
        try:
            said = os.read(self._from, CHUNK_BYTES)
        except BlockingIOError:
            return b""
        if not said:
            raise BrowserEndedError("it closed the pipe")
        return said

    def pids(self) -> list[int]:
        """List its processes, which have no others between them and this program but each other."""
        parents = {int(one.name): _parent(one) for one in _processes()}
        found = [os.getpid()]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found[1:]

    def await_end(self, until: float) -> bool:
        """Wait for it to end by itself; return whether it has when the clock shows ``until``."""
        watched = os.pidfd_open(self.pid)
        try:
            left_s = max(0.0, until - time.monotonic())
            return bool(select.select([watched], [], [], left_s)[0])
        finally:
            os.close(watched)

    def last_words(self) -> str:
        """Return the last line of what it said of itself, after a colon; empty without any."""
        said = self._log.read_bytes()[-MOST_LAST_BYTES:].decode(errors="replace").split("\n")
        return next((f": {line}" for line in reversed(said) if line.strip()), "")

    def used_s(self) -> float:
        """Return the CPU seconds that it has used until now, in whole ticks of the kernel's."""
        running = sum(_ticks(Path(f"/proc/{pid}")) for pid in self.pids())
        return _children_s() - self._before_s + running / _TICKS

    def end(self) -> float:
        """End all of its processes; return the CPU seconds that they used."""
        if self._used_s is None:
            os.close(self._to)
            while _reap_one():
                pass
            os.close(self._from)
            self._used_s = _children_s() - self._before_s
        return self._used_s


def _high_pipe() -> tuple[int, int]:
    read, write = os.pipe()
    return _high(read), _high(write)


def _high(descriptor: int) -> int:
    """Put a descriptor where a browser expects none of its own."""
    high: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    os.close(descriptor)
    return high


def _become(argv: Sequence[str], read: int, write: int, log: Path) -> None:
    """Be the browser, in a process of its own; it ends with who started it."""
    try:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
        out = _high(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644))
        for mine, its in ((read, READS), (write, WRITES), (out, 1), (out, 2)):
            os.dup2(mine, its)
        os.execv(argv[0], list(argv))
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reap_one() -> bool:
    """End all that is there and wait for one of them; return whether there was one."""
    for pid in _children(os.getpid()):
        os.kill(pid, signal.SIGKILL)
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        return False
    return True


def _children(parent: int) -> Iterator[int]:
    """Find who is a child of this program now."""
    return (int(entry.name) for entry in _processes() if _parent(entry) == parent)


def _processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _parent(entry: Path) -> int | None:
    """Return a process's parent."""
    told = _stat(entry)
    return int(told[1]) if told else None


def _ticks(entry: Path) -> int:
    """Return the CPU time of a process and of its children that it waited for."""
    return sum(map(int, _stat(entry)[11:15]))


def _stat(entry: Path) -> list[str]:
    """Split proc_pid_stat(5) after a process's name, in parentheses; empty if it has ended."""
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
