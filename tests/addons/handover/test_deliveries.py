"""Deliveries to the client, and their gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.handover import handover_deliveries
from httpbed.addons.handover.handover_deliveries import (
    DELIVERIES,
    DeliveryBin,
    absences,
    longest_below,
    read_deliveries,
    received,
    together,
)
from httpbed.experiment.trial import HandoverEvent
from httpbed.store import packet_log
from httpbed.store.packet_log import PacketLog

MS = 10**6
HEADING = "in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n"
TOWARDS = {1: "wifi", 3: "cellular"}


def line(at_ms: float, direction: int, size: int = 1500, fate: str = "delivered") -> str:
    """Write a log line of a packet; a dropped one has no time of leaving."""
    left = "-" if fate == "lost" else str(round(at_ms * MS))
    return f"0\t{left}\t{size}\t{direction}\t0\t{fate}\n"


LOG = [
    HEADING,
    line(10.0, 1),
    line(10.9, 1),
    line(11.0, 0),
    line(12.0, 1, fate="lost"),
    line(40.0, 1),
    line(41.0, 3, 100),
    line(90.0, 1, 60, "copy"),
]


def read_log(lines: Iterable[str]) -> PacketLog:
    """Read a log that may be cut off."""
    return packet_log.read((line.encode() for line in lines), is_cut_off=True)


def test_only_packets_that_reached_the_client_count(tmp_path: Path) -> None:
    """Reading leaves out deliveries to an address that was gone; the file keeps them."""
    handover_deliveries.reduce(tmp_path, read_log([*LOG, "4000000"]), TOWARDS, 9_500_000)
    kept = (tmp_path / DELIVERIES).read_text()
    assert kept.splitlines()[:2] == ["# origin_ms: 9.5", "bin\tlink\tbytes"]
    found = handover_deliveries.read(tmp_path, {"wifi": [(30 * MS, 80 * MS)]})
    assert found == {"wifi": {10: 3000, 90: 60}, "cellular": {41: 100}}
    assert together(found.values()) == {10: 3000, 41: 100, 90: 60}
    assert (tmp_path / DELIVERIES).read_text() == kept
    assert handover_deliveries.read(tmp_path, {})["wifi"] == {10: 3000, 40: 1500, 90: 60}


def test_a_trial_without_a_log_has_no_deliveries(tmp_path: Path) -> None:
    """Reading is no error."""
    assert handover_deliveries.read(tmp_path, {}) == {}


def test_deliveries_during_each_absence_are_left_out() -> None:
    """A bin belongs to the state of its middle."""
    gone = {"wifi": [(10.0, 20.4), (29.6, float("inf"))]}
    came = [DeliveryBin(bin_, "wifi", 1) for bin_ in (9, 10, 19, 20, 28, 29, 30, 1000)]
    assert [one.bin for one in received(came, gone)] == [9, 20, 28, 29]
    assert [one.bin for one in received(came, {"cellular": [(0.0, 99.0)]})] == [
        one.bin for one in came
    ]


def test_the_files_alone_show_when_an_address_was_gone(tmp_path: Path) -> None:
    """The events give the same deliveries as the trial's own reading."""
    handover_deliveries.reduce(tmp_path, read_log(LOG), TOWARDS, 9_500_000)
    found = read_deliveries((tmp_path / DELIVERIES).read_text())
    moment = HandoverEvent(number=1, left="wifi", at_s=0.02, gone_s=0.0205, back_s=0.0705)
    came = received(found.rows, absences([moment], found.origin))
    assert [(one.bin, one.link) for one in came] == [(10, "wifi"), (41, "cellular"), (90, "wifi")]
    for_good = moment.model_copy(update={"back_s": None})
    ((since, until),) = absences([for_good], 0.0)["wifi"]
    assert since == pytest.approx(20.5)
    assert until == float("inf")


def test_deliveries_before_the_clients_first_packet_do_not_count() -> None:
    """Answers to ping come before it."""
    text = "# origin_ms: 9.5\nbin\tlink\tbytes\n8\twifi\t84\n9\twifi\t60\n"
    assert read_deliveries(text).rows == (DeliveryBin(9, "wifi", 60),)


BINS = st.dictionaries(st.integers(0, 200), st.integers(1, 6000), max_size=40)


def gaps(bins: Mapping[int, int], least: int, begin: int, end: int) -> int:
    """Return the longest gap by trying every pair of edges."""
    edges: Sequence[int] = [begin, *(at for at in sorted(bins) if begin < at < end), end]
    return max(
        late - early
        for index, early in enumerate(edges)
        for late in edges[index + 1 :]
        if sum(size for at, size in bins.items() if early < at < late) < least
    )


@given(BINS, st.integers(1, 8000), st.integers(0, 100), st.integers(1, 150))
def test_the_longest_gap_equals_an_exhaustive_search(
    bins: Mapping[int, int], least: int, begin: int, lasts: int
) -> None:
    """Every pair of edges is tried."""
    end = begin + lasts
    found = longest_below(least, bins, sorted(bins), begin, end)
    assert found == gaps(bins, least, begin, end)


def test_path_validation_ends_a_silence_but_no_stall() -> None:
    """A stall ends with data."""
    bins = {100: 1500, 140: 1228, 160: 1228, 180: 1500, 181: 1500}
    times = sorted(bins)
    assert longest_below(1, bins, times, 100, 200) == 40
    assert longest_below(4000, bins, times, 100, 200) == 81
