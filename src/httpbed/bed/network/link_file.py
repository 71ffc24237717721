"""A file that a link is made of, read once from the disk and checked."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from httpbed.base import user_file
from httpbed.bed.network import files
from httpbed.bed.network.files import Facts, FileError

READERS: Mapping[str, Callable[[bytes], Facts]] = {
    "trace": files.read_trace,
    "replay": files.read_record,
}
"""Reader of a file, by the key that names it in a link's description."""


@dataclass(frozen=True)
class LinkFile:
    """A file without mistakes."""

    path: Path
    sha256: str
    facts: Facts

    @classmethod
    def read(cls, path: Path, key: str) -> Self:
        """Read the file that a link's description names under ``key``.

        Raises:
            FileError: It cannot be read, or has the wrong content.
        """
        try:
            content = _content(path)
            facts = READERS[key](content)
        except FileError as error:
            raise FileError(f"{path}: {error}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise FileError(f"{path}: cannot be read: {reason}") from None
        return cls(path, hashlib.sha256(content).hexdigest(), facts)

    def known(self) -> dict[str, str]:
        """Return what a link's description keeps of the file beside its name."""
        table = {"sha256": self.sha256}
        if isinstance(self.facts, files.TraceFacts):
            table["mean"] = f"{self.facts.mean_bit_s} bit/s"
        return table


def _content(path: Path) -> bytes:
    """Read a regular file that is not too large; trials read it again, so a pipe will not do."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise FileError("is not a regular file")
    content = user_file.read(path, files.MAX_BYTES)
    if len(content) > files.MAX_BYTES:
        raise FileError(f"has more than {files.MAX_BYTES} bytes; cut it, a part will do")
    return content
