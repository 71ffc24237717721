"""Runs a command whose whole family ends with it, whoever is killed, and however.

    python -m httpbed.host.guard [--lock FILE] [--hold FD] -- COMMAND [ARGUMENT ...]

A package manager killed in the middle leaves children running; so does a killed caller.
Namespaces would end them, but mmdebstrap works in none that an ordinary user can make. So
there are two guards, the second a child of the first, and below them the command:

* each guard asks the kernel for SIGTERM when its parent dies, and then kills its family;
* each guard adopts the orphans of its family (a subreaper), so that none escapes its sight;
* when the second is killed, the first adopts its family and kills it; when the first is
  killed, the second is told.

Only both killed in the same instant leave something behind. The lock is held until both are
gone, so whoever takes it next finds nothing of this family running.

Standard library only: this runs before anything is installed.
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

_ENDINGS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_LAST_WAIT_S = 10.0
"""How long killed processes may take to go before the guard gives up on them."""

EXIT_NOT_STARTED = 127


def run(
    command: Sequence[str],
    *,
    holding: Iterable[int] = (),
    environment: Mapping[str, str] | None = None,
    output: IO[str] | None = None,
) -> int:
    """Run ``command`` under guards and return its exit code (128 + n for signal n).

    The guards keep the descriptors ``holding`` open; the command does not see them. Its
    output and its errors both go to ``output``, by default to where ours go.
    """
    kept = tuple(holding)
    holds = [word for descriptor in kept for word in ("--hold", str(descriptor))]
    return subprocess.run(
        [sys.executable, "-P", __file__, *holds, "--", *command],
        check=False,
        env=environment,
        pass_fds=kept,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
    ).returncode


def main() -> int:
    """Be the first guard."""
    words = _arguments()
    parent = os.getppid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*_ENDINGS, signal.SIGCHLD})
    _tie_to(parent, signal.SIGTERM)
    for descriptor in words.hold:
        os.set_inheritable(descriptor, False)
    with _locked(words.lock):
        return _guard(lambda: _second(words.command, mask))


def _second(command: Sequence[str], mask: Iterable[int]) -> int:
    """Be the second guard, out of reach of signals to the first one's process group."""
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


def _guard(play: Callable[[], int]) -> int:
    """Fork a child that plays its part, wait for it, then end what is left of its family."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = play()
        finally:
            os._exit(code)
    code = _wait(child)
    _end_family()
    return code


def _wait(child: int) -> int:
    """Wait for the child or for an ending of our own, reaping adopted orphans meanwhile."""
    while True:
        received = signal.sigwait({*_ENDINGS, signal.SIGCHLD})
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


def _end_family() -> None:
    """Kill all descendants, again and again until none is left: they may fork meanwhile."""
    deadline = time.monotonic() + _LAST_WAIT_S
    while family := _descendants(os.getpid()):
        for pid in family:
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
    """List the processes below one, from /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    family = list(children.get(ancestor, []))
    for pid in family:  # grows while it is walked
        family += children.get(pid, [])
    return family


def _parent(process: Path) -> int | None:
    try:
        stat = (process / "stat").read_text()
    except OSError:  # gone meanwhile
        return None
    return int(stat.rpartition(")")[2].split()[1])


@contextlib.contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """Hold an exclusive lock on a file, or none; say so when it has to be waited for."""
    if path is None:
        yield
        return
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write(f"waiting for another one to finish ({path})\n")
            before = signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)  # nothing to end yet
            fcntl.flock(file, fcntl.LOCK_EX)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield


def _tie_to(parent: int, ending: signal.Signals) -> None:
    """Have the kernel send us ``ending`` when our parent dies."""
    _prctl(_PR_SET_PDEATHSIG, ending)
    if os.getppid() != parent:  # it died before we asked
        os.kill(os.getpid(), ending)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="guard", description=__doc__.partition("\n")[0])
    parser.add_argument("--lock", type=Path, help="take this lock first, waiting for it")
    parser.add_argument("--hold", type=int, action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
