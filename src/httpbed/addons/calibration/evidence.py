"""The evidence of a cell: the probes' records and the emulator's result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from httpbed.base import seeds
from httpbed.experiment.kept import LINK_RESULT

SENT = np.dtype([("planned", "<i8"), ("sent", "<i8"), ("done", "<i8")])
"""A record of a sender, in packet order: ns of CLOCK_MONOTONIC, before and after the call."""
RECEIVED = np.dtype(
    [
        ("number", "<u8"),
        ("arrived", "<i8"),
        ("sent", "<i8"),
        ("bytes", "<u4"),
        ("flags", "<u2"),
        ("port", "<u2"),
    ]
)
"""A record of a receiver; times on the same clock, ``arrived`` from the kernel's stamp."""
STREAM = np.dtype([("at", "<i8"), ("bytes", "<u8")])
"""A sample of a byte stream: bytes received until a time."""
DAMAGED, UNKNOWN = 1, 2
"""Flags of a received packet: its pattern changed; its header, too."""

REMARKS = "remarks.json"
BLOCK = 1
"""Block of the random streams: a calibration has one block."""

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def sent_file(direction: int) -> str:
    """Return the file name of the sender's records of a direction."""
    return f"sent-{direction}.bin"


def received_file(direction: int) -> str:
    """Return the file name of the receiver's records of a direction."""
    return f"received-{direction}.bin"


STREAM_FILE = "stream.bin"


@dataclass(frozen=True)
class Passage:
    """One direction's packets, as sent and as received."""

    sizes: Numbers
    """IP bytes of each packet, by number."""
    sent_s: Floats
    """When each packet was handed to the kernel, by number."""
    done_s: Floats
    """When the call returned: the packet was on the wire by then."""
    number: Numbers
    """Number of each arrival, in order of time; -1 if damage hides it."""
    arrived_s: Floats
    bytes: Numbers
    flags: Numbers

    @property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Return which arrivals are undamaged."""
        return np.asarray((self.flags & (DAMAGED | UNKNOWN)) == 0)

    def numbers(self) -> Numbers:
        """Return the numbers of the packets that arrived and are identified, each once."""
        return np.unique(self.number[self.number >= 0])

    def missing(self) -> set[int]:
        """Return the numbers of the packets that never arrived, or not in an identifiable form."""
        return set(range(len(self.sizes))) - set(self.numbers().tolist())

    def delays_s(self) -> tuple[Numbers, Floats]:
        """Return number and one-way delay of the first arrival of each packet, by number."""
        known = self.number >= 0
        numbers, first = np.unique(self.number[known], return_index=True)
        return numbers, self.arrived_s[known][first] - self.sent_s[numbers]

    def median_delay_s(self) -> float | None:
        """Return the median of the one-way delays; None if nothing arrived."""
        _, delays = self.delays_s()
        return float(np.median(delays)) if len(delays) else None


@dataclass(frozen=True)
class CellEvidence:
    """All evidence of a cell."""

    passages: Mapping[int, Passage]
    """By direction."""
    link: Mapping[str, Any]
    """The emulator's result."""
    floor_s: Mapping[int, float]
    """Median one-way delay of the link without impairments, by direction; measured in this run."""
    seed: int
    stream: npt.NDArray[np.void] | None = None
    probe_failures: int = 0
    """Packets that the probes themselves lost."""

    def key(self, direction: int, impairment: str) -> int:
        """Return the key of a random stream, computed from the seed alone."""
        names = ("client", "server") if direction == 0 else ("server", "client")
        return seeds.stream_key(
            self.seed, BLOCK, "client-server", f"{names[0]}->{names[1]}", impairment
        )

    def counted(self, direction: int) -> Mapping[str, Any]:
        """Return what the emulator counted in a direction."""
        counters: Mapping[str, Any] = self.link["directions"][direction]
        return counters


def read(
    sizes: Mapping[int, Sequence[int]], folder: Path, floor_s: Mapping[int, float], seed: int
) -> CellEvidence:
    """Read the evidence in a cell's folder; ``sizes`` are the packets sent, by direction."""
    stream = folder / STREAM_FILE
    return CellEvidence(
        passages={direction: _passage(folder, direction, own) for direction, own in sizes.items()},
        link=json.loads((folder / LINK_RESULT).read_text()),
        floor_s=floor_s,
        seed=seed,
        stream=np.fromfile(stream, STREAM) if stream.exists() else None,
        probe_failures=json.loads((folder / REMARKS).read_text())["failures"],
    )


def _passage(folder: Path, direction: int, sizes: Sequence[int]) -> Passage:
    sent = np.fromfile(folder / sent_file(direction), SENT)
    received = np.fromfile(folder / received_file(direction), RECEIVED)
    received = received[np.argsort(received["arrived"], kind="stable")]
    unknown = (received["flags"] & UNKNOWN) != 0
    return Passage(
        sizes=np.asarray(sizes, dtype=np.int64),
        sent_s=sent["sent"] / 1e9,
        done_s=sent["done"] / 1e9,
        number=np.where(unknown, -1, received["number"].astype(np.int64)),
        arrived_s=received["arrived"] / 1e9,
        bytes=received["bytes"].astype(np.int64),
        flags=received["flags"].astype(np.int64),
    )
