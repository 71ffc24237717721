"""Claims about when packets arrive: rate, delay, jitter, and the departure of each packet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from httpbed.addons.calibration import arithmetic
from httpbed.addons.calibration.arithmetic import Floats
from httpbed.addons.calibration.cell import DIRECTIONS, Finding
from httpbed.addons.calibration.evidence import CellEvidence, Passage
from httpbed.bed.network.fates import draws

LATENESS_S = 5e-3
"""A lateness at which a trial is invalid; the emulator may be as late at once."""
DELAY_TOLERANCE_S = 50e-6
FLOOR_LIMIT_S = 1e-3
PUNCTUAL_S = 250e-6
PARTS = 8
"""Parts of a flow that are judged separately, so that an error at its beginning shows."""
LEAST_PACKETS = 2
FALSE_ALARM = 1e-4
"""Probability that a sample of another seed fails the test."""
SIGMAS = 4.0
"""Standard errors beyond which a mean lies in 6 of 100,000 samples (Gauss)."""
FOUR_SIGMA = "4 standard errors (6e-5 false alarms) and 50 us"
DENSEST = 3 * 0.75**0.5
"""Largest density of the laws for a spread of 1: Pareto's at its lower end."""


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
    skip: int = 0
    """Packets at the beginning that a full bucket passes at once."""
    overhead_bytes: int = 0
    """Counted beyond the IP packet."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare the rate, and check for bursts of more than one packet and a late wake-up."""
        passage = evidence.passages[self.direction]
        counted = passage.sizes + self.overhead_bytes
        first = max(self.skip, arithmetic.busy_from(passage.done_s, counted, self.bit_s))
        counts = passage.number >= first
        if first - self.skip > len(passage.sizes) // 2:
            counts[:] = False  # too little is left
        at = passage.arrived_s[counts]
        sizes = (passage.bytes[counts] + self.overhead_bytes).astype(np.float64)
        achieved = _rate(at, sizes)
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
                achieved=_ahead(at, sizes, self.bit_s),
                tolerance=1.5 * float(counted.max()) + self.bit_s / 8 * LATENESS_S,
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
        if self.skip or achieved is None or lasted <= 0 or achieved > self.bit_s * (1 - self.share):
            return False
        return bool(1 - counted.get("busy_ns", 0) / lasted > self.share / 2)


def _rate(at: Floats, sizes: Floats) -> float | None:
    if len(at) < LEAST_PACKETS or at[-1] <= at[0]:
        return None
    return float(sizes[1:].sum() * 8 / (at[-1] - at[0]))


def _ahead(at: Floats, sizes: Floats, bit_s: float) -> float | None:
    """Return the most bytes by which the arrivals are ahead of the rate, from the first on."""
    if len(at) < LEAST_PACKETS:
        return None
    come = np.cumsum(sizes) - sizes[0]
    return float(np.max(come - (at - at[0]) * bit_s / 8))


@dataclass(frozen=True)
class Delay:
    """The median one-way delay, less the machine's own delay."""

    direction: int
    delay_s: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare the median."""
        _, delays = evidence.passages[self.direction].delays_s()
        floor = evidence.floor_s.get(self.direction, 0.0)
        return [
            Finding(
                what=f"median delay {DIRECTIONS[self.direction]}",
                unit="s",
                expected=self.delay_s,
                achieved=float(np.median(delays)) - floor if len(delays) else None,
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
        _, delays = evidence.passages[self.direction].delays_s()
        return [
            Finding(
                what=f"the machine's own delay {DIRECTIONS[self.direction]}",
                unit="s",
                expected=0.0,
                achieved=float(np.median(delays)) if len(delays) else None,
                tolerance=FLOOR_LIMIT_S,
                reason="above 1 ms at the median the machine is too busy to measure on",
            )
        ]


@dataclass(frozen=True)
class Departures:
    """Every packet leaves when a model of the transmitter sends it, from its real send time."""

    direction: int
    bit_s: float
    burst_bytes: int | None = None
    """Of a token bucket; None is a transmitter of constant rate."""
    overhead_bytes: int = 0
    """Counted beyond the IP packet."""
    delay_s: float = 0.0
    """After the transmitter."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compute each departure and compare.

        A sender may lose its CPU in the call that sends, so a packet's send time is an interval.
        """
        passage = evidence.passages[self.direction]
        floor = evidence.floor_s.get(self.direction, 0.0)
        numbers, delays = passage.delays_s()
        arrived = passage.sent_s[numbers] + delays
        earliest = self._due(passage.sent_s + floor, passage)[numbers]
        latest = self._due(passage.done_s + floor, passage)[numbers]
        misses = arrived - np.clip(arrived, earliest, latest)
        parts = np.array_split(misses, min(PARTS, len(misses))) if len(misses) else []
        return [punctual(f"packets' times {DIRECTIONS[self.direction]}", parts)]

    def _due(self, at: Floats, passage: Passage) -> Floats:
        sizes = passage.sizes + self.overhead_bytes
        if self.burst_bytes is None:
            return arithmetic.constant_rate(at, sizes, self.bit_s) + self.delay_s
        return arithmetic.token_bucket(at, sizes, self.bit_s, self.burst_bytes) + self.delay_s


@dataclass(frozen=True)
class Opportunities:
    """Packets of a full queue leave at the opportunities of a trace, whenever it began."""

    direction: int
    trace_ms: Sequence[int]

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Find the phase at which the arrivals fit best, and compare each arrival."""
        at = evidence.passages[self.direction].arrived_s
        loop = len(self.trace_ms)
        due = arithmetic.opportunities(self.trace_ms, len(at) + loop)
        phases = range(loop if len(at) else 0)
        fits = [at - due[phase : phase + len(at)] for phase in phases]
        centred = [fit - np.median(fit) for fit in fits]
        best = min(centred, key=lambda misses: float(np.abs(misses).mean()), default=at[:0])
        slots = [best[slot::loop] for slot in range(min(loop, len(best)))]
        return [punctual(f"packets' opportunities {DIRECTIONS[self.direction]}", slots)]


def punctual(what: str, parts: Sequence[Floats]) -> Finding:
    """Judge the part of the packets with the worst median: a late wake-up affects no median."""
    worst = max((abs(float(np.median(part))) for part in parts), default=None)
    reason = "median distance from the computed times, in the worst part; wake-ups of the machine"
    return Finding(what, "s", 0.0, worst, PUNCTUAL_S, reason)


@dataclass(frozen=True)
class Jitter:
    """Mean, deviation and law of the delays; packets are so far apart that none waits."""

    direction: int
    delay_s: float
    spread_s: float
    distribution: str

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Test the moments that exist, and the whole distribution."""
        _, delays = evidence.passages[self.direction].delays_s()
        jitter = delays - self.delay_s - evidence.floor_s.get(self.direction, 0.0)
        if len(jitter) < LEAST_PACKETS:
            return [Finding(self._named("mean"), "s", 0.0, None, 0.0, "nothing arrived")]
        return [self._mean(jitter), *self._deviation(jitter), self._law(jitter)]

    def _mean(self, jitter: Floats) -> Finding:
        deviation = arithmetic.jitter_deviation_s(self.distribution, self.spread_s)
        tolerance = SIGMAS * deviation / math.sqrt(len(jitter)) + DELAY_TOLERANCE_S
        achieved = float(jitter.mean())
        return Finding(self._named("mean"), "s", 0.0, achieved, tolerance, FOUR_SIGMA)

    def _deviation(self, jitter: Floats) -> list[Finding]:
        """Judge the deviation, except Pareto's, whose fourth moment is infinite."""
        fourth_moments: Mapping[str, float] = {"uniform": 9 / 5, "normal": 3.0}
        if self.distribution not in fourth_moments:
            return []
        expected = arithmetic.jitter_deviation_s(self.distribution, self.spread_s)
        error = expected * math.sqrt((fourth_moments[self.distribution] - 1) / (4 * len(jitter)))
        achieved, tolerance = float(jitter.std()), SIGMAS * error + DELAY_TOLERANCE_S
        return [Finding(self._named("deviation"), "s", expected, achieved, tolerance, FOUR_SIGMA)]

    def _law(self, jitter: Floats) -> Finding:
        laws = arithmetic.jitter_cdf(self.distribution, jitter, self.spread_s)
        limit = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(jitter)))
        shift = DENSEST * DELAY_TOLERANCE_S / self.spread_s
        reason = "Dvoretzky-Kiefer-Wolfowitz at 1e-4 false alarms, and 50 us"
        achieved = arithmetic.largest_step(laws)
        return Finding(
            self._named("distance from its law"), "1", 0.0, achieved, limit + shift, reason
        )

    def _named(self, what: str) -> str:
        return f"{self.distribution} jitter's {what} {DIRECTIONS[self.direction]}"


@dataclass(frozen=True)
class JitterTable:
    """Each packet is delayed by the sample that its draw chooses."""

    direction: int
    delay_s: float
    samples_s: tuple[float, ...]

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare the packets of each sample with it: a wrong sample would change their median."""
        passage = evidence.passages[self.direction]
        numbers, delays = passage.delays_s()
        jitter = delays - self.delay_s - evidence.floor_s.get(self.direction, 0.0)
        drawn = draws(evidence.key(self.direction, "jitter"), len(passage.sizes))[numbers]
        chosen = (drawn * len(self.samples_s)).astype(np.int64)
        misses = jitter - np.asarray(self.samples_s)[chosen]
        parts = [misses[chosen == place] for place in range(len(self.samples_s))]
        label = f"packets' samples of jitter {DIRECTIONS[self.direction]}"
        return [punctual(label, [part for part in parts if len(part)])]


@dataclass(frozen=True)
class Goodput:
    """The throughput of a TCP connection that fills the link."""

    direction: int
    bit_s: float
    """Of the link."""
    share: float
    packet_bytes: int = 1500
    headers_bytes: int = 52
    """IPv4, TCP and its time stamps (RFC 7323)."""
    skip_s: float = 0.5
    """Slow start, and the first losses."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare with the share of the rate that headers leave."""
        expected = self.bit_s * (self.packet_bytes - self.headers_bytes) / self.packet_bytes
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
        if samples is None or len(samples) < LEAST_PACKETS:
            return None
        at = samples["at"] / 1e9
        late = np.flatnonzero(at >= at[0] + self.skip_s)
        if len(late) < LEAST_PACKETS:
            return None
        first, last = late[0], late[-1]
        come = float(samples["bytes"][last]) - float(samples["bytes"][first])
        return float(come * 8 / (at[last] - at[first]))


def floors(passages: Mapping[int, Passage]) -> dict[int, float]:
    """Median one-way delay of each direction of an unimpaired link."""
    medians = {direction: passage.delays_s()[1] for direction, passage in passages.items()}
    return {direction: float(np.median(of)) for direction, of in medians.items() if len(of)}
