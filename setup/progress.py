"""Progress of set-up on stderr: the steps, their usual durations, and signs of life.

Standard library only.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

SIGN_OF_LIFE_S, RAREST_S = 5.0, 30.0
"""First interval between the reports that a step is running, which doubles up to the second."""


def say(line: str) -> None:
    """Print a line of progress."""
    print(f"set-up: {line}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def step(name: str, usual: str, *, silent_s: float = 0.0) -> Iterator[None]:
    """Announce a step with its usual duration, and report regularly that it is running.

    Args:
        name: What the step does.
        usual: How long it usually takes, in words.
        silent_s: A step that ends within this time prints nothing.
    """
    began, ended = time.monotonic(), threading.Event()

    def report() -> None:
        if ended.wait(silent_s):
            return
        say(f"{name} (usually {usual})")
        interval_s = SIGN_OF_LIFE_S
        while not ended.wait(interval_s):
            say(f"{name}: {time.monotonic() - began:.0f} s so far")
            interval_s = min(2 * interval_s, RAREST_S)

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()
