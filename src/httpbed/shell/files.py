"""Files that options name: traces to replay, and records of what was lost."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from httpbed.model.errors import Mistake
from httpbed.network import files
from httpbed.network.files import Facts, FileError

READERS: Mapping[str, Callable[[bytes], Facts]] = {
    "trace": files.read_trace,
    "replay": files.read_record,
}
"""How a file is read, by the key that names it in the description of a link."""


@dataclass(frozen=True)
class LinkFile:
    """A file that was read without mistakes."""

    path: Path
    sha256: str
    facts: Facts

    def said(self, key: str) -> dict[str, str]:
        """Say in a link's description which file it is, and what is known of it."""
        told = {key: str(self.path), "sha256": self.sha256}
        if isinstance(self.facts, files.Trace):
            told["mean"] = f"{self.facts.mean_bit_s} bit/s"
        return told


def read(name: str, key: str, flag: str) -> LinkFile | Mistake:
    """Read a file, or say what is wrong with it, at the option that named it."""
    path = Path(name)
    try:
        content = _content(path)
        facts = READERS[key](content)
    except FileError as error:
        return Mistake(flag, f"{name}: {error}")
    except (OSError, ValueError) as error:
        return Mistake(flag, f"{name}: cannot be read: {getattr(error, 'strerror', '') or error}")
    return LinkFile(path.resolve(), hashlib.sha256(content).hexdigest(), facts)


def _content(path: Path) -> bytes:
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise FileError("is not a regular file")
    if about.st_size > files.MOST_BYTES:
        raise FileError(f"has more than {files.MOST_BYTES} bytes; cut it, a part will do")
    return path.read_bytes()
