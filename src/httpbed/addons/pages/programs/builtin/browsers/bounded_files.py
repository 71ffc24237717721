"""Files of bounded length, so that no page can fill the disk."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from .cdp import DevToolsClient, Message

MAX_EVENT_BYTES = 3 * 2**23
"""For all events together; a page of 3000 requests has 15 MB of them."""
MAX_TRACE_BYTES = 2**23
MAX_PICTURE_BYTES = 2**23
MAX_PICTURES = 450
"""A trace has no more pictures (DevTools' frame recorder): later screens are then unknown."""
MAX_LINE_BYTES = 2**20
_SCREENSHOT = "Screenshot"
MAX_BODIES_BYTES = 90 * 2**20
"""Upper bound of all bodies; a HAR file with them is a third longer."""
BUFFERS = {"maxTotalBufferSize": MAX_BODIES_BYTES, "maxResourceBufferSize": MAX_BODIES_BYTES}
"""Parameters of Network.enable: the browser drops bodies beyond its buffers."""


class BoundedLines:
    """A file with a JSON object per line; it drops what does not fit, and records that it did."""

    def __init__(self, file: Path, most_bytes: int) -> None:
        self._file = file.open("wb")
        self._room = most_bytes
        self.truncated = False

    def write(self, line: bytes) -> None:
        """Add a line if it fits."""
        if len(line) > MAX_LINE_BYTES or len(line) >= self._room:
            self.truncated = True
            return
        self._room -= self._file.write(line + b"\n")

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()


class TraceFiles:
    """The events of a trace, and its pictures as separate files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events = BoundedLines(folder / "trace.jsonl", MAX_TRACE_BYTES)
        self._taken = BoundedLines(folder / "frames.jsonl", MAX_TRACE_BYTES)
        self._pictures = 0
        self._different = 0
        self._room = MAX_PICTURE_BYTES
        self._last = ""
        self.pictures_cut = False
        """Whether pictures were dropped: all after the last one kept."""
        (folder / "frames").mkdir()

    def take(self, events: list[dict[str, Any]]) -> None:
        """Keep events; some of them are pictures."""
        for event in events:
            picture = event.get("args", {}).get("snapshot")
            if event.get("name") == _SCREENSHOT and isinstance(picture, str):
                self._take_picture(event["ts"], picture)
            else:
                self._events.write(json.dumps(event, separators=(",", ":")).encode())

    def close(self) -> bool:
        """Close the files; return whether events other than pictures were dropped."""
        self._events.close()
        self._taken.close()
        return self._events.truncated

    def _take_picture(self, at_us: float, picture: str) -> None:
        """Keep a picture unless it equals the one before."""
        fits = picture == self._last or len(picture) <= self._room
        self.pictures_cut |= not fits
        if self.pictures_cut:
            return
        self._pictures += 1
        self.pictures_cut = self._pictures == MAX_PICTURES
        if picture != self._last:
            self._different += 1
            self._last = picture
            self._room -= (self._folder / self._name()).write_bytes(base64.b64decode(picture))
        self._taken.write(json.dumps({"ts": at_us, "file": self._name()}).encode())

    def _name(self) -> str:
        return f"frames/{self._different:04d}.jpg"


class Bodies:
    """Bodies one after the other in ``bodies.bin``; ``bodies.jsonl`` tells whose they are."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "bodies.bin").open("wb")
        self._index = BoundedLines(folder / "bodies.jsonl", MAX_EVENT_BYTES)
        self._room = MAX_BODIES_BYTES
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
