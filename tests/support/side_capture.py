"""What a capture at the client, or at the server, of a kept trial would have."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Literal

import numpy as np

from httpbed.addons.explain import capture
from httpbed.addons.explain.capture import Ending
from httpbed.store import packet_log

Side = Literal["client", "server"]
NS_RESOLUTION = struct.pack("<HHB3x", capture.RESOLUTION, 1, 9) + bytes(4)


def block(kind: int, body: bytes) -> bytes:
    """Return a block of pcapng."""
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


SECTION = block(capture.SECTION, struct.pack("<IHHq", capture.MAGIC, 1, 0, -1))
INTERFACE = block(capture.INTERFACE, struct.pack("<HHI", 1, 0, 0) + NS_RESOLUTION)


def packet(frame: bytes, at: int, original: int | None = None) -> bytes:
    """Return an enhanced packet block."""
    head = struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(frame), original or len(frame))
    return block(capture.ENHANCED, head + frame + bytes(-len(frame) % 4))


def frames_at(artifacts: Path, side: Side, direction_down: int = 1) -> list[tuple[int, bytes]]:
    """Return times and frames of the packets on a path of one link, as one side sees them.

    A packet is seen when it leaves that side, or when it arrives there: dropped ones never do.
    """
    data = (artifacts / "link.pcapng").read_bytes()
    chunks = [*capture.frames(data, Ending())]
    place, interface, size = (
        np.concatenate([getattr(chunk, name) for chunk in chunks])
        for name in ("place", "interface", "captured")
    )
    log = packet_log.load(artifacts / "packets.tsv", is_cut_off=True)
    found = list[tuple[int, bytes]]()
    for direction in (direction_down, direction_down ^ 1):
        rows = log.originals(direction)
        own = np.flatnonzero(interface == direction)
        leaves = (direction == direction_down) == (side == "server")
        at = rows.in_ns if leaves else rows.out_ns
        for number, seen in zip(rows.number.tolist(), at.tolist(), strict=True):
            if seen >= 0:
                begin = int(place[own[number]])
                found.append((seen, data[begin : begin + int(size[own[number]])]))
    return sorted(found, key=lambda one: one[0])


def write(path: Path, seen: list[tuple[int, bytes]]) -> None:
    """Write packets as a pcapng file."""
    blocks = b"".join(packet(frame, at) for at, frame in seen)
    path.write_bytes(SECTION + INTERFACE + blocks)
