"""Ctrl-C once lets the attempts under way finish; twice breaks them off.

An attempt may have taken minutes, so it is worth waiting for. A service manager's SIGTERM breaks
off at once, because SIGKILL follows.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Interruption:
    """A user's request that no further attempt begins."""

    announce: Callable[[], None]
    """Called once, in the event loop, when the request has come."""
    requested: bool = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Take the first SIGINT; the handler before gets all others.

        A background job of a shell ignores SIGINT, and goes on ignoring it.
        """
        loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
        if not callable(before):
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if number != signal.SIGINT or self.requested:
                before(number, frame)
                return
            self.requested = True
            # A handler may interrupt a write, and must not write itself.
            loop.call_soon_threadsafe(self.announce)

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
