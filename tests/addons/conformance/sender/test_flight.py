"""Bytes in flight, by hand: a few packets whose every time is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpbed.addons.conformance.flight import Packets, flight, packets_of
from httpbed.store import packet_log
from httpbed.store.packet_log import COLUMNS, PacketLog
from ideal_sender import Ideal

HEAD = "\t".join(COLUMNS) + "\n"
ROWS = """\
0\t50000000\t1500\t1\t0\tdelivered
1000000\t-\t1500\t1\t1\tlost
2000000\t52000000\t1500\t1\t2\tdelivered
2000000\t53000000\t1500\t1\t2\tcopy
3000000\t53000000\t1500\t1\t3\tdelivered
4000000\t54000000\t1500\t1\t4\tdelivered
52500000\t102500000\t52\t0\t0\tdelivered
53500000\t-\t52\t0\t1\tlost
54000000\t104000000\t52\t0\t2\tdelivered
200000000\t250000000\t1500\t1\t5\tdelivered
250000000\t300000000\t52\t0\t3\tdelivered
"""


def read(rows: str) -> PacketLog:
    """Read these lines of a packet log."""
    return packet_log.read((HEAD + rows).encode().splitlines(keepends=True))


def test_a_log_is_read_by_direction_without_copies() -> None:
    """Copies say nothing about their sender; dropped packets have no time of leaving."""
    log = read(ROWS)
    sender, none = packets_of(log, 1, 2)
    assert len(sender) == 6
    assert list(np.flatnonzero(sender.lost)) == [1]
    assert packet_log.full_size(sender.bytes) == 1500
    assert len(none) == 0


def test_packets_are_in_flight_until_their_echo_comes_back() -> None:
    """Of a delivered packet by the next answer that arrives, of a lost one by the third after."""
    log = read(ROWS)
    seen = flight(*packets_of(log, 1, 0))
    ms = (seen.known_s * 1e3).round(3).tolist()
    # 0 and 2 by the answer at 52.5; 3 and 4 by that at 54, as the one between was lost.
    assert ms == [102.5, 104.0, 102.5, 104.0, 104.0, 300.0]
    assert seen.in_flight.tolist() == [1, 2, 3, 4, 5, 1]
    assert seen.rtt_s == pytest.approx(0.1)


def test_a_sender_that_nobody_answers_is_refused() -> None:
    """There is no round trip to measure by."""
    log = read("0\t50000000\t1500\t1\t0\tdelivered\n")
    with pytest.raises(ValueError, match="answered"):
        flight(*packets_of(log, 1, 0))


@settings(deadline=None, max_examples=20)
@given(lost=st.sets(st.integers(0, 2000), max_size=60), rtt_s=st.floats(0.01, 0.3))
def test_the_window_is_never_exceeded(lost: set[int], rtt_s: float) -> None:
    """Whatever is lost, what is in flight stays between nothing and the most that is allowed."""
    seen = Ideal(lost=lost, rtt_s=rtt_s, most=64, lasts_s=20 * rtt_s).transfer()
    assert seen.in_flight.min() > 0
    # A lost packet counts until three more could be heard of, a little longer than to the ideal.
    assert seen.in_flight.max() <= 64 + 3 * max(1, len(lost))
    begins = [one.begin_s for one in seen.rounds]
    assert begins == sorted(begins)


def test_rounds_end_where_there_is_no_delay() -> None:
    """An answer in the same instant; each packet is a round of its own."""
    sent = np.linspace(0.0, 0.004, 5)
    size = np.full(5, 1500)
    sender = Packets(sent, sent, size, np.arange(5))
    seen = flight(sender, Packets(sent, sent, size, np.arange(5)))
    assert [one.lasts_s for one in seen.rounds] == [0.0] * 5
