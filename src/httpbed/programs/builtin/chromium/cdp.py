"""The Chrome DevTools Protocol over a pipe: JSON messages, a zero byte after each."""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

MOST_MESSAGE_BYTES = 2**27
CALL_S = 10.0
"""Within which a command is answered that has nothing to wait for."""


class CommandError(Exception):
    """The browser refused a command, or did not answer in time."""


class BrowserPipe(Protocol):
    """What messages go through."""

    def send(self, message: bytes) -> None:
        """Give the browser a message."""
        ...

    def receive(self, until: float) -> bytes:
        """Return some bytes of it; empty when the clock shows ``until`` before."""
        ...


@dataclass(frozen=True)
class Message:
    """What the browser said: an answer if it has an ``id``, else an event."""

    raw: bytes
    said: dict[str, Any]

    @property
    def method(self) -> str:
        """Name of an event; empty of an answer."""
        return str(self.said.get("method", ""))

    @property
    def params(self) -> dict[str, Any]:
        """What an event tells."""
        return dict(self.said.get("params", {}))

    @property
    def session(self) -> str:
        """To which target it belongs; empty for the browser's own."""
        return str(self.said.get("sessionId", ""))


class DevToolsClient:
    """Commands to a browser, and what it says."""

    def __init__(self, pipe: BrowserPipe) -> None:
        self._pipe = pipe
        self.give_up_s = inf
        """When no answer is awaited any more, by the clock."""
        self._number = 0
        self._rest = bytearray()
        self._waiting: deque[Message] = deque()

    def send(self, method: str, session: str = "", **params: Any) -> int:
        """Give a command; return the number that its answer will bear."""
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            said["sessionId"] = session
        self._pipe.send(json.dumps(said).encode())
        return self._number

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Give a command and return its result; what else comes meanwhile is kept for later.

        Raises:
            CommandError: It was refused, or not answered in time.
        """
        number = self.send(method, session, **params)
        until = min(time.monotonic() + CALL_S, self.give_up_s)
        kept = []
        try:
            while message := self.next(until):
                if message.said.get("id") == number:
                    return _result(method, message.said)
                kept.append(message)
        finally:
            self._waiting.extendleft(reversed(kept))
        raise CommandError(f"{method} was not answered in time")

    def next(self, until: float) -> Message | None:
        """Return the next message; None when the clock shows ``until`` before it came."""
        while not self._waiting:
            said = self._pipe.receive(until)
            if not said:
                return None
            self._take(said)
        return self._waiting.popleft()

    def drop(self) -> None:
        """Forget what came until now."""
        self._waiting.clear()

    def _take(self, said: bytes) -> None:
        self._rest += said
        if b"\0" in said:
            *whole, last = self._rest.split(b"\0")
            self._rest = bytearray(last)
            self._waiting.extend(Message(bytes(raw), _read(raw)) for raw in whole)
        elif len(self._rest) > MOST_MESSAGE_BYTES:
            raise CommandError("the browser said something endless")


def _read(raw: bytearray) -> dict[str, Any]:
    try:
        return dict(json.loads(raw))
    except (ValueError, TypeError, RecursionError) as error:
        raise CommandError(f"the browser said what is no message: {error!r}") from None


def _result(method: str, said: dict[str, Any]) -> dict[str, Any]:
    if "error" in said:
        raise CommandError(f"{method}: {said['error'].get('message', 'refused')}")
    return dict(said.get("result", {}))
