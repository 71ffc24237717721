"""What a link must do, computed without it: departures, admissions, losses, distributions.

Deliberately simple: a few lines each, after the definition and not after the emulator's code, so
that both can hardly be wrong in the same way.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from httpbed.network.fates import draws

Floats = npt.NDArray[np.float64]

OPPORTUNITY_BYTES = 1504
"""What one line of a packet-delivery trace carries (Netravali et al., ATC 2015)."""
PARETO_SHAPE = 3.0
FOREVER_S = 1e4
"""Longer than any cell."""


def constant_rate(at_s: Floats, sizes: npt.NDArray[np.int64], bit_s: float) -> Floats:
    """When the last bit of each packet leaves a transmitter of a constant rate."""
    leaves = np.empty(len(at_s))
    free = -math.inf
    for place, (arrives, size) in enumerate(zip(at_s, sizes, strict=True)):
        free = max(arrives, free) + size * 8 / bit_s
        leaves[place] = free
    return leaves


def stepped_rate(
    at_s: Floats, sizes: npt.NDArray[np.int64], steps: Sequence[tuple[float, float]]
) -> Floats:
    """When the last bit of each packet leaves a transmitter whose rate changes at given times.

    ``steps`` are times, ascending, and the rate in bit/s from then on; what is in service then goes
    on at the new rate.
    """
    times = np.array([*(time for time, _ in steps), steps[-1][0] + FOREVER_S])
    could = np.concatenate([[0.0], np.cumsum(np.diff(times) * [bit_s for _, bit_s in steps])])
    leaves, free = np.empty(len(at_s)), times[0]
    for place, (arrives, size) in enumerate(zip(at_s, sizes, strict=True)):
        begins = np.interp(max(arrives, free), times, could)
        free = leaves[place] = np.interp(begins + size * 8, could, times)
    return leaves


def busy_from(at_s: Floats, sizes: npt.NDArray[np.int64], bit_s: float) -> int:
    """Number of the first packet of the last period in which the transmitter was never idle."""
    leaves = constant_rate(at_s, sizes, bit_s)
    idle = np.flatnonzero(at_s[1:] > leaves[:-1])
    return int(idle[-1]) + 1 if len(idle) else 0


class Bucket:
    """A token bucket that is full at first (as the kernel's tbf does)."""

    def __init__(self, bit_s: float, burst_bytes: int, begins_s: float) -> None:
        """Fill it at a time."""
        self._byte_s, self._burst = bit_s / 8, burst_bytes
        self._tokens, self._counted_s = float(burst_bytes), begins_s

    def leaves(self, arrives_s: float, size: int) -> float:
        """Take a packet, behind those before it; return when it leaves."""
        now = max(arrives_s, self._counted_s)
        tokens = min(self._burst, self._tokens + (now - self._counted_s) * self._byte_s)
        waits = max(0.0, (size - tokens) / self._byte_s)
        self._tokens = tokens + waits * self._byte_s - size
        self._counted_s = now + waits
        return self._counted_s


def token_bucket(
    at_s: Floats, sizes: npt.NDArray[np.int64], bit_s: float, burst_bytes: int
) -> Floats:
    """When each packet leaves a bucket before which all of them find room."""
    bucket = Bucket(bit_s, burst_bytes, at_s[0] if len(at_s) else 0.0)
    return np.array([bucket.leaves(at, size) for at, size in zip(at_s, sizes, strict=True)])


def admitted_to_bucket(
    at_s: Floats, sizes: Sequence[int], bit_s: float, burst_bytes: int, limit_bytes: int
) -> tuple[int, ...]:
    """Numbers of the packets that find room before a token bucket.

    A packet that leaves at once takes no room: none is in service before a bucket.
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
    """Numbers of the packets of a burst that find room, if none leaves while it arrives."""
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
    """Numbers of the packets lost in the channel of Gilbert (1960) and Elliott (1963)."""
    drawn = draws(key, 2 * count)
    is_bad, lost = False, set[int]()
    for number in range(count):
        if drawn[2 * number] < (bad if is_bad else good):
            lost.add(number)
        if drawn[2 * number + 1] < (to_good if is_bad else to_bad):
            is_bad = not is_bad
    return lost


def runs(numbers: Iterable[int]) -> list[int]:
    """Lengths of the runs of consecutive numbers."""
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
    """Probability that the jitter is at most ``value_s``: uniform, normal or Pareto of shape 3."""
    scaled = value_s / spread_s
    if distribution == "uniform":
        return np.asarray(np.clip((scaled + 1) / 2, 0, 1))
    if distribution == "normal":
        return np.array([(1 + math.erf(one / math.sqrt(2))) / 2 for one in scaled])
    mean, deviation = 1.5, math.sqrt(0.75)
    ratio = np.maximum(scaled * deviation + mean, 1.0)
    return np.asarray(1 - ratio**-PARETO_SHAPE)


def jitter_deviation_s(distribution: str, spread_s: float) -> float:
    """Standard deviation of the jitter."""
    return spread_s / math.sqrt(3) if distribution == "uniform" else spread_s


def largest_step(probabilities: Floats) -> float:
    """Kolmogorov's distance between a sample, given as its values' probabilities, and its law."""
    ordered = np.sort(probabilities)
    count = len(ordered)
    above = np.arange(1, count + 1) / count - ordered
    below = ordered - np.arange(count) / count
    return float(max(above.max(), below.max()))


def opportunities(trace_ms: Sequence[int], count: int) -> Floats:
    """The first ``count`` delivery opportunities of a looped trace, in seconds from its start."""
    times = np.asarray(trace_ms, dtype=np.float64) / 1e3
    loops = -(-count // len(times))
    period = times[-1]
    return np.concatenate([times + loop * period for loop in range(loops)])[:count]
