"""The losses that a link must have drawn, computed a second time from seed and packet number.

The emulator draws in Rust; this is the same stream in numpy, so that a trial's losses can be
compared with what its seed says, packet by packet. The generator is SplitMix64 (Steele,
Lea and Flood, OOPSLA 2014) used as a counter-based one: draw *n* depends on key and *n* only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def draws(key: int, count: int) -> npt.NDArray[np.float64]:
    """Return the first ``count`` draws of a stream, each in [0, 1)."""
    numbers = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = np.uint64(key) + numbers * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def lost_numbers(key: int, probability: float, count: int) -> list[int]:
    """Numbers of the packets, among the first ``count``, that the stream loses."""
    return [int(number) for number in np.flatnonzero(draws(key, count) < probability)]
