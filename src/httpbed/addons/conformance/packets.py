"""The packets of one direction of a link as columns, in the order of their entry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from httpbed.store import packet_log
from httpbed.store.packet_log import PacketLog

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

NS = 1e-9


@dataclass(frozen=True)
class Packets:
    """The packets of one direction, in the order in which they were sent."""

    sent_s: Floats
    """When each entered the emulator."""
    left_s: Floats
    """When each left it; NaN for a dropped one."""
    bytes: Numbers
    """Length of each IP packet."""
    number: Numbers
    """Number of each packet in its direction, from 0."""

    def __len__(self) -> int:
        return len(self.sent_s)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which packets were dropped, for any cause."""
        return np.isnan(self.left_s)

    def full_bytes(self) -> int:
        """Size of a full packet: the most frequent size of at least half the largest."""
        sizes = self.bytes[self.bytes * 2 >= self.bytes.max(initial=0)]
        values, counts = np.unique(sizes, return_counts=True)
        return int(values[np.argmax(counts)]) if len(values) else 0


def load(path: Path, *directions: int) -> list[Packets]:
    """Read some directions of the packet log in a file; times count from the emulator's start.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a packet log, or damaged.
    """
    return of(packet_log.load(path), *directions)


def of(log: PacketLog, *directions: int) -> list[Packets]:
    """Return the packets of some directions of a log.

    Copies are left out: what duplication made says nothing about a sender.
    """
    return [_packets(log.originals(direction)) for direction in directions]


def _packets(log: PacketLog) -> Packets:
    left_s = np.where(log.left, log.out_ns * NS, np.nan).astype(np.float64)
    return Packets(np.asarray(log.in_ns * NS, dtype=np.float64), left_s, log.bytes, log.number)
