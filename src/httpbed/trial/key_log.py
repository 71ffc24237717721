"""The TLS secrets of a trial: one key log for all of its connections, from those of its programs.

Wireshark reads one key log. A trial with proxies has connections whose secrets only one of its
programs writes. A program may write anything, so only whole lines of RFC 9850 are taken over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from httpbed.base import untrusted_files
from httpbed.experiment.kept import KEYS

MAX_BYTES = 4 * 2**20
"""Upper bound of a program's key log: the secrets of some 6,000 connections."""
_LINE = re.compile(r"[A-Z][A-Z0-9_]{3,63} [0-9a-fA-F]{64} [0-9a-fA-F]{64,128}")
"""A label, the client's random and a secret of 32 to 64 bytes."""


def gather(artifacts: Path, parts: Iterable[str]) -> None:
    """Write the secrets of all parts to one file; none if no part left any."""
    lines = dict.fromkeys(line for part in parts for line in _lines(artifacts / part / KEYS))
    if lines:
        untrusted_files.write(artifacts, KEYS, "".join(f"{line}\n" for line in lines))


def _lines(file: Path) -> list[str]:
    try:
        text = untrusted_files.text(file, most=MAX_BYTES)
    except (OSError, untrusted_files.UnreadableError):
        return []
    return [line for line in text.splitlines() if _LINE.fullmatch(line)]
