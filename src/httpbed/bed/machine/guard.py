"""Runs a command and ensures that all its descendant processes end with it.

    python -m httpbed.bed.machine.guard [--lock FILE] [--hold FD] -- COMMAND [ARGUMENT ...]

A killed package manager leaves children running, and so does a killed caller. A PID namespace would
end them, but mmdebstrap does not work in the namespaces that an ordinary user can make. So there
are two guards, the second a child of the first, and the command is a child of the second:

* each guard asks the kernel for SIGTERM when its parent dies, and then kills its descendants;
* each guard is a subreaper, which adopts orphaned descendants;
* if the second guard is killed, the first adopts and kills its descendants; if the first is killed,
  the second gets SIGTERM.

Processes remain only if both guards are killed at the same instant. The lock is held until both
have ended, so its next holder finds no process of this command.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_END_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_LAST_WAIT_S = 10.0
"""Time that killed processes may take to end before the guard stops waiting."""

EXIT_NOT_STARTED = 127


def run(
    command: Sequence[str],
    *,
    holding: Iterable[int] = (),
    environment: Mapping[str, str] | None = None,
    output: IO[str] | None = None,
) -> int:
    """Run ``command`` under guards and return its exit code (128 + n for signal n).

    The guards keep the descriptors ``holding`` open; the command does not inherit them. Its stdout
    and stderr go to ``output``, by default to those of this process.
    """
    descriptors = tuple(holding)
    return subprocess.run(
        guarded(command, descriptors),
        check=False,
        env=environment,
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
    ).returncode


def guarded(command: Sequence[str], holding: Iterable[int] = ()) -> list[str]:
    """Return the command line that runs a command under guards; SIGTERM ends all of it."""
    holds = [word for descriptor in holding for word in ("--hold", str(descriptor))]
    return [sys.executable, "-P", __file__, *holds, "--", *command]


def main() -> int:
    """Run the first guard."""
    words = _arguments()
    parent = os.getppid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*_END_SIGNALS, signal.SIGCHLD})
    _tie_to(parent, signal.SIGTERM)
    for descriptor in words.hold:
        os.set_inheritable(descriptor, False)
    with _locked(words.lock):
        return _guard(lambda: _second(words.command, mask))


def _second(command: Sequence[str], mask: Iterable[int]) -> int:
    """Run the second guard, in a session of its own, so no terminal signal reaches it."""
    os.setsid()
    _tie_to(os.getppid(), signal.SIGTERM)
    return _guard(lambda: _become(command, mask))


def _become(command: Sequence[str], mask: Iterable[int]) -> NoReturn:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _tie_to(os.getppid(), signal.SIGKILL)
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    os._exit(EXIT_NOT_STARTED)


def _guard(child_main: Callable[[], int]) -> int:
    """Run ``child_main`` in a child, wait for it, then kill its remaining descendants."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = child_main()
        finally:
            os._exit(code)
    code = _wait(child)
    _kill_descendants()
    return code


def _wait(child: int) -> int:
    """Wait for the child or for a signal to this guard, and reap adopted orphans meanwhile."""
    while True:
        received = signal.sigwait({*_END_SIGNALS, signal.SIGCHLD})
        if received != signal.SIGCHLD:
            return 128 + received
        for pid, status in _reaped():
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code


def _reaped() -> Iterable[tuple[int, int]]:
    """Reap every child that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def _kill_descendants() -> None:
    """Kill all descendants repeatedly until none is left, because they may fork meanwhile."""
    deadline = time.monotonic() + _LAST_WAIT_S
    while descendants := _descendants(os.getpid()):
        for pid in descendants:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        for _ in _reaped():
            pass
        if time.monotonic() > deadline:
            return
        time.sleep(0.002)


def _descendants(ancestor: int) -> list[int]:
    """Return all descendants of a process, from /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    descendants = list(children.get(ancestor, []))
    for pid in descendants:  # grows during the iteration
        descendants += children.get(pid, [])
    return descendants


def _parent(process: Path) -> int | None:
    try:
        stat = (process / "stat").read_text()
    except OSError:  # it has ended
        return None
    return int(stat.rpartition(")")[2].split()[1])


@contextlib.contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """Hold an exclusive lock on a file; with None, no lock. A wait is reported on stderr."""
    if path is None:
        yield
        return
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write(f"waiting for another process that holds {path}\n")
            before = signal.pthread_sigmask(signal.SIG_UNBLOCK, _END_SIGNALS)  # no child to end yet
            fcntl.flock(file, fcntl.LOCK_EX)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield


def _tie_to(parent: int, end_signal: signal.Signals) -> None:
    """Ask the kernel to send this process ``end_signal`` when its parent dies."""
    _prctl(_PR_SET_PDEATHSIG, end_signal)
    if os.getppid() != parent:  # it has died already
        os.kill(os.getpid(), end_signal)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="guard", description=__doc__.partition("\n")[0])
    parser.add_argument("--lock", type=Path, help="hold this lock; wait for it if necessary")
    parser.add_argument("--hold", type=int, action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
