"""Ideal senders are found to be what they are, and are not taken for another."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from httpbed.conformance import properties
from httpbed.conformance.cells import Cell, cells
from httpbed.conformance.evidence import Run, Runs
from httpbed.conformance.finding import BUSY, Finding
from httpbed.conformance.sender import CONTROLS, Control
from ideal_sender import HELD, Ideal

BETA: dict[str, float] = {"reno": 0.5, "cubic": 0.7}


@cache
def runs(control: str, most: int = HELD, *, strained: bool = False) -> Runs:
    """Let an ideal sender go through every network of the smallest scale."""
    return Runs([run(cell, control, most, strained) for cell in cells("smoke", "reno")])


def run(cell: Cell, control: str, most: int, strained: bool) -> Run:
    """Let an ideal sender go through one network; a full queue is a limit of the window here."""
    generator = np.random.default_rng(7)
    lost = cell.lost or np.flatnonzero(generator.random(60_000) < cell.loss).tolist()
    brim = round(cell.pipe(1500).bdp + cell.queue_packets)
    ideal = Ideal(
        beta=BETA.get(control, 1.0),
        cubic=control == "cubic",
        rtt_s=cell.rtt_s,
        rate_bit_s=cell.rate_bit_s,
        lost=set(lost),
        most=min(most, brim),
        lasts_s=9.0 if cell.lost else 12.0 if cell.loss else 6.0,
    )
    return Run(cell, ideal.transfer(), strained)


def judged(control: Control, ideal: str) -> dict[str, Finding]:
    """Judge an ideal sender as what it may not be."""
    return {finding.name: finding for finding in properties.judge(control, runs(ideal))}


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_an_ideal_sender_passes_as_what_it_is(control: Control) -> None:
    """Every property is seen, and within its tolerance."""
    found = judged(control, control)
    assert {name: one.seen for name, one in found.items() if not one.passed} == {}


@pytest.mark.parametrize(
    ("control", "ideal"), [(a, b) for a in CONTROLS for b in ("reno", "cubic") if a != b]
)
def test_none_passes_as_another(control: Control, ideal: str) -> None:
    """The positive control: what a loss leaves of the window tells all of them apart."""
    assert judged(control, ideal)["window after one loss"].passed is False


def test_reno_is_not_near_capacity() -> None:
    """Judged as BBR, it fails in every network with loss."""
    found = judged("bbr", "reno")
    assert all(one.passed is False for name, one in found.items() if name.startswith("goodput"))


def test_a_held_window_hides_what_congestion_control_would_do() -> None:
    """It fails for being held, and nothing is said of what cannot be seen."""
    found = {one.name: one for one in properties.judge("cubic", runs("cubic", 46))}
    held = found["largest window, nothing lost"]
    assert held.passed is False
    assert "held at 69 kB" in held.why
    assert found["window after one loss"].passed is None
    assert found["most in flight, queue of 1 BDP"].passed is None
    assert found["goodput, 4 %, 50 ms"].passed is True


def test_a_busy_machine_is_not_the_senders_fault() -> None:
    """What passes counts; what fails is not judged."""
    found = properties.judge("cubic", runs("reno", strained=True))
    assert {one.passed for one in found} == {True, None}
    assert BUSY in {one.why for one in found if one.passed is None}


def test_nothing_seen_is_not_passed() -> None:
    """A test without trials judges nothing."""
    found = properties.judge("reno", Runs([]))
    assert {one.passed for one in found} == {None}
