"""Logs of real senders: Linux 6.18 over TCP, nginx 1.30.6 over QUIC, at 40 Mbit/s and 100 ms."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from httpbed.addons.conformance import behaviour
from httpbed.addons.conformance.behaviour import Pipe
from httpbed.addons.conformance.flight import Flight, delivery_time_s, flight, packets_of
from httpbed.store import packet_log

FOLDER = Path(__file__).parents[3] / "recorded" / "httpbed-link-0.1.0"
TWO = (60, 4000)


def recorded(name: str) -> Flight:
    """Follow the server of a recorded trial."""
    with lzma.open(FOLDER / f"{name}.tsv.xz") as file:
        log = packet_log.read(file)
    return flight(*packets_of(log, 1, 0))


def test_reno() -> None:
    """It halves its window and adds a packet per round trip."""
    sender = recorded("linux-6.18-reno-two-losses")
    first, second = (behaviour.backoff(sender, number) for number in TWO)
    assert first is not None
    assert second is not None
    assert (second.before, second.after) == (94, 48)
    rounds = behaviour.rounds_between(sender, first.lost_s + 0.1, second.lost_s - 0.1)
    assert behaviour.growth_per_round(rounds) == pytest.approx(1.0, abs=0.05)
    assert behaviour.first_flight(sender) == 10


def test_cubic() -> None:
    """It keeps 0.7 of its window and follows its curve within 5 %."""
    sender = recorded("linux-6.18-cubic-two-losses")
    first, second = (behaviour.backoff(sender, number) for number in TWO)
    assert first is not None
    assert second is not None
    assert second.ratio == pytest.approx(0.7, abs=0.02)
    rounds = behaviour.rounds_between(sender, first.lost_s + 0.1, second.lost_s - 0.1)
    off = behaviour.off_cubic(rounds, first)
    assert off is not None
    assert off < 0.05


def test_bbr_doubles() -> None:
    """BBR's start, paced."""
    sender = recorded("linux-6.18-bbr-start")
    assert behaviour.growth_at_start(sender, 166) == pytest.approx(2.0, abs=0.1)


def test_nginx_over_quic_is_held() -> None:
    """Its buffer of 64 kB per stream holds the window, not its congestion control."""
    sender = recorded("nginx-1.30.6-quic-start")
    held = behaviour.held_at(sender, Pipe(40e6 / 8 / 1500, 0.1, 1000))
    assert held == pytest.approx(46.4, abs=0.3)


def test_short_flows() -> None:
    """Delivered from the client's first packet on: handshake, request, then the first flights."""
    sender = recorded("linux-6.18-bbr-start")
    times = [delivery_time_s(sender, size) for size in (10_000, 100_000, 10**9)]
    assert times[0] == pytest.approx(0.3, abs=0.02)
    assert times[1] == pytest.approx(0.5, abs=0.1)
    assert times[2] is None
