"""A link that changes while it runs: claims and cells.

The schedule counts from the emulator's start; the probes read their own clock. The only time taken
from the emulator is the arrival of the first packet; all other times are the probes' own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from httpbed.addons.calibration import arithmetic
from httpbed.addons.calibration.arithmetic import Floats
from httpbed.addons.calibration.cell import DIRECTIONS, DOWN, UP, Cell, Finding, Flow, Train
from httpbed.addons.calibration.evidence import CellEvidence, Passage
from httpbed.addons.calibration.grid import DEEP, FULL_PACKET, SMALL_PACKET
from httpbed.addons.calibration.packets import exact
from httpbed.addons.calibration.timing import DELAY_TOLERANCE_S, PARTS, punctual
from httpbed.base import units
from httpbed.bed.network.fates import Flags, draws, flagged

EDGE_S = 1e-3
"""A packet so near to a change may have met either condition: the clocks agree to some 10 us, and
a packet is on the wire between its stamp and the end of the call that sent it."""
EVENT_EDGE_S = 5e-3
"""The effect of an event waits until the emulator wakes; a trial with more lateness is invalid."""
GAP_S = 500e-6

Steps = tuple[tuple[float, float], ...]
"""Seconds since the start, the first 0, each with the value from then on."""


def start_s(evidence: CellEvidence, direction: int) -> float | None:
    """Return when the emulator's time began, by the probes' clock; None if that is uncertain."""
    passage, first = evidence.passages[direction], evidence.counted(direction).get("first_ns")
    if first is None or passage.done_s[0] - passage.sent_s[0] > EDGE_S / 2:
        return None
    after_ns = int(first) - int(evidence.link["started_ns"])
    return float(passage.sent_s[0]) - after_ns / 1e9


def surely(passage: Passage, since_s: float, until_s: float) -> Flags:
    """Return which packets were on the wire safely between two times."""
    after = passage.sent_s >= since_s + EDGE_S
    return np.asarray(after & (passage.done_s <= until_s - EDGE_S))


def _held(steps: Steps) -> Iterator[tuple[float, float, float]]:
    """Return each condition with its begin and end."""
    ends = [at for at, _ in steps[1:]]
    for (since, value), until in zip(steps, [*ends, arithmetic.FOREVER_S], strict=True):
        yield since, until, value


@dataclass(frozen=True)
class LossSteps:
    """The lost packets are those of the seed, by the probability in force when each was sent."""

    direction: int
    steps: Steps

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number; the few packets sent at a change may have met either condition."""
        label = f"loss that changes {DIRECTIONS[self.direction]}"
        start, passage = start_s(evidence, self.direction), evidence.passages[self.direction]
        if start is None:
            return [exact(label, None, ())]
        missing = passage.missing()
        drawn = draws(evidence.key(self.direction, "loss"), len(passage.sizes))
        amiss = [
            number
            for since, until, probability in _held(self.steps)
            for number in flagged(surely(passage, start + since, start + until))
            if (number in missing) != (drawn[number] < probability)
        ]
        return [exact(label, amiss, ())]


@dataclass(frozen=True)
class Outage:
    """Exactly the packets that are sent while the link is down are dropped."""

    direction: int
    since_s: float
    until_s: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number, and with the emulator's own counters."""
        label = f"dropped by the link being down {DIRECTIONS[self.direction]}"
        start, passage = start_s(evidence, self.direction), evidence.passages[self.direction]
        if start is None:
            return [exact(label, None, ())]
        missing = passage.missing()
        down = surely(passage, start + self.since_s, start + self.until_s)
        before = surely(passage, start, start + self.since_s)
        after = surely(passage, start + self.until_s, start + arithmetic.FOREVER_S)
        amiss = [number for number in flagged(down) if number not in missing]
        amiss += [number for number in flagged(before | after) if number in missing]
        reported = evidence.counted(self.direction)["down_dropped_numbers"]
        return [exact(label, amiss, ()), exact(f"{label} as counted", reported, missing)]


@dataclass(frozen=True)
class DownByEvent:
    """The link goes down after so many delivered packets, or after the first."""

    direction: int
    packets: int

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Count the packets that pass after the event: at most what one wake-up takes."""
        passage = evidence.passages[self.direction]
        arrived = passage.numbers()
        beyond = arrived[arrived >= self.packets]
        most = float(np.searchsorted(passage.sent_s, self._latest(passage)) - self.packets)
        reason = "counted: an event acts when the emulator looks, within 5 ms"
        label = f"packets past the event {DIRECTIONS[self.direction]}"
        whole = len(beyond) == len(arrived) - self.packets
        came = float(len(beyond)) if whole else float(len(passage.sizes))
        return [Finding(label, "packets", 0.0, came, most, reason)]

    def _latest(self, passage: Passage) -> float:
        return float(passage.done_s[self.packets - 1]) + EVENT_EDGE_S


@dataclass(frozen=True)
class DelaySteps:
    """The median delay is the one in force, and changes at its time."""

    direction: int
    steps: Steps
    """Ascending delays, so that no packet is held up by one before it."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare each step's median, and count the packets before each change."""
        start, passage = start_s(evidence, self.direction), evidence.passages[self.direction]
        numbers, delays = passage.delays_s()
        delays = delays - evidence.floor_s.get(self.direction, 0.0)
        findings = []
        for since, until, expected in _held(self.steps):
            achieved = None
            if start is not None:
                of_step = delays[surely(passage, start + since, start + until)[numbers]]
                achieved = float(np.median(of_step)) if len(of_step) else None
            label = f"median delay from {since:g} s on {DIRECTIONS[self.direction]}"
            reason = "a wake-up; the machine's own is taken off"
            findings.append(Finding(label, "s", expected, achieved, DELAY_TOLERANCE_S, reason))
        return [*findings, *self._changes(start, passage, delays)]

    def _changes(self, start: float | None, passage: Passage, delays: Floats) -> Iterator[Finding]:
        for (_, before), (at, after) in zip(self.steps, self.steps[1:], strict=False):
            earlier = int((delays < (before + after) / 2).sum())
            known = start is not None and earlier < len(passage.sent_s)
            achieved = float(passage.sent_s[earlier]) - start if known and start else None
            label = f"change of delay {DIRECTIONS[self.direction]}"
            reason = "a gap between two packets, and late wake-ups"
            yield Finding(label, "s", at, achieved, GAP_S + EDGE_S, reason)


@dataclass(frozen=True)
class RateSteps:
    """Every packet leaves when a transmitter with these rates would send it."""

    direction: int
    steps: Steps

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compute each departure and compare."""
        start, passage = start_s(evidence, self.direction), evidence.passages[self.direction]
        label = f"packets' times at a changing rate {DIRECTIONS[self.direction]}"
        numbers, delays = passage.delays_s()
        if start is None or not len(numbers):
            return [punctual(label, [])]
        floor = evidence.floor_s.get(self.direction, 0.0)
        arrived = passage.sent_s[numbers] + delays
        steps = [(start + floor + at, bit_s) for at, bit_s in self.steps]
        earliest, latest = (
            arithmetic.stepped_rate(at + floor, passage.sizes, steps)[numbers]
            for at in (passage.sent_s, passage.done_s)
        )
        misses = arrived - np.clip(arrived, earliest, latest)
        return [punctual(label, np.array_split(misses, PARTS))]


def changes() -> Iterator[Cell]:
    """One cell for each condition that may change, and each event that datagrams can cause."""
    yield rate_steps()
    yield delay_steps()
    yield loss_steps()
    yield outage()
    yield from events()


def rate_steps() -> Cell:
    """Raise and lower a rate under a full queue."""
    steps = ((0.0, 4e6), (0.3, 12e6), (0.5, 2e6))
    written = [[f"{at:g} s", units.format_rate(bit_s)] for at, bit_s in steps]
    return Cell(
        name="rate that changes",
        link={"rate": {"steps": written}, "queue": DEEP},
        flows=(Flow(UP, (Train(40, FULL_PACKET), Train(300, FULL_PACKET, 2e-3))),),
        claims=(RateSteps(UP, steps),),
        settle_s=1.0,
        covers={"change": "rate"},
    )


def delay_steps() -> Cell:
    """Lengthen a delay twice."""
    steps = ((0.0, 5e-3), (0.3, 25e-3), (0.6, 60e-3))
    schedule = [{"at": f"{at:g} s", "delay": f"{delay * 1e3:g} ms"} for at, delay in steps[1:]]
    return Cell(
        name="delay that changes",
        link={"delay": "5 ms", "schedule": schedule},
        flows=(Flow(DOWN, (Train(1800, SMALL_PACKET, GAP_S),), spin_s=0.0),),
        claims=(DelaySteps(DOWN, steps),),
        settle_s=0.2,
        covers={"change": "delay"},
    )


def loss_steps() -> Cell:
    """Raise a loss and take it away."""
    steps = ((0.0, 0.01), (0.3, 0.3), (0.6, 0.0))
    schedule = [{"at": f"{at:g} s", "loss": f"{loss * 100:g} %"} for at, loss in steps[1:]]
    return Cell(
        name="loss that changes",
        link={"loss": "1 %", "schedule": schedule},
        flows=(_steady(UP, 1800), _steady(DOWN, 1800)),
        claims=(LossSteps(UP, steps), LossSteps(DOWN, steps)),
        covers={"change": "loss"},
    )


def outage() -> Cell:
    """Take a link down in one direction, and up again."""
    since, until = 0.3, 0.5
    schedule = [
        {"at": f"{at:g} s", "state": state, "direction": "down"}
        for at, state in ((since, "down"), (until, "up"))
    ]
    return Cell(
        name="link down and up",
        link={"schedule": schedule},
        flows=(_steady(DOWN, 1400),),
        claims=(Outage(DOWN, since, until),),
        covers={"change": "state"},
    )


def events() -> Iterator[Cell]:
    """Take a link down at an event."""
    packets = 100
    delivered = {"delivered": f"{packets * SMALL_PACKET} B", "to": "server"}
    for name, when, count in (
        ("delivered", delivered, packets),
        ("first packet", {"first_packet_of": "client"}, 1),
    ):
        event = {"name": "now", "when": when, "state": "down", "direction": "up"}
        yield Cell(
            name=f"link down by an event: {name}",
            link={"events": [event]},
            flows=(_steady(UP, 400),),
            claims=(DownByEvent(UP, count),),
            covers={"event": name},
        )


def _steady(way: int, packets: int) -> Flow:
    return Flow(way, (Train(packets, SMALL_PACKET, GAP_S),), ports=2, spin_s=0.0)
