r"""The terminal while the command runs: its keys, its foreground, its end.

The command is in our process group, so keys reach both processes. The command decides about Ctrl-C
and Ctrl-\: we ignore them and wait for its end. A shell with job control makes itself the
foreground and cannot return it to a group that its PID namespace does not see, so we take it back.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_KEYS = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def lent(pass_on: Callable[[int], None]) -> Iterator[None]:
    """Leave keys to the command, and pass on to ``pass_on`` the signals that ask us to end."""
    loop = asyncio.get_running_loop()
    foreground = _foreground()
    for key in _KEYS:
        loop.add_signal_handler(key, lambda: None)
    for number in _PASSED_ON:
        loop.add_signal_handler(number, pass_on, number)
    try:
        yield
    finally:
        for number in (*_KEYS, *_PASSED_ON):
            loop.remove_signal_handler(number)
        if foreground is not None:
            _take(foreground)


def _foreground() -> int | None:
    """Return the descriptor of a terminal whose foreground is our group."""
    for fd in (0, 2, 1):
        with suppress(OSError):
            if os.tcgetpgrp(fd) == os.getpgrp():
                return fd
    return None


def _take(fd: int) -> None:
    """Become the foreground; a background process must ignore SIGTTOU to do so."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with suppress(OSError):  # the terminal is gone, or our group is beyond our PID namespace
        os.tcsetpgrp(fd, os.getpgrp())
    signal.signal(signal.SIGTTOU, before)
