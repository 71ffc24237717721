"""Keeps the bodies of responses, as the browser decoded them, when a page is recorded."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from .bounded_files import MAX_EVENT_BYTES, BoundedLines
from .cdp import DevToolsClient, Message

MAX_BYTES = 90 * 2**20
"""Upper bound of all bodies; a HAR file with them is a third longer."""
BUFFERS = {"maxTotalBufferSize": MAX_BYTES, "maxResourceBufferSize": MAX_BYTES}
"""Parameters of Network.enable: the browser drops bodies beyond its buffers."""


class Bodies:
    """Bodies one after the other in ``bodies.bin``; ``bodies.jsonl`` tells whose they are."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "bodies.bin").open("wb")
        self._index = BoundedLines(folder / "bodies.jsonl", MAX_EVENT_BYTES)
        self._room = MAX_BYTES
        self._pending: dict[int, str] = {}
        """Number of a command -> the request whose body it asks for."""

    def ask(self, cdp: DevToolsClient, finished: Message) -> None:
        """Ask for the body of a response that has arrived."""
        request = str(finished.params.get("requestId", ""))
        number = cdp.send("Network.getResponseBody", finished.session, requestId=request)
        self._pending[number] = request

    def keep(self, answer: Message) -> bool:
        """Keep a body if it fits; return whether the message is one, or says there is none."""
        request = self._pending.pop(answer.fields.get("id", 0), None)
        if request is None:
            return False
        result = answer.fields.get("result", {})
        text, is_binary = str(result.get("body", "")), result.get("base64Encoded") is True
        body = base64.b64decode(text) if is_binary else text.encode(errors="replace")
        if "body" in result and len(body) <= self._room:
            self._room -= self._file.write(body)
            about = {"requestId": request, "bytes": len(body), "binary": is_binary}
            self._index.write(json.dumps(about).encode())
        return True

    def await_rest(self, cdp: DevToolsClient) -> None:
        """Wait for the bodies that were asked for and have not come; close the files."""
        while self._pending and (message := cdp.next(cdp.give_up_s)):
            self.keep(message)
        self._file.close()
        self._index.close()
