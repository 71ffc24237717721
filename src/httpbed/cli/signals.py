"""SIGTERM and SIGHUP end a verb as SIGINT does: in order, with a message and a code of its own.

A service manager, a batch system or a closed terminal sends them. Python's own answer is to die
where it stands: nothing is said, and locks and terminals stay as they are.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

EXIT_SIGNALLED = 128
"""To which the number of the signal is added, as shells do."""
_HEEDED = (signal.SIGTERM, signal.SIGHUP)


@dataclass
class Endings:
    """Which signal asked this process to end."""

    received: signal.Signals | None = None
    """SIGTERM or SIGHUP; None while neither came."""

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Take SIGTERM and SIGHUP, unless who started us had them ignored, as nohup does."""
        taken = [one for one in _HEEDED if signal.getsignal(one) == signal.SIG_DFL]
        for number in taken:
            signal.signal(number, self._end)
        try:
            yield
        finally:
            for number in taken:
                signal.signal(number, signal.SIG_DFL)

    @property
    def exit_code(self) -> int:
        """130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP."""
        return EXIT_SIGNALLED + (self.received or signal.SIGINT)

    def __str__(self) -> str:
        return f"ended by {self.received.name}" if self.received else "interrupted"

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Do what SIGINT does now: asyncio, while it runs, cancels its main task.

        In a shell's background job SIGINT is ignored, and nobody answers it.
        """
        self.received = signal.Signals(number)
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):
            interrupt(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt
