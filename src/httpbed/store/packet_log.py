"""The emulator's packet log: one line per packet, read into columns.

::

    in_ns   out_ns  bytes  direction  number  fate
    0       5000    1500   1          0       delivered
    10      -       1500   1          1       lost

Fields are separated by tabs; the first line names them. ``httpbed link --log`` and trials write
this format (crates/httpbed-link/src/log.rs). A line of another form is an error, never skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from httpbed.experiment.impairments.registry import CAUSES

COLUMNS = ("in_ns", "out_ns", "bytes", "direction", "number", "fate")
DROPPED = tuple(cause.fate for cause in CAUSES)
"""Fates of packets that never left: loss, full queue, AQM, link down, no NAT mapping ..."""
FATES = ("delivered", "copy", *DROPPED)
"""A copy was made by duplication; it may be dropped, too."""
_COPY = FATES.index("copy")
_CODES = {fate.encode(): code for code, fate in enumerate(FATES)}
_LINE = re.compile(
    rb"([0-9]{1,18})\t([0-9]{1,18}|-)\t([0-9]{1,9})\t([0-9]{1,4})\t([0-9]{1,18})\t([a-z]+)"
)
_BATCH = 65_536
"""Lines that are held as text at a time."""
_SHOWN = 60

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class PacketLogError(ValueError):
    """A file is not a packet log, or lines of it are damaged."""

    def __init__(self, reason: str, lines: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(reason)
        self.lines = lines
        """Numbers of the damaged lines, from 1, each with the reason; empty for another file."""


@dataclass(frozen=True)
class PacketLog:
    """The packets of a log, in the order of its lines; equally long columns."""

    in_ns: Numbers
    """When the packet entered the emulator, since the emulator's start."""
    out_ns: Numbers
    """When it left; -1 for a dropped packet."""
    bytes: Numbers
    """Size of the IP packet."""
    direction: Numbers
    """Two for each link, from 0; the odd ones lead to the link's first host."""
    number: Numbers
    """Counts the packets of a direction from 0; a copy has the number of its original."""
    fate: Numbers
    """Index into :data:`FATES`."""

    def __len__(self) -> int:
        return len(self.in_ns)

    @property
    def left(self) -> Flags:
        """Which packets left the emulator, copies included."""
        return np.asarray(self.out_ns >= 0)

    @property
    def dropped(self) -> Flags:
        """Which packets were dropped, without copies."""
        return np.asarray((self.out_ns < 0) & (self.fate != _COPY))

    def where(self, chosen: Flags) -> PacketLog:
        """Return the chosen packets."""
        columns = (getattr(self, name)[chosen] for name in COLUMNS)
        return PacketLog(*columns)

    def originals(self, direction: int) -> PacketLog:
        """Return the packets of a direction by number, without copies."""
        own = self.where((self.direction == direction) & (self.fate != _COPY))
        order = np.argsort(own.number, kind="stable")
        return PacketLog(*(getattr(own, name)[order] for name in COLUMNS))

    def delivered_bytes(self, bin_ns: int) -> dict[tuple[int, int], int]:
        """Return the bytes that left, copies included, by direction and bin of time, in order.

        Bins are numbered from the emulator's start; those without a packet are left out.
        """
        own = self.where(self.left)
        bins = own.out_ns // bin_ns
        count = int(bins.max(initial=0)) + 1
        places, index = np.unique(own.direction * count + bins, return_inverse=True)
        sizes = np.zeros(len(places), dtype=np.int64)
        np.add.at(sizes, index, own.bytes)
        pairs = zip(places.tolist(), sizes.tolist(), strict=True)
        return {divmod(place, count): size for place, size in pairs}


def load(path: Path, *, is_cut_off: bool = False) -> PacketLog:
    """Read the log in a file; see :func:`read`.

    Raises:
        OSError: The file cannot be read.
        PacketLogError: It is not a packet log, or damaged.
    """
    with path.open("rb") as file:
        return read(file, is_cut_off=is_cut_off)


def read(lines: Iterable[bytes], *, is_cut_off: bool = False) -> PacketLog:
    """Read a log from its lines.

    Args:
        lines: All lines, each with its end.
        is_cut_off: Whether the emulator may have been stopped while it wrote: an unfinished last
            line is then left out, and so is an unfinished first line.

    Raises:
        PacketLogError: It is not a packet log, or damaged.
    """
    rows = iter(lines)
    header = next(rows, b"")
    if is_cut_off and not header.endswith(b"\n"):
        rows = iter(())
    elif tuple(header.decode("utf-8", "replace").rstrip("\r\n").split("\t")) != COLUMNS:
        raise PacketLogError("not a packet log of httpbed-link")
    damaged: list[tuple[int, str]] = []
    batches = [np.empty((0, len(COLUMNS)), dtype=np.int64)]
    first = 2
    while batch := list(islice(rows, _BATCH)):
        if is_cut_off and not batch[-1].endswith(b"\n"):
            del batch[-1]
        values = np.array(list(_rows(batch, first, damaged)), dtype=np.int64)
        batches.append(values.reshape(-1, len(COLUMNS)))
        first += len(batch)
    if damaged:
        number, reason = damaged[0]
        more = f"; and {len(damaged) - 1} more lines" if damaged[1:] else ""
        raise PacketLogError(f"line {number} of the packet log {reason}{more}", damaged)
    return PacketLog(*np.concatenate(batches).T.copy())


def full_size(sizes: Numbers) -> int:
    """Return the size of a full packet: the most frequent of at least half the largest."""
    large = sizes[2 * sizes >= sizes.max(initial=0)]
    values, counts = np.unique(large, return_counts=True)
    return int(values[np.argmax(counts)]) if len(values) else 0


def _rows(
    lines: Iterable[bytes], first: int, damaged: list[tuple[int, str]]
) -> Iterator[tuple[int, ...]]:
    """Yield the values of each whole line; note the others with their numbers."""
    for number, line in enumerate(lines, start=first):
        fields = _LINE.fullmatch(line.rstrip(b"\r\n"))
        code = _CODES.get(fields[6]) if fields else None
        if fields is None or code is None or not _agree(fields[2], code):
            text = line.rstrip(b"\r\n").decode("utf-8", "replace")[:_SHOWN]
            damaged.append((number, f"is not a packet's line: {text!r}"))
            continue
        out_ns = -1 if fields[2] == b"-" else int(fields[2])
        yield (int(fields[1]), out_ns, int(fields[3]), int(fields[4]), int(fields[5]), code)


def _agree(out_ns: bytes, code: int) -> bool:
    """Whether a packet has a time of leaving exactly if it was delivered."""
    return code == _COPY or (out_ns == b"-") == (code != 0)
