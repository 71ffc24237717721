"""Files of bounded length: whatever a page does, what it leaves fits a disk and a reader."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

MOST_EVENT_BYTES = 2**24
"""Of the protocol's events, all together; likewise of the trace and of the pictures."""
MOST_LINE_BYTES = 2**20
MOST_FRAMES = 1000
_SCREENSHOT = "Screenshot"


class Lines:
    """A file with a JSON object per line; what is too much is left out, and that is known."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("wb")
        self._bytes = 0
        self.truncated = False

    def write(self, line: bytes) -> None:
        """Add a line, if it still fits."""
        if len(line) > MOST_LINE_BYTES or self._bytes + len(line) >= MOST_EVENT_BYTES:
            self.truncated = True
            return
        self._bytes += self._file.write(line + b"\n")

    def close(self) -> None:
        """Write out what is still in memory."""
        self._file.close()


class Trace:
    """A trace's events, and its pictures as files of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events = Lines(folder / "trace.jsonl")
        self._frames = Lines(folder / "frames.jsonl")
        self._pictures = 0
        self._bytes = 0
        self._last = ""
        self._truncated = False
        (folder / "frames").mkdir()

    def take(self, events: list[dict[str, Any]]) -> None:
        """Keep events, of which some are pictures."""
        for event in events:
            picture = event.get("args", {}).get("snapshot")
            if event.get("name") == _SCREENSHOT and isinstance(picture, str):
                self._keep(event["ts"], picture)
            else:
                self._events.write(json.dumps(event, separators=(",", ":")).encode())

    def close(self) -> bool:
        """End it; return whether something was left out."""
        self._events.close()
        self._frames.close()
        return self._truncated or self._events.truncated or self._frames.truncated

    def _keep(self, at_us: float, picture: str) -> None:
        """Keep a picture, unless it is equal to the one before."""
        if picture != self._last:
            if self._pictures >= MOST_FRAMES or self._bytes + len(picture) > MOST_EVENT_BYTES:
                self._truncated = True
                return
            self._last = picture
            self._pictures += 1
            self._bytes += (self._folder / self._name()).write_bytes(base64.b64decode(picture))
        self._frames.write(json.dumps({"ts": at_us, "file": self._name()}).encode())

    def _name(self) -> str:
        return f"frames/{self._pictures:04d}.jpg"
