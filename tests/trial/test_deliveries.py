"""What was delivered to the client: read from the emulator's log, and its gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from httpbed.network.files import PACKET_LOG
from httpbed.trial import deliveries
from httpbed.trial.deliveries import longest_below, together

MS = 10**6
HEADING = "in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n"
TOWARDS = {1: "wifi", 3: "cellular"}


def line(at_ms: float, direction: int, size: int = 1500, fate: str = "delivered") -> str:
    """Write a packet that left at a time; a dropped one did not."""
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


def test_what_reached_the_client_counts(tmp_path: Path) -> None:
    """Not what it sent, nor what was lost, nor what came to an address that was gone."""
    (tmp_path / PACKET_LOG).write_text("".join([*LOG, "4000000"]))
    deliveries.reduce(tmp_path, TOWARDS, {"wifi": [(30 * MS, 80 * MS)]}, 9_500_000)
    kept = (tmp_path / deliveries.DELIVERIES).read_text().splitlines()
    assert kept[:2] == ["# origin_ms: 9.5", "bin\tlink\tbytes"]
    found = deliveries.read(tmp_path)
    assert found == {"wifi": {10: 3000, 90: 60}, "cellular": {41: 100}}
    assert together(found.values()) == {10: 3000, 41: 100, 90: 60}


def test_a_trial_that_broke_off_left_no_log(tmp_path: Path) -> None:
    """Nothing is kept then, and reading it is no error."""
    deliveries.reduce(tmp_path, TOWARDS, {}, 0)
    assert deliveries.read(tmp_path) == {}


def test_an_address_may_go_and_come_again() -> None:
    """At the very moment at which it is back, packets count again."""
    gone = {"wifi": [(10 * MS, 20 * MS), (30 * MS, 2**63)]}
    log = [HEADING, *(line(at, 1, 1) for at in (9, 10, 19, 20, 29, 30, 1000))]
    assert {bin_ for bin_, _ in deliveries.delivered(log, TOWARDS, gone)} == {9, 20, 29}


BINS = st.dictionaries(st.integers(0, 200), st.integers(1, 6000), max_size=40)


def gaps(bins: Mapping[int, int], least: int, begin: int, end: int) -> int:
    """Try every pair of edges."""
    edges: Sequence[int] = [begin, *(at for at in sorted(bins) if begin < at < end), end]
    return max(
        late - early
        for index, early in enumerate(edges)
        for late in edges[index + 1 :]
        if sum(size for at, size in bins.items() if early < at < late) < least
    )


@given(BINS, st.integers(1, 8000), st.integers(0, 100), st.integers(1, 150))
def test_the_longest_time_with_little_is_found(
    bins: Mapping[int, int], least: int, begin: int, lasts: int
) -> None:
    """As by trying all."""
    end = begin + lasts
    found = longest_below(least, bins, sorted(bins), begin, end)
    assert found == gaps(bins, least, begin, end)


@given(BINS, st.integers(0, 100), st.integers(1, 150))
def test_a_stall_is_no_shorter_than_a_silence(
    bins: Mapping[int, int], begin: int, lasts: int
) -> None:
    """And neither is longer than the time in which it is looked for."""
    times = sorted(bins)
    silence = longest_below(1, bins, times, begin, begin + lasts)
    stall = longest_below(deliveries.STALLED_BYTES, bins, times, begin, begin + lasts)
    assert 0 < silence <= stall <= lasts


def test_a_handful_of_probes_is_no_progress() -> None:
    """Silence ends with a packet, a stall with what brings the file further."""
    bins = {100: 1500, 140: 1228, 160: 1228, 180: 1500, 181: 1500}
    times = sorted(bins)
    assert longest_below(1, bins, times, 100, 200) == 40
    assert longest_below(4000, bins, times, 100, 200) == 81
