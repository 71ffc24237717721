"""Steps of a build that take minutes: the lock that others wait for, and reports that they run.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import contextlib
import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

FIRST_S, RAREST_S = 15.0, 30.0
"""First interval between two reports, which doubles up to the second."""


@contextlib.contextmanager
def reported(
    name: str,
    say: Callable[[str], None],
    *,
    how_far: Callable[[], str] = str,
    first_s: float = FIRST_S,
) -> Iterator[None]:
    """Report regularly, from a thread, that a step is running.

    Args:
        name: What the step does.
        say: Prints a line.
        how_far: Says how far the step is; an empty text if that is unknown.
        first_s: Time until the first report.
    """
    began, ended = time.monotonic(), threading.Event()

    def report() -> None:
        interval_s = first_s
        while not ended.wait(interval_s):
            now = how_far()
            say(f"{name}: {time.monotonic() - began:.0f} s so far{', ' if now else ''}{now}")
            interval_s = min(2 * interval_s, RAREST_S)

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()


@contextlib.contextmanager
def locked(file: Path, built: str, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the lock ``file`` of a build; report a wait; yield the lock's descriptor."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that builds {built}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()
