"""WebDriver BiDi over a WebSocket: commands to Firefox, and its messages."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from .bidi_events import Json
from .browser import BrowserEndedError
from .cdp import CALL_S, MAX_MESSAGE_BYTES, CommandError


class BidiClient:
    """Sends commands to Firefox, and receives its events."""

    def __init__(self, port: int) -> None:
        """Connect to the browser's port on loopback.

        Raises:
            OSError: Nothing listens there.
        """
        url = f"ws://127.0.0.1:{port}/session"
        self._socket: ClientConnection = connect(url, max_size=MAX_MESSAGE_BYTES, proxy=None)
        self._number = 0
        self._waiting: deque[Json] = deque()
        self.give_up_s = float("inf")
        """Clock time after which no command waits for its response."""

    def send(self, method: str, **params: Any) -> int:
        """Send a command; return the number that its response will have."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        try:
            self._socket.send(json.dumps(command))
        except (ConnectionClosed, OSError) as error:
            raise BrowserEndedError(f"it took no more commands: {error}") from None
        return self._number

    def call(self, method: str, **params: Any) -> Json:
        """Send a command and return its result; events are kept for later.

        Raises:
            CommandError: The command was refused, or not answered in time.
        """
        number = self.send(method, **params)
        until = min(time.monotonic() + CALL_S, self.give_up_s)
        kept = []
        try:
            while message := self.next(until):
                if message.get("id") == number:
                    if "error" in message:
                        raise CommandError(f"{method}: {message.get('message', 'refused')}")
                    return dict(message.get("result", {}))
                kept.append(message)
        finally:
            self._waiting.extendleft(reversed(kept))
        raise CommandError(f"{method} was not answered in time")

    def next(self, until: float) -> Json | None:
        """Return the next message; None if none comes before the clock shows ``until``."""
        if self._waiting:
            return self._waiting.popleft()
        try:
            text = self._socket.recv(timeout=max(0.0, until - time.monotonic()))
        except TimeoutError:
            return None
        except (ConnectionClosed, OSError) as error:
            raise BrowserEndedError(f"it closed the connection: {error}") from None
        try:
            return dict(json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise CommandError(f"the browser sent an unreadable message: {error!r}") from None
