"""Claims about the fates of packets: lost, admitted, policed, doubled, damaged, overtaken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from httpbed.addons.calibration import arithmetic
from httpbed.addons.calibration.cell import DIRECTIONS, Finding
from httpbed.addons.calibration.evidence import DAMAGED, CellEvidence, Floats, Passage
from httpbed.bed.network.fates import draws

EXACT = "computed from the seed, packet by packet: not one may differ"
THREE_SIGMA = "3 standard errors: 0.3 % of all seeds would be outside, this one is not"
MTU_BYTES = 1500
MEASURING = "packets lost by the measuring"


def exact(what: str, observed: Iterable[int] | None, expected: Iterable[int]) -> Finding:
    """Return the number of packets in which two sets differ; None if one could not be observed."""
    differing = None if observed is None else float(len(set(observed) ^ set(expected)))
    return Finding(f"{what}, packets amiss", "packets", 0.0, differing, 0.0, EXACT)


def _exact(what: str, direction: int, observed: Iterable[int], expected: Iterable[int]) -> Finding:
    return exact(f"{what} {DIRECTIONS[direction]}", observed, expected)


def _share(what: str, direction: int, count: int, of: int, probability: float) -> Finding:
    error = math.sqrt(probability * (1 - probability) / of)
    label = f"share {what} {DIRECTIONS[direction]}"
    return Finding(label, "1", probability, count / of, 3 * error, THREE_SIGMA)


def _drawn(
    evidence: CellEvidence, direction: int, impairment: str, probability: float, each: int = 1
) -> set[int]:
    """Return which packets are chosen, by the first of the ``each`` draws of a packet."""
    count = len(evidence.passages[direction].sizes)
    drawn = draws(evidence.key(direction, impairment), each * count)[::each]
    return set(np.flatnonzero(drawn < probability).tolist())


@dataclass(frozen=True)
class Loss:
    """The lost packets are those of the seed."""

    direction: int
    probability: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number, by share, and with the emulator's own counters."""
        missing = evidence.passages[self.direction].missing()
        drawn = _drawn(evidence, self.direction, "loss", self.probability)
        reported = evidence.counted(self.direction)["lost_numbers"]
        sent = len(evidence.passages[self.direction].sizes)
        return [
            _exact("loss", self.direction, missing, drawn),
            _exact("loss as counted", self.direction, reported, drawn),
            _share("lost", self.direction, len(missing), sent, self.probability),
        ]


@dataclass(frozen=True)
class Bursts:
    """The losses of a Gilbert-Elliott channel are those of the seed, with the expected mean run."""

    direction: int
    to_bad: float
    to_good: float
    bad: float = 1.0
    good: float = 0.0

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number, and the mean run with its expectation."""
        passage = evidence.passages[self.direction]
        missing = passage.missing()
        expected = arithmetic.gilbert_elliott(
            evidence.key(self.direction, "loss"),
            len(passage.sizes),
            to_bad=self.to_bad,
            to_good=self.to_good,
            bad=self.bad,
            good=self.good,
        )
        findings = [_exact("burst loss", self.direction, missing, expected)]
        return findings + ([self._run(missing)] if (self.bad, self.good) == (1.0, 0.0) else [])

    def _run(self, missing: set[int]) -> Finding:
        """Stays in the bad state are geometric: mean 1/r, variance (1-r)/r^2."""
        lengths = arithmetic.runs(missing)
        count = max(1, len(lengths))
        error = math.sqrt((1 - self.to_good) / count) / self.to_good
        label = f"mean run of losses {DIRECTIONS[self.direction]}"
        mean = sum(lengths) / count if lengths else None
        return Finding(label, "packets", 1 / self.to_good, mean, 3 * error, THREE_SIGMA)


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
            _exact("which of the burst", self.direction, arrived, self.numbers),
        ]


@dataclass(frozen=True)
class BucketAdmission:
    """A token bucket and its queue admit exactly the computed packets of a burst."""

    direction: int
    bit_s: float
    burst_bytes: int
    limit_bytes: int
    overhead_bytes: int = 0
    """Counted beyond the IP packet."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number; there is no figure if a delayed sender makes the numbers uncertain."""
        passage = evidence.passages[self.direction]
        sizes = [int(size) + self.overhead_bytes for size in passage.sizes]
        first, last = (
            arithmetic.admitted_to_bucket(at, sizes, self.bit_s, self.burst_bytes, self.limit_bytes)
            for at in (passage.sent_s, self._reached_s(passage, sizes))
        )
        arrived = passage.numbers().tolist()
        label = DIRECTIONS[self.direction]
        count = f"packets that bucket and queue take {label}"
        reason = "counted, from the real send times: burst and limit, and what leaves meanwhile"
        differing = float(len(set(arrived) ^ set(first))) if first == last else None
        return [
            Finding(
                count, "packets", len(first), len(arrived) if first == last else None, 0.0, reason
            ),
            Finding(f"which of them {label}", "packets", 0.0, differing, 0.0, reason),
        ]

    def _reached_s(self, passage: Passage, sizes: Sequence[int]) -> Floats:
        """Return by when each packet had reached the bucket, at the latest that is known.

        A kernel that forwards late shows in the arrivals of packets that the bucket passes at once.
        """
        leaves = arithmetic.token_bucket(
            passage.sent_s, np.array(sizes), self.bit_s, self.burst_bytes
        )
        numbers, delays_s = passage.delays_s()
        at_once = leaves[numbers] == passage.sent_s[numbers]
        reached = passage.done_s.copy()
        reached[numbers[at_once]] = (passage.sent_s[numbers] + delays_s)[at_once]
        return np.maximum.accumulate(np.maximum(reached, passage.done_s))


@dataclass(frozen=True)
class Policed:
    """Exactly the packets that exceed a policer's rate and burst are dropped."""

    direction: int
    bit_s: float
    burst_bytes: int

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number; there is no figure if a delayed sender makes the numbers uncertain."""
        passage = evidence.passages[self.direction]
        sizes = [int(size) for size in passage.sizes]
        first, last = (
            set(arithmetic.conforming(at, sizes, self.bit_s, self.burst_bytes))
            for at in (passage.sent_s, passage.done_s)
        )
        arrived, dropped = passage.numbers().tolist(), set(range(len(sizes))) - first
        counted = evidence.counted(self.direction)["policed_numbers"]
        label = DIRECTIONS[self.direction]
        reason = "computed from the real send times: burst, and tokens that come meanwhile"
        return [
            Finding(
                what,
                "packets",
                0.0,
                float(len(set(numbers) ^ expected)) if first == last else None,
                0.0,
                reason,
            )
            for what, numbers, expected in (
                (f"packets that the policer passes {label}, amiss", arrived, first),
                (f"policed as counted {label}, packets amiss", counted, dropped),
            )
        ]


@dataclass(frozen=True)
class ListedLosses:
    """Exactly these packets are lost."""

    direction: int
    numbers: tuple[int, ...]

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number."""
        missing = evidence.passages[self.direction].missing()
        return [_exact("listed loss", self.direction, missing, self.numbers)]


@dataclass(frozen=True)
class Duplication:
    """The packets that arrive twice are those of the seed."""

    direction: int
    probability: float
    lost: float = 0.0
    """Probability of being lost before."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number."""
        passage = evidence.passages[self.direction]
        numbers, times = np.unique(passage.number[passage.number >= 0], return_counts=True)
        twice = numbers[times == 2].tolist()  # twice
        drawn = _drawn(evidence, self.direction, "duplication", self.probability)
        drawn -= _drawn(evidence, self.direction, "loss", self.lost)
        sent = max(1, len(numbers))
        return [
            _exact("duplication", self.direction, twice, drawn),
            _share("doubled", self.direction, len(twice), sent, self.probability),
        ]


@dataclass(frozen=True)
class Corruption:
    """The packets that arrive damaged are those of the seed; the others are undamaged."""

    direction: int
    probability: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number: one whose UDP header was hit is missing, or has no number.

        A packet's second draw says where it is hit.
        """
        passage = evidence.passages[self.direction]
        damaged = passage.number[((passage.flags & DAMAGED) != 0) & (passage.number >= 0)]
        hit = set(damaged.tolist()) | passage.missing()
        drawn = _drawn(evidence, self.direction, "corruption", self.probability, each=2)
        return [
            _exact("corruption", self.direction, hit, drawn),
            _share("damaged", self.direction, len(hit), len(passage.sizes), self.probability),
        ]


@dataclass(frozen=True)
class Reordered:
    """The packets that are held back are those of the seed, and are overtaken."""

    direction: int
    probability: float
    delay_s: float
    hold_s: float
    lost: float = 0.0
    """Probability of being lost before."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number: those that arrive later than half the hold, behind a later one."""
        passage = evidence.passages[self.direction]
        numbers, delays = passage.delays_s()
        late = numbers[delays - self.delay_s > self.hold_s / 2].tolist()
        order = passage.number[passage.number >= 0]
        overtaken = order[order < np.maximum.accumulate(order)].tolist()
        drawn = _drawn(evidence, self.direction, "reordering", self.probability)
        drawn -= _drawn(evidence, self.direction, "loss", self.lost)
        last = len(passage.sizes) - 1 - math.ceil(self.hold_s / self._gap_s(evidence))
        return [
            _exact("held back", self.direction, late, drawn),
            _exact(
                "overtaken",
                self.direction,
                (number for number in overtaken if number <= last),
                (number for number in drawn if number <= last),
            ),
        ]

    def _gap_s(self, evidence: CellEvidence) -> float:
        return float(np.median(np.diff(evidence.passages[self.direction].planned_s)))


@dataclass(frozen=True)
class Complete:
    """Every packet arrives once, whole and in order."""

    direction: int

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Count missing, doubled, damaged and overtaken packets."""
        passage = evidence.passages[self.direction]
        order = passage.number[passage.whole]
        amiss: dict[str, Callable[[], int]] = {
            "missing": lambda: len(passage.missing()),
            "doubled": lambda: len(order) - len(np.unique(order)),
            "damaged": lambda: int((~passage.whole).sum()),
            "out of order": lambda: int((np.diff(order) < 0).sum()),
        }
        label = DIRECTIONS[self.direction]
        return [
            Finding(f"packets {name} {label}", "packets", 0.0, float(count()), 0.0, "none may be")
            for name, count in amiss.items()
        ]


def instrument(evidence: CellEvidence) -> list[Finding]:
    """Judge what all cells share: frames of wire size, and no packet lost by the measurement."""
    link = evidence.link
    lost = link["socket_drops"] + link["send_failures"] + evidence.remarks.get("failures", 0)
    reason = "a machine too busy to send or read in time measures nothing; try a quieter one"
    frames = f"an IP packet is at most {MTU_BYTES} bytes: more is an offload that is not off"
    findings = [
        Finding(MEASURING, "packets", 0.0, float(lost), 0.0, reason),
        Finding(
            "frames that no wire carries",
            "packets",
            0.0,
            float(link["oversize_frames"]),
            0.0,
            frames,
        ),
    ]
    return findings + [_reached(evidence, direction) for direction in evidence.passages]


def _reached(evidence: CellEvidence, direction: int) -> Finding:
    sent, counted = (
        len(evidence.passages[direction].sizes),
        evidence.counted(direction)["packets"]["in"],
    )
    label = f"packets entered {DIRECTIONS[direction]}"
    reason = "all that were sent and nothing else: numbers are what fates are compared by"
    return Finding(label, "packets", float(sent), float(counted), 0.0, reason)
