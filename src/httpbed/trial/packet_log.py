"""The emulator's log of a trial: a line for each packet.

What is wanted of it is taken, and the log dropped, for it grows with the packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delivered:
    """A packet that left the emulator."""

    at_ns: int
    """On the emulator's clock."""
    direction: int
    """As the emulator numbers them: two for each link."""
    ip_bytes: int


def delivered(lines: Iterable[str]) -> Iterator[Delivered]:
    """Read the packets that arrived, copies included, from a log with its first line."""
    rows = iter(lines)
    names = next(rows, "").split()
    if not names:
        return
    left_at, size, way = (names.index(name) for name in ("out_ns", "bytes", "direction"))
    for row in rows:
        said = row.split()
        if len(said) == len(names) and said[left_at] != "-":  # the last may have been torn off
            yield Delivered(int(said[left_at]), int(said[way]), int(said[size]))
