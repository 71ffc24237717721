"""Traces and records that users drop in: read if they are what they should be, else refused."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.base.units import parse_rate
from httpbed.bed.network import link_file
from httpbed.bed.network.link_file import FileError
from httpbed.store.packet_log import COLUMNS
from recorded import H2_LOSS, artifacts

HEADER = "\t".join(COLUMNS) + "\n"
LOG = HEADER + (
    "100\t-\t1500\t0\t0\tlost\n"
    "200\t300\t1500\t0\t1\tdelivered\n"
    "200\t300\t1500\t0\t1\tcopy\n"
    "210\t-\t60\t1\t4\tqueue\n"
    "220\t-\t60\t1\t2\taqm\n"
    "230\t-\t60\t1\t3\tdown\n"
    "240\t-\t60\t1\t5\tnat\n"
)


def test_a_trace_has_a_mean_and_a_longest_gap() -> None:
    """Over a whole pass; the gap from the last to the first of the next pass counts too."""
    facts = link_file.read_trace(b"3\n3\n10\n")
    assert facts == link_file.TraceFacts(mean_bit_s=3 * 1504 * 8 * 100, longest_gap_s=0.007)
    assert link_file.read_trace(b"9\n10").longest_gap_s == 0.009


def test_a_trace_may_be_as_slow_as_a_rate() -> None:
    """A packet a minute, as the emulator and a constant rate have it; less is refused."""
    assert link_file.read_trace(b"60160\n").mean_bit_s == parse_rate("200 bit/s")
    with pytest.raises(FileError, match="199 bit/s"):
        link_file.read_trace(b"60161\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"1\n\n2\n", "line 2: is blank"),
        (b"1\n2\n\n", "line 3: is blank"),
        (b"5\n4\n", "line 2: 4 ms follows 5 ms"),
        (b"5\n4\n3\n2\n1\n", "and 1 more"),
        (b"0\n0\n", "ends at 0 ms"),
        (b"1\n-2\n", "line 2: '-2' is not a whole number"),
        (b"1.5\n", "'1.5' is not a whole number"),
        (b"# a comment\n1\n", "line 1: '# a comment' is not"),
        (b"1\r\n2\r\n", r"line 1: '1\\r' is not"),
        (b"99999999999999999999999\n", "is later than"),
        (b"4294967296\n", "is later than"),
        (b"3600000\n", "less than a packet a minute"),
        (b"1\n\x00\x01\n", "is binary .line 2."),
        (b"\x7fELF\x02\x01\x01", "is binary .line 1."),
        ("٣\n".encode(), "is not a whole number"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(content: bytes, reason: str) -> None:
    """The first three lines that are wrong, and how many more there are."""
    with pytest.raises(FileError, match=reason):
        link_file.read_trace(content)


@given(st.binary(max_size=60) | st.text("0123456789\n -#.", max_size=30).map(str.encode))
def test_any_file_is_read_or_refused(content: bytes) -> None:
    """Nothing else ever happens, whatever it is read as."""
    for read in (link_file.read_trace, link_file.read_record):
        with contextlib.suppress(FileError):
            read(content)


def test_a_log_tells_what_was_lost_in_each_direction() -> None:
    """Whatever the cause: what never arrived is lost when it is replayed; a copy is not."""
    assert link_file.read_record(LOG.encode()) == link_file.LossRecord(([0], [2, 3, 4, 5]))
    assert link_file.read_record(HEADER.encode()) == link_file.LossRecord(([], []))


def test_the_lost_packets_are_read_from_a_trials_result() -> None:
    """A result of the emulator's first version is read, too."""
    content = (artifacts(H2_LOSS) / "link-result.json").read_bytes()
    ways = json.loads(content)["directions"]
    lost = [sorted(way["lost_numbers"] + way["queue_dropped_numbers"]) for way in ways]
    assert any(lost)
    assert [*link_file.read_record(content).lost] == lost


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("1\n2\n", "is not a log"),
        (HEADER + "1\t2\n", "line 2: is not a packet's line"),
        (HEADER + "1\t2\t3\t2\t5\tlost\n", "line 2"),
        (HEADER + "1\t2\t3\t0\t-5\tlost\n", "line 2"),
        ("{}", "is not a link-result.json"),
        ("{", "is not a link-result.json"),
        ('{"directions": []}', "is not a link-result.json"),
        ('{"directions": [1, 2]}', "is not a link-result.json"),
        ('{"directions": [{"lost_numbers": [-1]}, {}]}', "numbers a packet -1"),
        ('{"directions": [{"lost_numbers": ["x"]}, {}]}', "no packet's number"),
        ("\x00", "is binary"),
    ],
)
def test_what_is_no_record_is_refused(content: str, reason: str) -> None:
    """With the line, or with what it should have been."""
    with pytest.raises(FileError, match=reason):
        link_file.read_record(content.encode())


def test_a_link_that_the_kernel_carried_is_no_record() -> None:
    """Nobody knows which packets it lost; to replay none of them would be a silent lie."""
    packets = {"in": 9, "delivered": 7, "not_seen_leaving": 2}
    result = json.dumps({"directions": [{"packets": packets}, {"packets": packets}]})
    with pytest.raises(FileError, match="the kernel carried"):
        link_file.read_record(result.encode())


@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "NaN", "1.5", "true", '"7"', "null", "[]", "9" * 40]
)
def test_what_is_no_packets_number_is_a_mistake(number: str) -> None:
    """JSON spells more numbers than packets have."""
    result = f'{{"directions": [{{"lost_numbers": [3, {number}]}}, {{}}]}}'
    with pytest.raises(FileError):
        link_file.read_record(result.encode())
