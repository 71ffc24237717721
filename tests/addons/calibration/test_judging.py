"""Arrivals without a fault pass, those with a known one fail: computed, nothing is run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import computed_passages
from httpbed.addons.calibration import cells, claims, session
from httpbed.addons.calibration.cell import UP, Cell, Finding
from httpbed.addons.calibration.claims import (
    Complete,
    Delay,
    Departures,
    Loss,
    QueueAdmission,
    Rate,
    instrument,
)
from httpbed.addons.calibration.evidence import DAMAGED, Floats, Passage
from httpbed.bed.network.fates import draws

COUNT = 400
SENT: Floats = np.asarray(1.0 + np.arange(COUNT) * 1e-3, dtype=np.float64)
SIZES = [1500] * COUNT


def failures(findings: list[Finding]) -> set[str]:
    """Name what failed."""
    return {finding.what for finding in findings if not finding.passed}


def steady(leaves: Floats, numbers: list[int] | None = None) -> Passage:
    """Packets a millisecond apart."""
    chosen = list(range(COUNT)) if numbers is None else numbers
    return computed_passages.passage(SENT, SIZES, leaves, chosen)


def rated(bit_s: float, cell: Cell) -> Passage:
    """A rate cell's packets through a transmitter of perhaps another rate."""
    sent, sizes = computed_passages.planned(cell), cell.flows[0].sizes()
    leaves = claims.constant_rate(sent, np.asarray(sizes), bit_s)
    return computed_passages.passage(sent, sizes, leaves, range(len(sizes)))


@pytest.mark.parametrize("bit_s", [50_000, 10**6, 10**7, 10**8])
def test_the_rate_that_was_asked_passes(bit_s: int) -> None:
    """With all that a cell claims."""
    cell = cells.rate_cell(bit_s, 1.0, (UP,))
    assert session.judge(cell, computed_passages.seen({UP: rated(bit_s, cell)})).passed


@given(
    bit_s=st.sampled_from([50_000, 10**6, 10**7, 10**8]),
    off=st.floats(1.1, 20).map(lambda times: times / 100) | st.floats(-0.5, -0.011),
)
def test_another_rate_fails(bit_s: int, off: float) -> None:
    """By more than its tolerance, to either side."""
    cell = cells.rate_cell(bit_s, 1.0, (UP,))
    found = Rate(UP, bit_s, cells.rate_tolerance(bit_s)).judge(
        computed_passages.seen({UP: rated(bit_s * (1 + off), cell)})
    )
    assert "rate up" in failures(found)


def through_a_bucket(sent: Floats, sizes: list[int], bit_s: float, burst: int) -> Floats:
    """Return when packets leave a token bucket that is full at first."""
    leaves, tokens, counted_s = [], float(burst), sent[0]
    for at_s, size in zip(sent, sizes, strict=True):
        now_s = max(at_s, counted_s)
        tokens = min(burst, tokens + (now_s - counted_s) * bit_s / 8)
        waits_s = max(0.0, (size - tokens) * 8 / bit_s)
        tokens += waits_s * bit_s / 8 - size
        counted_s = now_s + waits_s
        leaves.append(counted_s)
    return np.asarray(leaves)


@given(burst=st.integers(12_000, 200_000))
def test_a_bucket_in_place_of_a_rate_fails(burst: int) -> None:
    """What comes ahead of the rate is told even where the mean is not far off."""
    bit_s = 10**7
    cell = cells.rate_cell(bit_s, 3.0, (UP,))
    sent, sizes = computed_passages.planned(cell), cell.flows[0].sizes()
    leaves = through_a_bucket(sent, sizes, bit_s, burst)
    bucket = computed_passages.passage(sent, sizes, leaves, range(len(sizes)))
    found = Rate(UP, bit_s, 0.002).judge(computed_passages.seen({UP: bucket}))
    assert failures(found)


def test_a_sender_that_was_held_up_measures_nothing() -> None:
    """It is neither a pass nor a rate that was missed."""
    cell = cells.rate_cell(10**7, 1.0, (UP,))
    sizes = cell.flows[0].sizes()
    sent = computed_passages.planned(cell)
    sent = sent + np.where(np.arange(len(sent)) > len(sent) * 0.7, 3.0, 0.0)
    leaves = claims.constant_rate(sent, np.asarray(sizes), 10**7)
    held = computed_passages.passage(sent, sizes, leaves, range(len(sizes)))
    found = session.judge(cell, computed_passages.seen({UP: held}))
    assert not found.passed
    assert not found.measured


def test_a_link_that_was_left_idle_measures_nothing() -> None:
    """Packets may be sent in time and come late to the link; a rate that is too high is one."""
    cell = cells.rate_cell(10**7, 1.0, (UP,))
    for bit_s, measured in ((9.9e6, False), (10.1e6, True)):
        found = computed_passages.seen({UP: rated(bit_s, cell)})
        counted = {"first_ns": 1, "last_ns": 10**9 + 1, "busy_ns": 990_000_000}
        found.link["directions"][UP].update(counted)
        judged = session.judge(cell, found)
        assert not judged.passed
        assert judged.measured == measured


@given(delay_ms=st.sampled_from([0.0, 1.0, 25.0, 500.0]), off_us=st.integers(-49, 49))
def test_a_delay_within_its_tolerance_passes(delay_ms: float, off_us: int) -> None:
    """The machine's own delay is taken off."""
    found = steady(SENT + delay_ms / 1e3 + off_us / 1e6)
    assert not failures(Delay(UP, delay_ms / 1e3).judge(computed_passages.seen({UP: found})))


@given(off_us=st.integers(52, 10**5), sign=st.sampled_from([-1, 1]))
def test_a_delay_beyond_its_tolerance_fails(off_us: int, sign: int) -> None:
    """To either side."""
    found = steady(SENT + 0.025 + sign * off_us / 1e6)
    assert failures(Delay(UP, 0.025).judge(computed_passages.seen({UP: found})))


def test_departures_are_judged_packet_by_packet() -> None:
    """A right rate with a delay nobody asked for is noticed."""
    leaves = claims.constant_rate(SENT, np.asarray(SIZES), 6e6)
    assert not failures(Departures(UP, 6e6).judge(computed_passages.seen({UP: steady(leaves)})))
    assert failures(Departures(UP, 6e6).judge(computed_passages.seen({UP: steady(leaves + 1e-3)})))


def kept(lost: set[int]) -> list[int]:
    return [number for number in range(COUNT) if number not in lost]


def drawn(probability: float) -> set[int]:
    """Packets of the upward direction that the seed loses."""
    key = computed_passages.seen({}).key(UP, "loss")
    return set(np.flatnonzero(draws(key, COUNT) < probability).tolist())


@given(st.data())
def test_one_loss_too_many_or_too_few_fails(data: st.DataObject) -> None:
    """The share may be right to the last digit."""
    lost = drawn(0.05)
    claim = Loss(UP, 0.05)
    right = computed_passages.seen({UP: steady(SENT, kept(lost))}, {UP: sorted(lost)})
    assert not failures(claim.judge(right))
    other = lost ^ {data.draw(st.integers(0, COUNT - 1))}
    wrong = computed_passages.seen({UP: steady(SENT, kept(other))}, {UP: sorted(lost)})
    assert "loss up, packets amiss" in failures(claim.judge(wrong))


def test_counts_are_exact() -> None:
    """Those of a queue."""
    burst = computed_passages.seen({UP: steady(SENT, list(range(10)))})
    assert not failures(QueueAdmission(UP, tuple(range(10))).judge(burst))
    assert failures(QueueAdmission(UP, tuple(range(11))).judge(burst))
    assert failures(QueueAdmission(UP, (*range(9), 12)).judge(burst))


def test_complete_means_all_once_and_in_order() -> None:
    """Each defect has a line of its own."""
    assert not failures(Complete(UP).judge(computed_passages.seen({UP: steady(SENT)})))
    missing = computed_passages.seen({UP: steady(SENT, kept({7}))})
    assert failures(Complete(UP).judge(missing)) == {"packets missing up"}
    doubled = computed_passages.seen({UP: steady(SENT, [*range(COUNT), 7])})
    assert failures(Complete(UP).judge(doubled)) == {"packets doubled up"}
    late = np.where(np.arange(COUNT) == 7, 0.5, 0.0)
    swapped = computed_passages.seen({UP: steady(SENT + late)})
    assert failures(Complete(UP).judge(swapped)) == {"packets out of order up"}
    flags = np.array([DAMAGED if number == 7 else 0 for number in range(COUNT)])
    damaged = computed_passages.seen({UP: dataclasses.replace(steady(SENT), flags=flags)})
    assert failures(Complete(UP).judge(damaged)) == {"packets damaged up"}


@pytest.mark.parametrize(
    ("counter", "name"),
    [
        ("socket_drops", "packets lost by the measuring"),
        ("send_failures", "packets lost by the measuring"),
        ("oversize_frames", "frames that no wire carries"),
    ],
)
def test_a_spoilt_measurement_never_passes(counter: str, name: str) -> None:
    """Whatever the figures say."""
    found = computed_passages.seen({UP: steady(SENT)})
    spoilt = dataclasses.replace(found, link={**found.link, counter: 1})
    assert not failures(instrument(found))
    assert failures(instrument(spoilt)) == {name}


def test_nothing_that_arrives_is_no_pass() -> None:
    """An empty record must not look like a perfect one."""
    nothing = computed_passages.seen({UP: steady(SENT, [])})
    for claim in (
        Rate(UP, 1e6, 0.1),
        Delay(UP, 0.0),
        Departures(UP, 1e6),
        Complete(UP),
        Loss(UP, 0.01),
    ):
        assert failures(claim.judge(nothing)), claim
