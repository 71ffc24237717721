"""A question, and how far measured conditions are from it.

Each factor's difference is a number of doublings: log2(measured / wanted). So 5 Mbit/s and
20 Mbit/s are equally far from 10 Mbit/s. Delay and loss may be zero and cannot be divided; 1 ms
and 0.1 % are added to both sides first. Sizes below one packet count as one packet. The distance of
conditions is the root of the sum of the squares of these differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from httpbed.experiment.impairments.rate import MTU_BYTES

NEAR_DOUBLINGS = 1.0
"""Conditions are near if no factor differs by more than this."""
DELAY_OFFSET_S = 0.001
LOSS_OFFSET = 0.001
AdviceFactor = Literal["rate", "delay", "loss", "size", "page weight", "page requests"]


@dataclass(frozen=True)
class PageFacts:
    """What a page is compared by."""

    name: str
    weight_bytes: int
    """Total length of all bodies; 0 if it is not known."""
    requests: int


@dataclass(frozen=True)
class AdviceConditions:
    """A network and a workload: those of a question, or measured ones."""

    rate_bit_s: int
    """Smallest rate of the path towards the client."""
    delay_s: float
    """One-way delay: half the sum of the path's delays in both directions."""
    loss: float
    """Probability that a packet to the client is lost on the path."""
    fetched: int | PageFacts
    """Size of the one file in bytes, or the page."""


@dataclass(frozen=True)
class AdviceDifference:
    """How far one factor of measured conditions is from the question."""

    factor: AdviceFactor
    wanted: float
    measured: float
    """In bit/s, seconds, a share, bytes or a count."""
    doublings: float
    """Above 0 if more was measured; infinite if the two cannot be compared."""

    @property
    def is_near(self) -> bool:
        """Whether it is small enough for an answer."""
        return abs(self.doublings) <= NEAR_DOUBLINGS + 1e-9


def differences(wanted: AdviceConditions, measured: AdviceConditions) -> list[AdviceDifference]:
    """Return the difference of each factor; of pages with one name, only those of the network."""
    return [*_of_network(wanted, measured), *_of_workload(wanted.fetched, measured.fetched)]


def distance(found: Sequence[AdviceDifference]) -> float:
    """Return the distance of conditions with these differences, in doublings."""
    return math.hypot(*(one.doublings for one in found))


def _of_network(wanted: AdviceConditions, measured: AdviceConditions) -> Iterator[AdviceDifference]:
    rates = wanted.rate_bit_s, measured.rate_bit_s
    yield AdviceDifference("rate", *rates, _doublings(*rates))
    delays = wanted.delay_s, measured.delay_s
    yield AdviceDifference("delay", *delays, _doublings(*delays, DELAY_OFFSET_S))
    losses = wanted.loss, measured.loss
    yield AdviceDifference("loss", *losses, _doublings(*losses, LOSS_OFFSET))


def _of_workload(wanted: int | PageFacts, measured: int | PageFacts) -> Iterator[AdviceDifference]:
    match wanted, measured:
        case int(), int():
            sizes = [max(MTU_BYTES, one) for one in (wanted, measured)]
            yield AdviceDifference("size", wanted, measured, _doublings(*sizes))
        case PageFacts(), PageFacts() if wanted.name != measured.name:
            weights = wanted.weight_bytes, measured.weight_bytes
            yield AdviceDifference("page weight", *weights, _doublings(*weights))
            requests = wanted.requests, measured.requests
            yield AdviceDifference("page requests", *requests, _doublings(*requests))


def is_comparable(wanted: AdviceConditions, measured: AdviceConditions) -> bool:
    """Return whether both fetch a file, or both load a page."""
    return isinstance(wanted.fetched, int) == isinstance(measured.fetched, int)


def _doublings(wanted: float, measured: float, offset: float = 0.0) -> float:
    one, other = wanted + offset, measured + offset
    return math.log2(other / one) if one > 0 and other > 0 else math.inf
