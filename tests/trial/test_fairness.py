"""How clients share a network, over the time in which all are active."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.store import packet_log
from httpbed.store.packet_log import PacketLog
from httpbed.trial import fairness
from httpbed.trial.fairness import FairShares, jain

HEADING = "in_ns\tout_ns\tbytes\tdirection\tnumber\tfate\n"
MS = 10**6
CLIENTS = {"client": 1, "competitor-1-client": 3}


def flow(direction: int, begin_ms: int, end_ms: int, every_ms: int = 1) -> Iterator[str]:
    """Write lines of packets of 1000 bytes at an even pace."""
    for number, at in enumerate(range(begin_ms, end_ms + 1, every_ms)):
        yield f"{max(at - 1, 0) * MS}\t{at * MS}\t1000\t{direction}\t{number}\tdelivered\n"


def read(lines: Sequence[str]) -> PacketLog:
    """Read a log whose emulator may have been stopped while writing."""
    return packet_log.read((line.encode() for line in lines), is_cut_off=True)


def shared(lines: Sequence[str]) -> FairShares | None:
    return fairness.shared(read(lines).delivered_bytes(fairness.BIN_NS), CLIENTS)


def test_only_the_common_time_counts() -> None:
    """One client was alone in the first second, the other in the last."""
    lines = [HEADING, *flow(1, 0, 3000), *flow(3, 1000, 4000, 2)]
    found = shared(lines)
    assert found is not None
    assert found.lasted_s == pytest.approx(1.99)
    assert found.rates_bit_s["client"] == pytest.approx(8e6)
    assert found.rates_bit_s["competitor-1-client"] == pytest.approx(4e6)
    assert found.share("client") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "lines",
    [
        [HEADING],
        [HEADING, *flow(1, 0, 1000)],
        [HEADING, *flow(1, 0, 1000), *flow(3, 950, 2000)],
        [HEADING, *flow(1, 0, 1000), *flow(3, 1500, 2000)],
    ],
)
def test_too_short_a_common_time_gives_no_shares(lines: list[str]) -> None:
    """A twentieth of a second says nothing."""
    assert shared(lines) is None


def test_dropped_packets_do_not_count() -> None:
    """Packets of the other direction do not count either."""
    lost = [f"{at * MS}\t-\t1000\t1\t{at}\tlost\n" for at in range(1000)]
    lines = [HEADING, *flow(1, 0, 1000), *lost, *flow(0, 0, 1000), *flow(3, 0, 1000)]
    found = shared(lines)
    assert found is not None
    assert found.share("client") == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("rates", "index"), [([1, 1, 1], 1.0), ([1, 0], 0.5), ([3, 1], 0.8), ([0, 0], 1.0)]
)
def test_jains_index_is_1_for_equal_rates(rates: list[float], index: float) -> None:
    """It is 1/n if one client gets everything."""
    assert jain(rates) == pytest.approx(index)


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=8))
def test_jains_index_is_between_1_for_all_and_1_for_one(rates: list[float]) -> None:
    """1/n to 1, and the same for any unit."""
    index = jain(rates)
    assert 1 / len(rates) - 1e-9 <= index <= 1 + 1e-9
    assert jain([8 * rate for rate in rates]) == pytest.approx(index)


def test_the_reduced_log_does_not_grow_with_the_packets(tmp_path: Path) -> None:
    """It grows with the time; a torn last line is ignored."""
    lines = [HEADING, *flow(1, 0, 3000), *flow(3, 1000, 4000, 2), "4000000"]
    fairness.reduce(tmp_path, read(lines))
    known = shared(lines)
    assert fairness.read(tmp_path, CLIENTS) == known
    assert len((tmp_path / fairness.THROUGHPUT).read_text().splitlines()) == 1 + 301 + 301


def test_a_trial_without_a_log_has_no_shares(tmp_path: Path) -> None:
    """It ended early."""
    assert fairness.read(tmp_path, CLIENTS) is None
