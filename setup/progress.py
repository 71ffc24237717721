"""Progress of set-up on stderr: the steps, their usual durations, and signs of life.

Uses only the standard library and the modules of httpbed.bed.machine that use only the standard
library.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from httpbed.bed.toolbox import build_steps

SIGN_OF_LIFE_S = 5.0
"""Time until the first report that a step is running."""


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
    announcement = f"{name} (usually {usual})"
    later = threading.Timer(silent_s, say, [announcement])
    if silent_s:
        later.start()
    else:
        say(announcement)
    try:
        with build_steps.reported(name, say, first_s=silent_s + SIGN_OF_LIFE_S):
            yield
    finally:
        later.cancel()
