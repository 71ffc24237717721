"""The emulator's log of packets, as columns, a direction of a link each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

FIELDS = "in_ns\tout_ns\tbytes\tdirection\tnumber\tfate"
COLUMNS = 6
COPY = "copy"
"""What duplication made says nothing about its sender."""
NS = 1e-9
_Row = tuple[int, float, int, int]


@dataclass(frozen=True)
class Packets:
    """The packets of one direction, in the order in which they were sent."""

    sent_s: Floats
    """When each entered the emulator."""
    left_s: Floats
    """When each left it; NaN for a dropped one."""
    bytes: Numbers
    """Of the IP packets."""
    number: Numbers
    """Among the packets of the direction, from 0."""

    def __len__(self) -> int:
        return len(self.sent_s)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which were dropped, for whatever cause."""
        return np.isnan(self.left_s)

    def full_bytes(self) -> int:
        """Size of a full packet: the commonest among those of half the largest size or more."""
        sizes = self.bytes[self.bytes * 2 >= self.bytes.max(initial=0)]
        values, counts = np.unique(sizes, return_counts=True)
        return int(values[np.argmax(counts)]) if len(values) else 0


def load(path: Path, *directions: int) -> list[Packets]:
    """Read some directions of the log in a file, all in one pass.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not a packet log.
    """
    with path.open(encoding="ascii") as file:
        return read(file, *directions)


def read(lines: Iterable[str], *directions: int) -> list[Packets]:
    """Read some directions of a log; times count from its origin, in seconds.

    Raises:
        ValueError: It is not a packet log.
    """
    rows = iter(lines)
    if next(rows, "").rstrip("\n") != FIELDS:
        raise ValueError("not a packet log of httpbed-link")
    kept: dict[str, list[_Row]] = {f"{direction}": [] for direction in directions}
    for place, row in enumerate(rows, start=2):
        said = row.rstrip("\n").split("\t")
        if len(said) != COLUMNS:
            raise ValueError(f"line {place} of the packet log is torn")
        came, left, size, way, number, fate = said
        if way in kept and fate != COPY:
            left_s = float("nan") if left == "-" else int(left) * NS
            kept[way].append((int(came), left_s, int(size), int(number)))
    return [_columns(kept[f"{direction}"]) for direction in directions]


def _columns(rows: list[_Row]) -> Packets:
    rows.sort(key=lambda row: row[3])
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return Packets(
        sent_s=np.array(columns[0], dtype=np.float64) * NS,
        left_s=np.array(columns[1], dtype=np.float64),
        bytes=np.array(columns[2], dtype=np.int64),
        number=np.array(columns[3], dtype=np.int64),
    )
