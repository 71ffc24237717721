"""Reports of a step that takes minutes: that it runs, how long it has run, and how far it is.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

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
