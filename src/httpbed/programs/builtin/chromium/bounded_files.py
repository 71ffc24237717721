"""Files of bounded length: whatever a page does, what it leaves fits a disk and a reader."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

MOST_EVENT_BYTES = 3 * 2**23
"""Of the protocol's events, all together: a page of 3000 requests has 15 MB of them."""
MOST_TRACE_BYTES = 2**23
MOST_PICTURE_BYTES = 2**23
MOST_PICTURES = 450
"""A trace has no more of them, however long it goes on (DevTools' frame recorder): then it is
not known what the page looked like later."""
MOST_LINE_BYTES = 2**20
_SCREENSHOT = "Screenshot"


class BoundedLines:
    """A file with a JSON object per line; what is too much is left out, and that is known."""

    def __init__(self, file: Path, most_bytes: int) -> None:
        self._file = file.open("wb")
        self._room = most_bytes
        self.truncated = False

    def write(self, line: bytes) -> None:
        """Add a line, if it still fits."""
        if len(line) > MOST_LINE_BYTES or len(line) >= self._room:
            self.truncated = True
            return
        self._room -= self._file.write(line + b"\n")

    def close(self) -> None:
        """Write out what is still in memory."""
        self._file.close()


class TraceFiles:
    """A trace's events, and its pictures as files of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events = BoundedLines(folder / "trace.jsonl", MOST_TRACE_BYTES)
        self._taken = BoundedLines(folder / "frames.jsonl", MOST_TRACE_BYTES)
        self._pictures = 0
        self._different = 0
        self._room = MOST_PICTURE_BYTES
        self._last = ""
        self.pictures_cut = False
        """Whether there are pictures that are not kept: all after the last that is."""
        (folder / "frames").mkdir()

    def take(self, events: list[dict[str, Any]]) -> None:
        """Keep events, of which some are pictures."""
        for event in events:
            picture = event.get("args", {}).get("snapshot")
            if event.get("name") == _SCREENSHOT and isinstance(picture, str):
                self._take_picture(event["ts"], picture)
            else:
                self._events.write(json.dumps(event, separators=(",", ":")).encode())

    def close(self) -> bool:
        """End it; return whether other events than pictures were left out."""
        self._events.close()
        self._taken.close()
        return self._events.truncated

    def _take_picture(self, at_us: float, picture: str) -> None:
        """Keep a picture, unless it is equal to the one before."""
        fits = picture == self._last or len(picture) <= self._room
        self.pictures_cut |= not fits
        if self.pictures_cut:
            return
        self._pictures += 1
        self.pictures_cut = self._pictures == MOST_PICTURES
        if picture != self._last:
            self._different += 1
            self._last = picture
            self._room -= (self._folder / self._name()).write_bytes(base64.b64decode(picture))
        self._taken.write(json.dumps({"ts": at_us, "file": self._name()}).encode())

    def _name(self) -> str:
        return f"frames/{self._different:04d}.jpg"
