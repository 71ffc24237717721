"""Claims about what a link does with packets: their times, and their fates.

What is expected is computed without the emulator, in a few lines that follow the definition and not
the emulator's code. So both are unlikely to have the same mistake. The random draws are not
independent of the checks of trials: both come from :mod:`httpbed.bed.network.fates`. The emulator
makes the same draws in Rust; ``crates/link-model/tests/model/rng.rs`` compares those with the
generator's published sequence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from httpbed.addons.calibration.cell import Finding
from httpbed.addons.calibration.evidence import CellEvidence, Floats, Passage
from httpbed.bed.network.fates import draws
from httpbed.experiment.impairments.descriptor import DIRECTIONS
from httpbed.experiment.impairments.rate import MTU_BYTES

EXACT = "computed from the seed, packet by packet: not one may differ"
THREE_SIGMA = "3 standard errors: 0.3 % of all seeds would be outside, this one is not"
HEADERS_BYTES = 52
"""IPv4, TCP and its time stamps (RFC 7323)."""
SKIP_S = 0.5
"""Of a TCP connection: slow start, and the first losses."""
MEASURING = "packets lost by the measuring"
LATENESS_S = 5e-3
"""A lateness at which a trial is invalid; the emulator may be as late at once."""
DELAY_TOLERANCE_S = 50e-6
FLOOR_LIMIT_S = 1e-3
PUNCTUAL_S = 250e-6
PARTS = 8
"""Parts of a flow that are judged separately, so that an error at its beginning shows."""
MIN_PACKETS = 2


@dataclass(frozen=True)
class Rate:
    """Bytes between the first and the last arrival, divided by the time between them.

    A delayed sender may have left the transmitter idle. Only packets after that count, by their
    real send times. If less than half of the packets remain, nothing was measured.
    """

    direction: int
    bit_s: float
    share: float
    """Tolerance, of the rate."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare the rate, and check for bursts of more than one packet and a late wake-up."""
        passage = evidence.passages[self.direction]
        first = busy_from(passage.done_s, passage.sizes, self.bit_s)
        counts = passage.number >= first
        if first > len(passage.sizes) // 2:
            counts[:] = False  # too little is left
        arrived_s = passage.arrived_s[counts]
        sizes = passage.bytes[counts].astype(np.float64)
        achieved = _rate(arrived_s, sizes)
        if self._was_idle(evidence, achieved):
            achieved = None
        label = DIRECTIONS[self.direction]
        return [
            Finding(
                what=f"rate {label}",
                unit="bit/s",
                expected=self.bit_s,
                achieved=achieved,
                tolerance=self.share * self.bit_s,
                reason="a late first or last packet; not measured where the sender was held up",
            ),
            Finding(
                what=f"ahead of the rate {label}",
                unit="bytes",
                expected=0.0,
                achieved=_ahead(arrived_s, sizes, self.bit_s),
                tolerance=1.5 * float(passage.sizes.max()) + self.bit_s / 8 * LATENESS_S,
                reason="a packet and a half, and 5 ms of lateness: a trial with more is invalid",
            ),
        ]

    def _was_idle(self, evidence: CellEvidence, achieved: float | None) -> bool:
        """Return whether a rate is too low because packets reached the link late.

        Only the emulator can report that. It turns a failure into a failure to measure, which is
        not a pass.
        """
        counted = evidence.counted(self.direction)
        lasted = (counted.get("last_ns") or 0) - (counted.get("first_ns") or 0)
        if achieved is None or lasted <= 0 or achieved > self.bit_s * (1 - self.share):
            return False
        return bool(1 - counted.get("busy_ns", 0) / lasted > self.share / 2)


def _rate(at: Floats, sizes: Floats) -> float | None:
    if len(at) < MIN_PACKETS or at[-1] <= at[0]:
        return None
    return float(sizes[1:].sum() * 8 / (at[-1] - at[0]))


def _ahead(arrived_s: Floats, sizes: Floats, bit_s: float) -> float | None:
    """Return the most bytes by which the arrivals are ahead of the rate, from the first on."""
    if len(arrived_s) < MIN_PACKETS:
        return None
    come = np.cumsum(sizes) - sizes[0]
    return float(np.max(come - (arrived_s - arrived_s[0]) * bit_s / 8))


def constant_rate(at_s: Floats, sizes: npt.NDArray[np.int64], bit_s: float) -> Floats:
    """Return when the last bit of each packet leaves a transmitter of constant rate, in seconds."""
    leaves = np.empty(len(at_s))
    free = -math.inf
    for place, (arrives, size) in enumerate(zip(at_s, sizes, strict=True)):
        free = max(arrives, free) + size * 8 / bit_s
        leaves[place] = free
    return leaves


def busy_from(at_s: Floats, sizes: npt.NDArray[np.int64], bit_s: float) -> int:
    """Return the number of the first packet of the last busy period of the transmitter."""
    leaves = constant_rate(at_s, sizes, bit_s)
    idle = np.flatnonzero(at_s[1:] > leaves[:-1])
    return int(idle[-1]) + 1 if len(idle) else 0


@dataclass(frozen=True)
class Delay:
    """The median one-way delay, less the machine's own delay."""

    direction: int
    delay_s: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare the median."""
        median = evidence.passages[self.direction].median_delay_s()
        floor = evidence.floor_s.get(self.direction, 0.0)
        return [
            Finding(
                what=f"median delay {DIRECTIONS[self.direction]}",
                unit="s",
                expected=self.delay_s,
                achieved=None if median is None else median - floor,
                tolerance=DELAY_TOLERANCE_S,
                reason=f"a wake-up; the machine's own {floor * 1e6:.0f} us are taken off",
            )
        ]


@dataclass(frozen=True)
class Floor:
    """The machine's own delay, without any impairment."""

    direction: int

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Reject a machine on which no delay can be trusted."""
        return [
            Finding(
                what=f"the machine's own delay {DIRECTIONS[self.direction]}",
                unit="s",
                expected=0.0,
                achieved=evidence.passages[self.direction].median_delay_s(),
                tolerance=FLOOR_LIMIT_S,
                reason="above 1 ms at the median the machine is too busy to measure on",
            )
        ]


@dataclass(frozen=True)
class Departures:
    """Every packet leaves when a model of the transmitter sends it, from its real send time."""

    direction: int
    bit_s: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compute each departure and compare.

        A sender may lose its CPU in the call that sends, so a packet's send time is an interval.
        """
        passage = evidence.passages[self.direction]
        floor = evidence.floor_s.get(self.direction, 0.0)
        numbers, delays = passage.delays_s()
        arrived = passage.sent_s[numbers] + delays
        earliest = constant_rate(passage.sent_s + floor, passage.sizes, self.bit_s)[numbers]
        latest = constant_rate(passage.done_s + floor, passage.sizes, self.bit_s)[numbers]
        misses = arrived - np.clip(arrived, earliest, latest)
        parts = np.array_split(misses, min(PARTS, len(misses))) if len(misses) else []
        # A late wake-up affects no median.
        worst = max((abs(float(np.median(part))) for part in parts), default=None)
        what = f"packets' times {DIRECTIONS[self.direction]}"
        reason = (
            "median distance from the computed times, in the worst part; wake-ups of the machine"
        )
        return [Finding(what, "s", 0.0, worst, PUNCTUAL_S, reason)]


@dataclass(frozen=True)
class Goodput:
    """The throughput of a TCP connection that fills the link."""

    direction: int
    bit_s: float
    """Of the link."""
    share: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare with the share of the rate that headers leave."""
        expected = self.bit_s * (MTU_BYTES - HEADERS_BYTES) / MTU_BYTES
        return [
            Finding(
                what=f"TCP goodput {DIRECTIONS[self.direction]}",
                unit="bit/s",
                expected=expected,
                achieved=self._achieved(evidence),
                tolerance=self.share * expected,
                reason="retransmissions after the queue's first overflow",
            )
        ]

    def _achieved(self, evidence: CellEvidence) -> float | None:
        samples = evidence.stream
        if samples is None or len(samples) < MIN_PACKETS:
            return None
        arrived_s = samples["at"] / 1e9
        late = np.flatnonzero(arrived_s >= arrived_s[0] + SKIP_S)
        if len(late) < MIN_PACKETS:
            return None
        first, last = late[0], late[-1]
        come = float(samples["bytes"][last]) - float(samples["bytes"][first])
        return float(come * 8 / (arrived_s[last] - arrived_s[first]))


def floors(passages: Mapping[int, Passage]) -> dict[int, float]:
    """Median one-way delay of each direction of an unimpaired link."""
    medians = {direction: passage.median_delay_s() for direction, passage in passages.items()}
    return {direction: median for direction, median in medians.items() if median is not None}


def exact(what: str, observed: Iterable[int], expected: Iterable[int]) -> Finding:
    """Return the number of packets in which two sets differ, which must be none."""
    differing = float(len(set(observed) ^ set(expected)))
    return Finding(f"{what}, packets amiss", "packets", 0.0, differing, 0.0, EXACT)


@dataclass(frozen=True)
class Loss:
    """The lost packets are those of the seed."""

    direction: int
    probability: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number, by share, and with the emulator's own counters."""
        missing = evidence.passages[self.direction].missing()
        reported = evidence.counted(self.direction)["lost_numbers"]
        sent, label = len(evidence.passages[self.direction].sizes), DIRECTIONS[self.direction]
        chances = draws(evidence.key(self.direction, "loss"), sent)
        drawn: list[int] = np.flatnonzero(chances < self.probability).tolist()
        error = math.sqrt(self.probability * (1 - self.probability) / sent)
        share = len(missing) / sent
        return [
            exact(f"loss {label}", missing, drawn),
            exact(f"loss as counted {label}", reported, drawn),
            Finding(f"share lost {label}", "1", self.probability, share, 3 * error, THREE_SIGMA),
        ]


@dataclass(frozen=True)
class QueueAdmission:
    """The queue admits exactly these packets of a burst."""

    direction: int
    numbers: tuple[int, ...]

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number."""
        arrived = evidence.passages[self.direction].numbers().tolist()
        count = f"packets of a burst {DIRECTIONS[self.direction]}"
        reason = "counted: the burst is over before the first packet leaves"
        return [
            Finding(count, "packets", len(self.numbers), len(arrived), 0.0, reason),
            exact(f"which of the burst {DIRECTIONS[self.direction]}", arrived, self.numbers),
        ]


def admitted(sizes: Iterable[int], limit: float, unit: str, bit_s: float) -> tuple[int, ...]:
    """Return the numbers of a burst that a queue admits, if no packet leaves meanwhile."""
    numbers = []
    packets = held_bytes = 0
    for number, size in enumerate(sizes):
        fits = {
            "packets": packets < limit,
            "bytes": held_bytes + size <= limit,
            "s": held_bytes * 8 / bit_s <= limit,
        }
        if fits[unit]:
            numbers.append(number)
            packets, held_bytes = packets + 1, held_bytes + size
    return tuple(numbers)


@dataclass(frozen=True)
class Complete:
    """Every packet arrives once, whole and in order."""

    direction: int

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Count missing, doubled, damaged and overtaken packets."""
        passage = evidence.passages[self.direction]
        order = passage.number[passage.whole]
        amiss = {
            "missing": len(passage.missing()),
            "doubled": len(order) - len(np.unique(order)),
            "damaged": int((~passage.whole).sum()),
            "out of order": int((np.diff(order) < 0).sum()),
        }
        label = DIRECTIONS[self.direction]
        return [
            Finding(f"packets {name} {label}", "packets", 0.0, float(count), 0.0, "none may be")
            for name, count in amiss.items()
        ]


def instrument(evidence: CellEvidence) -> list[Finding]:
    """Judge what all cells share: frames of wire size, and no packet lost by the measurement."""
    link = evidence.link
    oversize = float(link["oversize_frames"])
    lost = link["socket_drops"] + link["send_failures"] + evidence.probe_failures
    reason = "a machine too busy to send or read in time measures nothing; try a quieter one"
    frames = f"an IP packet is at most {MTU_BYTES} bytes: more is an offload that is not off"
    findings = [
        Finding(MEASURING, "packets", 0.0, float(lost), 0.0, reason),
        Finding("frames that no wire carries", "packets", 0.0, oversize, 0.0, frames),
    ]
    reason = "all that were sent and nothing else: numbers are what fates are compared by"
    for direction, passage in evidence.passages.items():
        label, sent = f"packets entered {DIRECTIONS[direction]}", float(len(passage.sizes))
        entered = float(evidence.counted(direction)["packets"]["in"])
        findings.append(Finding(label, "packets", sent, entered, 0.0, reason))
    return findings
