"""Ideal senders pass as what they are, and fail as others."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from httpbed.addons.conformance import properties
from httpbed.addons.conformance.networks import Network, networks
from httpbed.addons.conformance.properties import BUSY, PropertyResult, SenderTransfer, Transfers
from httpbed.addons.conformance.sender import CONTROLS, Control
from ideal_sender import HELD, Ideal

BETA: dict[str, float] = {"reno": 0.5, "cubic": 0.7}


@cache
def transfers(control: str, most: int = HELD, *, strained: bool = False) -> Transfers:
    """Return an ideal sender's transfers in every network of scale smoke."""
    planned = networks("smoke", "reno")
    every = [transfer(network, control, most, strained) for network in planned]
    return Transfers(planned, every)


def transfer(network: Network, control: str, most: int, strained: bool) -> SenderTransfer:
    """Return an ideal sender's transfer in one network; here a full queue limits the window."""
    generator = np.random.default_rng(7)
    lost = network.lost or np.flatnonzero(generator.random(60_000) < network.loss).tolist()
    brim = round(network.pipe(1500).holds)
    ideal = Ideal(
        beta=BETA.get(control, 1.0),
        cubic=control == "cubic",
        rtt_s=network.rtt_s,
        rate_bit_s=network.rate_bit_s,
        lost=set(lost),
        most=min(most, brim),
        lasts_s=9.0 if network.lost else 12.0 if network.loss else 6.0,
    )
    return SenderTransfer(network, ideal.transfer(), strained)


def judged(control: Control, ideal: str) -> dict[str, PropertyResult]:
    """Judge an ideal sender as another control."""
    return {finding.name: finding for finding in properties.judge(control, transfers(ideal))}


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_an_ideal_sender_passes_as_its_own_control(control: Control) -> None:
    """Every property is judged, and within its tolerance."""
    found = judged(control, control)
    assert {name: one.observed for name, one in found.items() if not one.passed} == {}


@pytest.mark.parametrize(
    ("control", "ideal"),
    [(a, b) for a in CONTROLS for b in ("reno", "cubic") if a not in {b, "bbr2"}],
)
def test_an_ideal_sender_fails_as_another_control(control: Control, ideal: str) -> None:
    """The window after a loss distinguishes all controls."""
    assert judged(control, ideal)["window after one loss"].passed is False


def test_a_window_held_by_flow_control_fails_and_hides_other_properties() -> None:
    """Properties that a held window hides are not judged."""
    found = {result.name: result for result in properties.judge("cubic", transfers("cubic", 46))}
    held = found["largest window, nothing lost"]
    assert held.passed is False
    assert "held at 69 kB" in held.why
    assert found["window after one loss"].passed is None
    assert found["most in flight, queue of 1 BDP"].passed is None
    assert found["throughput, 4 %, 50 ms"].passed is True


def test_a_failure_on_a_busy_machine_is_not_judged() -> None:
    """A pass still counts."""
    found = properties.judge("cubic", transfers("reno", strained=True))
    assert {result.passed for result in found} == {True, None}
    assert BUSY in {result.why for result in found if result.passed is None}


def test_a_test_without_trials_does_not_pass() -> None:
    """No property is judged."""
    found = properties.judge("reno", Transfers(networks("smoke", "reno"), []))
    assert {result.passed for result in found} == {None}
    assert len(found) == len(properties.judge("reno", transfers("reno")))


def test_bbr2_may_be_as_slow_as_cubic_at_high_loss_only() -> None:
    """At 4 % it may be as slow as CUBIC; at 0.5 % Reno is too slow for BBRv2."""
    found = judged("bbr2", "reno")
    assert found["throughput, 4 %, 50 ms"].unit == "of CUBIC"
    assert found["throughput, 4 %, 50 ms"].passed is True
    assert found["throughput, 0.5 %, 50 ms"].passed is False
    assert found["window after one loss"].passed is False
