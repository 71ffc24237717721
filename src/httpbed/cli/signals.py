"""SIGTERM and SIGHUP end a verb in order, as SIGINT does, with a message and their own exit code.

Service managers, batch systems and closed terminals send them. By default Python ends at once:
without a message, and without restoring locks and the terminal.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

EXIT_SIGNALLED = 128
"""Base of the exit code; the signal's number is added, as in shells."""
_HANDLED = (signal.SIGTERM, signal.SIGHUP)


@dataclass
class Termination:
    """A request to end this process, by a signal."""

    received: signal.Signals | None = None
    """SIGTERM or SIGHUP; None before either came."""

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle SIGTERM and SIGHUP, unless the parent process ignores them, as nohup does."""
        handled = [one for one in _HANDLED if signal.getsignal(one) == signal.SIG_DFL]
        for number in handled:
            signal.signal(number, self._end)
        try:
            yield
        finally:
            for number in handled:
                signal.signal(number, signal.SIG_DFL)

    @property
    def exit_code(self) -> int:
        """130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP."""
        return EXIT_SIGNALLED + (self.received or signal.SIGINT)

    def __str__(self) -> str:
        return f"ended by {self.received.name}" if self.received else "interrupted"

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Do what SIGINT does at present: while asyncio runs, it cancels its main task.

        The handler gets the signal's own number, because a run that goes on after its first SIGINT
        must not go on after SIGTERM. A background job of a shell ignores SIGINT; then raise
        KeyboardInterrupt.
        """
        self.received = signal.Signals(number)
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):
            interrupt(number, frame)
        else:
            raise KeyboardInterrupt
