"""The fates that packets must have, computed a second time from seed and packet number.

The emulator draws in Rust; these are the same streams in numpy, so that a check can compare what
happened in a trial with what its seed says, packet by packet. The generator is SplitMix64 (Steele,
Lea and Flood, OOPSLA 2014) used as a counter-based one: draw *n* depends on key and *n* only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def draws(key: int, count: int) -> Floats:
    """Return the first ``count`` draws of a stream, each in [0, 1)."""
    numbers = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = np.uint64(key) + numbers * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def lost_numbers(key: int, probability: float, count: int) -> list[int]:
    """Return the numbers of the packets, among ``count``, that independent loss drops."""
    return flagged(draws(key, count) < probability)


def lost(
    model: Mapping[str, Any] | None, count: int, changes: Sequence[tuple[int, float]] = ()
) -> list[int]:
    """Return the numbers of the lost packets among ``count``, by the emulator's configuration.

    ``changes`` are probabilities, each with the number of the first packet that met it, in the
    order in which they were set. A change keeps the draws of the loss before it. A list of packets
    has no draws; a change replaces it by the draws of key 0, as on a link without loss.
    """
    if model is None or model["model"] == "listed":
        return _lost_of_list(model["numbers"] if model else (), count, changes)
    key = int(model["key"])
    if model["model"] == "bernoulli":
        own = np.full(count, model["probability"])
        return flagged(draws(key, count) < _changed(own, changes))
    drawn = draws(key, 2 * count)
    bad = two_states(drawn[1::2], model["to_bad"], model["to_good"])
    own = np.where(bad, model["loss_bad"], model["loss_good"])
    return flagged(drawn[0::2] < _changed(own, changes))


def _lost_of_list(
    listed: Iterable[int], count: int, changes: Sequence[tuple[int, float]]
) -> list[int]:
    own = np.zeros(count)
    own[[number for number in listed if number < count]] = 1.0
    return flagged(draws(0, count) < _changed(own, changes))


def _changed(probabilities: Floats, changes: Iterable[tuple[int, float]]) -> Floats:
    for first, probability in changes:
        probabilities[first:] = probability
    return probabilities


def two_states(changes: Floats, to_bad: float, to_good: float, *, first: bool = False) -> Flags:
    """Return for each draw whether the chain is in the bad state before it.

    The good state changes after a draw below ``to_bad``, the bad one after a draw below
    ``to_good``.
    """
    leaves = (np.flatnonzero(changes < to_bad), np.flatnonzero(changes < to_good))
    bad = np.zeros(len(changes), dtype=np.bool_)
    state, since = first, 0
    while since < len(changes):
        later = leaves[state][np.searchsorted(leaves[state], since) :]
        until = int(later[0]) + 1 if len(later) else len(changes)
        bad[since:until] = state
        state, since = not state, until
    return bad


def chosen(chance: Mapping[str, Any] | None, count: int, draws_each: int) -> list[int]:
    """Return the numbers of the packets, among ``count``, that a probability chooses.

    ``chance`` is the emulator's configuration of the impairment. The first of a packet's
    ``draws_each`` draws decides. A chosen packet that was lost before is not affected.
    """
    if chance is None:
        return []
    drawn = draws(int(chance["key"]), draws_each * count)[::draws_each]
    return flagged(drawn < chance["probability"])


def flagged(flags: Flags) -> list[int]:
    """Return the numbers of the packets whose flag is set."""
    return [int(number) for number in np.flatnonzero(flags)]
