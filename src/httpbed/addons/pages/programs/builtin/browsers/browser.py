"""A browser's processes: started over a pipe, killed as a whole, with complete CPU seconds.

Chromium is a family: helpers, a zygote whose children are the tabs, processes that come and go.
This program is their subreaper: the kernel gives it each process whose parent ended. So it sees
all of them end, and knows their CPU time (getrusage(2) counts processes that were waited for).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import select
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

READS, WRITES = 3, 4
"""Descriptors of a browser with --remote-debugging-pipe: it reads commands from the first."""
FIRST_FREE = 10
CHUNK_BYTES = 2**16
"""What a pipe holds. With more, each reading maps and unmaps memory for what it may bring."""
MAX_LOG_BYTES = 2**20
MAX_LAST_BYTES = 500
"""Bytes of the log's end that a reason quotes."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TICKS = os.sysconf("SC_CLK_TCK")
_PRCTL = ctypes.CDLL(None, use_errno=True).prctl


class BrowserEndedError(Exception):
    """The browser closed the pipe, or reads no commands any more."""


class Browser:
    """A running browser."""

    def __init__(self, argv: Sequence[str], log: Path) -> None:
        """Start the browser; when it has ended, the last MiB of its output is added to ``log``.

        A page's console messages may be many. They must not fill the folder, in which the driver's
        own records are.
        """
        _PRCTL(_PR_SET_CHILD_SUBREAPER, 1)
        self._log = log
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the browser runs
        self._used_s: float | None = None
        self._before_s = _children_s()
        read, self._to = _high_pipe()
        self._from, write = _high_pipe()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self.pid = os.fork()
        if self.pid == 0:
            _become(argv, read, write, self._output.fileno())
        os.close(read)
        os.close(write)

    def send(self, message: bytes) -> None:
        """Send a message; a browser that lets the pipe fill up counts as ended."""
        try:
            os.write(self._to, message + b"\0")
        except OSError as error:
            raise BrowserEndedError(f"it took no more commands: {error.strerror}") from None

    def receive(self, until: float) -> bytes:
        """Return received bytes; empty if none come before the clock shows ``until``."""
        if not select.select([self._from], [], [], max(0.0, until - time.monotonic()))[0]:
            return b""
        try:
            received = os.read(self._from, CHUNK_BYTES)
        except BlockingIOError:
            return b""
        if not received:
            raise BrowserEndedError("it closed the pipe")
        return received

    def pids(self) -> list[int]:
        """List the browser's processes, all descendants of this program."""
        parents = {int(process.name): _parent(process) for process in _processes()}
        pids = [os.getpid()]
        for pid in pids:
            pids += [child for child, parent in parents.items() if parent == pid]
        return pids[1:]

    def await_end(self, until: float) -> bool:
        """Wait until the browser ends by itself; return whether it did before ``until``."""
        watched = os.pidfd_open(self.pid)
        try:
            left_s = max(0.0, until - time.monotonic())
            return bool(select.select([watched], [], [], left_s)[0])
        finally:
            os.close(watched)

    def last_words(self) -> str:
        """Return the last line of its output, after a colon; empty if there is none."""
        lines = self._last(MAX_LAST_BYTES).decode(errors="replace").split("\n")
        return next((f": {line}" for line in reversed(lines) if line.strip()), "")

    def used_s(self) -> float:
        """Return the CPU seconds used so far, in whole kernel ticks."""
        running = sum(_ticks(Path(f"/proc/{pid}")) for pid in self.pids())
        return _children_s() - self._before_s + running / _TICKS

    def end(self) -> float:
        """Kill all of its processes; return the CPU seconds that they used."""
        if self._used_s is None:
            os.close(self._to)
            while _reap_one():
                pass
            os.close(self._from)
            self._used_s = _children_s() - self._before_s
            with self._log.open("ab") as log:
                log.write(self._last(MAX_LOG_BYTES))
        return self._used_s

    def _last(self, most: int) -> bytes:
        """Return the end of the browser's output."""
        output = self._output.fileno()
        return os.pread(output, most, max(0, os.fstat(output).st_size - most))


def _high_pipe() -> tuple[int, int]:
    read, write = os.pipe()
    return _high(read), _high(write)


def _high(descriptor: int) -> int:
    """Move a descriptor above those that a browser expects to be free."""
    high: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    os.close(descriptor)
    return high


def _become(argv: Sequence[str], read: int, write: int, output: int) -> None:
    """Become the browser, in this process; it dies with its parent."""
    try:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
        fcntl.fcntl(output, fcntl.F_SETFL, os.O_APPEND)
        out = _high(output)
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
    """Kill all children and wait for one of them; return whether there was one."""
    for pid in _children(os.getpid()):
        os.kill(pid, signal.SIGKILL)
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        return False
    return True


def _children(parent: int) -> Iterator[int]:
    """Yield the children of a process."""
    return (int(entry.name) for entry in _processes() if _parent(entry) == parent)


def _processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _parent(entry: Path) -> int | None:
    """Return the parent's process ID; None if the process has ended."""
    fields = _stat(entry)
    return int(fields[1]) if fields else None


def _ticks(entry: Path) -> int:
    """Return the CPU ticks of a process and of the children that it waited for."""
    return sum(map(int, _stat(entry)[11:15]))


def _stat(entry: Path) -> list[str]:
    """Return the fields of proc_pid_stat(5) after the name; empty if the process has ended."""
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
