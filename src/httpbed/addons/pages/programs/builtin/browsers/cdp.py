"""Commands and events of a browser over a pipe: JSON messages, a zero byte after each.

The Chrome DevTools Protocol and WebDriver BiDi share this form.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

MAX_MESSAGE_BYTES = 2**27
CALL_S = 10.0
"""Time limit for commands that are answered at once."""


class CommandError(Exception):
    """The browser refused a command, or did not answer in time."""


class BrowserPipe(Protocol):
    """Carries messages to and from the browser."""

    def send(self, message: bytes) -> None:
        """Send a message to the browser."""
        ...

    def receive(self, until: float) -> bytes:
        """Return received bytes; empty if none come before the clock shows ``until``."""
        ...


@dataclass(frozen=True)
class Message:
    """A message of the browser: a response if it has an ``id``, otherwise an event."""

    raw: bytes
    fields: dict[str, Any]

    @property
    def method(self) -> str:
        """Return the event's name; empty for a response."""
        return str(self.fields.get("method", ""))

    @property
    def params(self) -> dict[str, Any]:
        """Return the event's parameters."""
        return dict(self.fields.get("params", {}))

    @property
    def session(self) -> str:
        """Return the session of the target; empty for the browser's own."""
        return str(self.fields.get("sessionId", ""))


class DevToolsClient:
    """Sends commands to a browser, and receives its messages."""

    def __init__(self, pipe: BrowserPipe) -> None:
        self._pipe = pipe
        self.give_up_s = inf
        """Clock time after which no command waits for its response."""
        self._number = 0
        self._rest = bytearray()
        self._waiting: deque[Message] = deque()

    def send(self, method: str, session: str = "", **params: Any) -> int:
        """Send a command; return the number that its response will have."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        self._pipe.send(json.dumps(command).encode())
        return self._number

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Send a command and return its result; other messages are kept for later.

        Raises:
            CommandError: The command was refused, or not answered in time.
        """
        number = self.send(method, session, **params)
        until = min(time.monotonic() + CALL_S, self.give_up_s)
        kept = []
        try:
            while message := self.next(until):
                if message.fields.get("id") == number:
                    return _result(method, message.fields)
                kept.append(message)
        finally:
            self._waiting.extendleft(reversed(kept))
        raise CommandError(f"{method} was not answered in time")

    def next(self, until: float) -> Message | None:
        """Return the next message; None if none comes before the clock shows ``until``."""
        while not self._waiting:
            received = self._pipe.receive(until)
            if not received:
                return None
            self._take(received)
        return self._waiting.popleft()

    def drop(self) -> None:
        """Drop all messages that were received so far."""
        self._waiting.clear()

    def _take(self, received: bytes) -> None:
        self._rest += received
        if b"\0" in received:
            *whole, last = self._rest.split(b"\0")
            self._rest = bytearray(last)
            self._waiting.extend(Message(bytes(raw), _read(raw)) for raw in whole)
        elif len(self._rest) > MAX_MESSAGE_BYTES:
            raise CommandError(f"the browser sent a message of more than {MAX_MESSAGE_BYTES} bytes")


def _read(raw: bytearray) -> dict[str, Any]:
    try:
        return dict(json.loads(raw))
    except (ValueError, TypeError, RecursionError) as error:
        raise CommandError(f"the browser sent an unreadable message: {error!r}") from None


def _result(method: str, response: dict[str, Any]) -> dict[str, Any]:
    if "error" in response:
        about = response["error"]  # BiDi has its code there, and the message beside it
        about = about if isinstance(about, dict) else response
        raise CommandError(f"{method}: {about.get('message', 'refused')}")
    return dict(response.get("result", {}))
