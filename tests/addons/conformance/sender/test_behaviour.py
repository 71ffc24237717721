"""What is read of ideal senders is what they were made with."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpbed.addons.conformance import behaviour
from httpbed.addons.conformance.behaviour import Backoff, Pipe
from httpbed.addons.conformance.flight import Flight, Packets, Round
from httpbed.results import throughput_models as models
from ideal_sender import Ideal

TWO = (60, 4000)


def room(ideal: Ideal) -> Pipe:
    """What the ideal sender's link holds, with a queue that is never full."""
    return Pipe(ideal.rate_bit_s / 8 / 1500, ideal.rtt_s, 1e9)


@settings(deadline=None, max_examples=15)
@given(beta=st.floats(0.3, 0.95))
def test_the_back_off_is_recovered(beta: float) -> None:
    """What a loss leaves of the window is read within the packets that are whole."""
    found = behaviour.backoff(Ideal(beta=beta, lost=TWO, lasts_s=15).transfer(), TWO[1])
    assert found is not None
    assert found.ratio == pytest.approx(beta, abs=2.5 / found.before)


@settings(deadline=None, max_examples=10)
@given(increase=st.floats(0.3, 2.0))
def test_the_growth_is_recovered(increase: float) -> None:
    """Packets per round trip in congestion avoidance."""
    transfer = Ideal(increase=increase, lost=TWO).transfer()
    first, second = (behaviour.backoff(transfer, number) for number in TWO)
    assert first is not None
    until = second.lost_s if second else transfer.lasts_s
    rounds = behaviour.rounds_between(transfer, first.lost_s + 0.1, until - 0.1)
    assert behaviour.growth_per_round(rounds) == pytest.approx(increase, rel=0.1)


@settings(deadline=None, max_examples=10)
@given(initial=st.integers(4, 40), rtt_s=st.sampled_from([0.02, 0.1, 0.3]))
def test_the_first_flight_is_counted(initial: int, rtt_s: float) -> None:
    """However large, and however long the round trip."""
    transfer = Ideal(initial=initial, rtt_s=rtt_s, rate_bit_s=1e9, lasts_s=5 * rtt_s).transfer()
    assert behaviour.first_flight(transfer) == initial
    assert behaviour.growth_at_start(transfer, 1000) == pytest.approx(2.0, abs=0.15)


def test_acknowledgements_do_not_widen_the_first_flight() -> None:
    """What was sent before the data counts where it is more than an ACK: one packet of two."""
    ideal = Ideal(lasts_s=1.0).transfer()
    early = np.array([-0.2, -0.15])
    whole = Packets(
        np.concatenate((early, ideal.packets.sent_s)),
        np.concatenate((early + 0.05, ideal.packets.left_s)),
        np.concatenate(([1500, behaviour.ACK_BYTES], ideal.packets.bytes)),
        np.arange(len(ideal.packets) + 2),
    )
    known_s = np.concatenate((early + 0.1, ideal.known_s))
    seen = Flight(whole, known_s, ideal.full_bytes, ideal.rtt_s)
    assert behaviour.largest_first_flight(seen) == 11
    assert behaviour.first_flight(seen) == 10


@pytest.mark.parametrize(("full_bytes", "most"), [(1500, 10), (1472, 10), (1248, 12), (1228, 12)])
def test_the_initial_window_is_ten_packets_or_its_bytes(full_bytes: int, most: int) -> None:
    """Ten of TCP's, and as many of QUIC's small ones as RFC 9002's bytes hold."""
    sender = Ideal(lasts_s=1.0).transfer()
    sizes = np.full(len(sender.packets), full_bytes)
    packets = dataclasses.replace(sender.packets, bytes=sizes)
    assert behaviour.largest_first_flight(dataclasses.replace(sender, packets=packets)) == most


@pytest.mark.parametrize(("full", "small_bytes"), [(33, 200), (0, 100)])
def test_small_packets_do_not_raise_the_initial_window(full: int, small_bytes: int) -> None:
    """More small packets than full ones, or only acknowledgements."""
    sent_s = np.concatenate((np.arange(83) / 1e4, [0.1, 0.2]))
    sizes = np.array([1500] * full + [small_bytes] * (83 - full) + [1500] * 2)
    packets = Packets(sent_s, sent_s + 0.05, sizes, np.arange(len(sent_s)))
    flight = Flight(packets, sent_s + 0.1, 1500, 0.1)
    assert behaviour.largest_first_flight(flight) == 12


@pytest.mark.parametrize("faster", [False, True])
def test_either_curve_of_cubic_is_followed(*, faster: bool) -> None:
    """At short round trips, where the window is Reno's long after it is what it was."""
    rtt_s, after = 0.02, 14.0
    rounds = [
        Round(
            number * rtt_s,
            (number + 1) * rtt_s,
            models.cubic_window(number * rtt_s, 20, after, rtt_s, faster=faster),
        )
        for number in range(60)
    ]
    off = behaviour.off_cubic(rounds, Backoff(0.0, 20, after))
    assert off == pytest.approx(0, abs=1e-9)
    assert models.cubic_window(1.2, 20, after, rtt_s, faster=faster) > 1.5 * 20


def test_cubic_follows_its_curve_and_reno_does_not() -> None:
    """The curve tells them apart even where the back-off is the same."""
    off = []
    for cubic in (True, False):
        transfer = Ideal(beta=0.7, cubic=cubic, lost=TWO, lasts_s=10).transfer()
        first, second = (behaviour.backoff(transfer, number) for number in TWO)
        assert first is not None
        assert second is not None
        rounds = behaviour.rounds_between(transfer, first.lost_s + 0.1, second.lost_s - 0.1)
        off.append(behaviour.off_cubic(rounds, first))
    follows, other = off
    assert follows is not None
    assert other is not None
    assert follows < 0.05
    assert other > 0.2


def test_a_window_held_by_a_buffer_is_reported() -> None:
    """A constant window below the pipe's capacity is held; a growing one or a full pipe is not."""
    held, free = Ideal(most=46, lasts_s=4), Ideal(lasts_s=4)
    assert behaviour.held_at(held.transfer(), room(held)) == pytest.approx(46)
    assert behaviour.held_at(free.transfer(), room(free)) is None
    growing = Ideal(lost=(60,), lasts_s=8)
    assert behaviour.held_at(growing.transfer(), room(growing)) is None


def test_what_cannot_be_seen_is_none() -> None:
    """A loss that did not happen, a transfer that ended before it could show."""
    transfer = Ideal(lasts_s=1.0, lost=(60,)).transfer()
    assert behaviour.backoff(transfer, 4000) is None
    assert behaviour.growth_per_round(transfer.rounds[:3]) is None
