"""What a link must do, computed without the emulator: departures, admissions, losses, laws.

Each function is a few lines written from the definition and not from the emulator's code, so that
both are unlikely to have the same mistake. The random draws are no third witness: they come from
:mod:`httpbed.bed.network.fates`, which the checks of trials use, too. The emulator makes the same
draws in Rust; ``crates/link-model/tests/rng.rs`` compares those with the generator's published
sequence.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from httpbed.bed.network.fates import draws

Floats = npt.NDArray[np.float64]

OPPORTUNITY_BYTES = 1504
"""Bytes of one opportunity of a packet-delivery trace (Netravali et al., ATC 2015)."""
PARETO_SHAPE = 3.0
FOREVER_S = 1e4
"""Longer than any cell."""


def constant_rate(at_s: Floats, sizes: npt.NDArray[np.int64], bit_s: float) -> Floats:
    """Return when the last bit of each packet leaves a transmitter of constant rate, in seconds."""
    leaves = np.empty(len(at_s))
    free = -math.inf
    for place, (arrives, size) in enumerate(zip(at_s, sizes, strict=True)):
        free = max(arrives, free) + size * 8 / bit_s
        leaves[place] = free
    return leaves


def stepped_rate(
    at_s: Floats, sizes: npt.NDArray[np.int64], steps: Sequence[tuple[float, float]]
) -> Floats:
    """Return when the last bit of each packet leaves a transmitter whose rate changes.

    ``steps`` are times in seconds, ascending, each with the rate in bit/s from then on; a packet in
    service continues at the new rate.
    """
    times = np.array([*(time for time, _ in steps), steps[-1][0] + FOREVER_S])
    could = np.concatenate([[0.0], np.cumsum(np.diff(times) * [bit_s for _, bit_s in steps])])
    leaves, free = np.empty(len(at_s)), times[0]
    for place, (arrives, size) in enumerate(zip(at_s, sizes, strict=True)):
        begins = np.interp(max(arrives, free), times, could)
        free = leaves[place] = np.interp(begins + size * 8, could, times)
    return leaves


def busy_from(at_s: Floats, sizes: npt.NDArray[np.int64], bit_s: float) -> int:
    """Return the number of the first packet of the last busy period of the transmitter."""
    leaves = constant_rate(at_s, sizes, bit_s)
    idle = np.flatnonzero(at_s[1:] > leaves[:-1])
    return int(idle[-1]) + 1 if len(idle) else 0


class Bucket:
    """A token bucket that is full at first, as the kernel's tbf."""

    def __init__(self, bit_s: float, burst_bytes: int, begins_s: float) -> None:
        """Fill the bucket at a time in seconds."""
        self._byte_s, self._burst = bit_s / 8, burst_bytes
        self._tokens, self._counted_s = float(burst_bytes), begins_s

    def leaves(self, arrives_s: float, size: int) -> float:
        """Take a packet behind those before it; return when it leaves, in seconds."""
        now = max(arrives_s, self._counted_s)
        tokens = min(self._burst, self._tokens + (now - self._counted_s) * self._byte_s)
        waits = max(0.0, (size - tokens) / self._byte_s)
        self._tokens = tokens + waits * self._byte_s - size
        self._counted_s = now + waits
        return self._counted_s


def token_bucket(
    at_s: Floats, sizes: npt.NDArray[np.int64], bit_s: float, burst_bytes: int
) -> Floats:
    """Return when each packet leaves a token bucket with an unlimited queue, in seconds."""
    bucket = Bucket(bit_s, burst_bytes, at_s[0] if len(at_s) else 0.0)
    return np.array([bucket.leaves(at, size) for at, size in zip(at_s, sizes, strict=True)])


def admitted_to_bucket(
    at_s: Floats, sizes: Sequence[int], bit_s: float, burst_bytes: int, limit_bytes: int
) -> tuple[int, ...]:
    """Return the numbers of the packets that the queue before a token bucket admits.

    A packet that leaves at once takes no room: a bucket has no packet in service.
    """
    bucket = Bucket(bit_s, burst_bytes, at_s[0] if len(at_s) else 0.0)
    waiting: deque[tuple[float, int]] = deque()
    numbers = []
    for number, (arrives, size) in enumerate(zip(at_s, sizes, strict=True)):
        while waiting and waiting[0][0] <= arrives:
            waiting.popleft()
        if sum(bytes_ for _, bytes_ in waiting) + size <= limit_bytes:
            waiting.append((bucket.leaves(arrives, size), size))
            numbers.append(number)
    return tuple(numbers)


def conforming(
    at_s: Floats, sizes: Sequence[int], bit_s: float, burst_bytes: int
) -> tuple[int, ...]:
    """Return the numbers of the packets that pass a policer: the bucket holds their bytes."""
    tokens, counted_s = float(burst_bytes), at_s[0] if len(at_s) else 0.0
    numbers = []
    for number, (arrives, size) in enumerate(zip(at_s, sizes, strict=True)):
        tokens = min(burst_bytes, tokens + (arrives - counted_s) * bit_s / 8)
        counted_s = arrives
        if size <= tokens:
            tokens -= size
            numbers.append(number)
    return tuple(numbers)


def admitted(sizes: Iterable[int], limit: float, unit: str, bit_s: float) -> tuple[int, ...]:
    """Return the numbers of a burst that a queue admits, if no packet leaves meanwhile."""
    numbers = []
    packets = held = 0
    for number, size in enumerate(sizes):
        fits = {
            "packets": packets < limit,
            "bytes": held + size <= limit,
            "s": held * 8 / bit_s <= limit,
        }
        if fits[unit]:
            numbers.append(number)
            packets, held = packets + 1, held + size
    return tuple(numbers)


def gilbert_elliott(  # noqa: PLR0913 - the four parameters, key and count
    key: int, count: int, *, to_bad: float, to_good: float, bad: float, good: float
) -> set[int]:
    """Return the numbers of the packets that the channel of Gilbert and Elliott loses."""
    drawn = draws(key, 2 * count)
    is_bad, lost = False, set[int]()
    for number in range(count):
        if drawn[2 * number] < (bad if is_bad else good):
            lost.add(number)
        if drawn[2 * number + 1] < (to_good if is_bad else to_bad):
            is_bad = not is_bad
    return lost


def runs(numbers: Iterable[int]) -> list[int]:
    """Return the lengths of the runs of consecutive numbers."""
    lengths: list[int] = []
    last = -2
    for number in sorted(numbers):
        if number == last + 1:
            lengths[-1] += 1
        else:
            lengths.append(1)
        last = number
    return lengths


def jitter_cdf(distribution: str, value_s: Floats, spread_s: float) -> Floats:
    """Return the probability that the jitter is at most ``value_s``; Pareto has shape 3."""
    scaled = value_s / spread_s
    if distribution == "uniform":
        return np.asarray(np.clip((scaled + 1) / 2, 0, 1))
    if distribution == "normal":
        return np.array([(1 + math.erf(one / math.sqrt(2))) / 2 for one in scaled])
    mean, deviation = 1.5, math.sqrt(0.75)
    ratio = np.maximum(scaled * deviation + mean, 1.0)
    return np.asarray(1 - ratio**-PARETO_SHAPE)


def jitter_deviation_s(distribution: str, spread_s: float) -> float:
    """Return the standard deviation of the jitter in seconds."""
    return spread_s / math.sqrt(3) if distribution == "uniform" else spread_s


def largest_step(probabilities: Floats) -> float:
    """Return Kolmogorov's distance of a sample, given as its values' probabilities."""
    ordered = np.sort(probabilities)
    count = len(ordered)
    above = np.arange(1, count + 1) / count - ordered
    below = ordered - np.arange(count) / count
    return float(max(above.max(), below.max()))


def opportunities(trace_ms: Sequence[int], count: int) -> Floats:
    """Return the first ``count`` opportunities of a looped trace, in seconds from its start."""
    times = np.asarray(trace_ms, dtype=np.float64) / 1e3
    loops = -(-count // len(times))
    period = times[-1]
    return np.concatenate([times + loop * period for loop in range(loops)])[:count]
