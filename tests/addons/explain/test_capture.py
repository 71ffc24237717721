from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.explain import capture
from httpbed.addons.explain.capture import CaptureError
from side_capture import SECTION, block

SYN = bytes.fromhex(
    "02000000000102000000000208004500003c000040004006"  # Ethernet, IPv4 of 60 bytes with TCP
    "0000" + "0a4d0001" + "0a4d0002"  # checksum, addresses
    "a0de01bb" + "00000064" + "00000000" + "a002faf0" + "00000000"  # ports, numbers, SYN, window
    "020405b4" + "0402080a" + "0000000000000000" + "01030307"  # options, window scale 7
)
DATAGRAM = bytes.fromhex(
    "0200000000010200000000020800450000280000400040110000"
    "0a4d00020a4d0001"
    "01bba0de00140000" + "00" * 12
)


def packet(interface: int, frame: bytes, *, comment: bytes = b"") -> bytes:
    body = struct.pack("<IIIII", interface, 0, 0, len(frame), len(frame))
    body += frame + bytes(-len(frame) % 4)
    if comment:
        body += struct.pack("<HH", 1, len(comment)) + comment + bytes(-len(comment) % 4)
    return block(capture.ENHANCED, body)


def test_the_headers_of_each_packet_are_read_in_order() -> None:
    data = SECTION + packet(0, SYN) + packet(1, DATAGRAM, comment=b"lost: chance")
    found = capture.read(data)
    assert found.interface.tolist() == [0, 1]
    assert found.protocol.tolist() == [capture.TCP, capture.UDP]
    assert found.source_port.tolist() == [41182, 443]
    assert found.payload.tolist() == [0, 12]
    assert (found.sequence[0], found.flags[0], found.window[0]) == (100, capture.SYN, 64240)
    assert found.scale.tolist() == [7, -1]
    assert len(found.of(1)) == 1


def test_a_block_that_is_cut_off_is_left_out() -> None:
    data = SECTION + packet(0, SYN) + packet(1, DATAGRAM)
    assert len(capture.read(data[:-5])) == 1


def test_other_frames_keep_their_place() -> None:
    found = capture.read(SECTION + packet(0, b"\x00" * 20) + packet(0, SYN))
    assert found.protocol.tolist() == [0, capture.TCP]


@pytest.mark.parametrize(
    "data",
    [b"", b"not a capture at all", struct.pack(">I", capture.SECTION) + bytes(30)],
)
def test_another_file_is_refused(data: bytes) -> None:
    with pytest.raises(CaptureError):
        capture.read(data)


@given(st.sampled_from([b"", SECTION + packet(0, SYN)]), st.binary(max_size=400))
def test_damaged_blocks_are_read_or_refused(whole: bytes, noise: bytes) -> None:
    try:
        found = capture.read(whole + noise)
    except CaptureError:
        return
    assert not whole or found.protocol[0] == capture.TCP
