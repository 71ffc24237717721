"""Reading the emulator's packet log: columns, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.store import packet_log
from httpbed.store.packet_log import COLUMNS, FATES, PacketLogError

HEADER = "\t".join(COLUMNS).encode() + b"\n"
LINES = (
    b"0\t50\t1500\t1\t0\tdelivered\n",
    b"10\t-\t1500\t1\t2\tlost\n",
    b"5\t60\t1500\t1\t1\tdelivered\n",
    b"5\t61\t1500\t1\t1\tcopy\n",
    b"6\t-\t1500\t1\t1\tcopy\n",
    b"52\t102\t52\t0\t0\tdelivered\n",
)


def test_every_field_becomes_a_column_in_the_order_of_the_lines() -> None:
    """A dropped packet has no time of leaving, which is -1."""
    log = packet_log.read([HEADER, *LINES])
    assert len(log) == 6
    assert log.in_ns.tolist() == [0, 10, 5, 5, 6, 52]
    assert log.out_ns.tolist() == [50, -1, 60, 61, -1, 102]
    assert log.direction.tolist() == [1, 1, 1, 1, 1, 0]
    assert [FATES[code] for code in log.fate][:4] == ["delivered", "lost", "delivered", "copy"]


def test_originals_are_in_the_order_of_their_numbers_without_copies() -> None:
    """A sender sends packet 1 before packet 2, whichever left the emulator first."""
    own = packet_log.read([HEADER, *LINES]).originals(1)
    assert own.number.tolist() == [0, 1, 2]
    assert own.bytes.tolist() == [1500, 1500, 1500]


def test_a_dropped_copy_is_no_dropped_packet() -> None:
    """Its original was delivered."""
    log = packet_log.read([HEADER, *LINES])
    assert log.number[log.dropped].tolist() == [2]
    assert log.left.sum() == 4


@pytest.mark.parametrize(
    "line",
    [
        b"1\t2\t3\n",
        b"-1\t2\t1500\t0\t0\tdelivered\n",
        b"1\t2\t1500\t0\t0\tstolen\n",
        b"1\t-\t1500\t0\t0\tdelivered\n",
        b"1\t2\t1500\t0\t0\tlost\n",
        b"1\t2\t1500\t0\t0\tdeliv",
        b"\n",
    ],
)
def test_a_damaged_line_is_refused_by_its_number(line: bytes) -> None:
    """Fields are missing, are no numbers, contradict each other, or end early."""
    with pytest.raises(PacketLogError, match="line 3 of the packet log") as error:
        packet_log.read([HEADER, LINES[0], line])
    assert [number for number, _ in error.value.lines] == [3]


def test_another_file_is_not_read_as_an_empty_log() -> None:
    """Its first line names other columns."""
    with pytest.raises(PacketLogError, match="not a packet log") as error:
        packet_log.read([b"time\tsize\n"])
    assert not error.value.lines


@given(st.integers(0, len(b"".join(LINES[:3]) + HEADER)))
def test_a_log_that_was_cut_off_anywhere_has_its_whole_lines(length: int) -> None:
    """The emulator is stopped while it writes; every line before the last is whole."""
    text = (HEADER + b"".join(LINES[:3]))[:length]
    log = packet_log.read(text.splitlines(keepends=True), is_cut_off=True)
    assert len(log) == max(0, text.count(b"\n") - 1)
