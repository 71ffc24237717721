"""Shares of a bottleneck, and what waits there."""

from __future__ import annotations

import numpy as np
import pytest

from httpbed.addons.conformance import competition
from httpbed.addons.conformance.flight import Packets
from httpbed.addons.conformance.networks import Network


def stream(count: int, gap_s: float, passage_s: float) -> Packets:
    """Make packets of 1500 bytes at a constant rate."""
    sent = np.arange(count, dtype=np.float64) * gap_s
    return Packets(sent, sent + passage_s, np.full(count, 1500), np.arange(count))


def test_two_flows_share_a_bottleneck() -> None:
    """One packet in 2 ms against one in 6 ms, through 10 Mbit/s; 3 ms wait in its queue."""
    fast, slow = stream(3000, 0.002, 0.05), stream(1000, 0.006, 0.05)
    bottleneck = stream(4000, 0.0015, 0.020 + 0.0012 + 0.003)
    found = competition.split(
        [fast, slow],
        bottleneck,
        sent=[fast, slow],
        network=Network("", 10_000_000, 0.04, 100),
        interval_s=(1.0, 5.0),
    )
    assert found.rates_bit_s == pytest.approx([6e6, 2e6], rel=0.001)
    assert found.jain == pytest.approx(1 / (2 * (0.75**2 + 0.25**2)), abs=0.001)
    assert found.queue_delay_p95_s == pytest.approx(0.003)
    assert found.lasts_s == pytest.approx([5.998, 5.994])
    for points, mbit_s in zip(found.epochs, (6.0, 2.0), strict=True):
        assert points == pytest.approx(np.array([[3.0, mbit_s]] * 10), rel=0.02)


def test_what_is_still_under_way_is_not_lost() -> None:
    """A queue of one second, which drops every fourth packet of a flow of a hundred a second."""
    sent, wait_s = stream(1000, 0.01, 0.0), 1.0
    kept = sent.number % 4 != 0
    left_s = np.where(kept, sent.sent_s + wait_s, np.nan)
    queue = Packets(sent.sent_s, left_s, sent.bytes, sent.number)
    came_s = left_s[kept & (left_s < 10)]
    received = Packets(came_s, came_s, sent.bytes[: len(came_s)], np.arange(len(came_s)))
    network = Network("", 10_000_000, 1.0, 100)
    found = competition.split(
        [received], queue, sent=[sent], network=network, interval_s=(1.0, 8.0)
    )
    assert found.lost == pytest.approx([0.25], abs=0.002)
