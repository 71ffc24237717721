"""The random draws of links, computed a second time, and the traces that are made of such draws.

The emulator draws in Rust; these are the same streams in numpy, so that a check can compare what
happened in a trial with what its seed says, packet by packet. The generator is SplitMix64 (Steele,
Lea and Flood, OOPSLA 2014) used as a counter-based one: draw *n* depends on key and *n* only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from httpbed.base import seeds
from httpbed.experiment.impairments.rate import OPPORTUNITY_BYTES, CellularModel

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
        probabilities = np.full(count, model["probability"])
        return flagged(draws(key, count) < _changed(probabilities, changes))
    drawn = draws(key, 2 * count)
    bad = two_states(drawn[1::2], model["to_bad"], model["to_good"])
    probabilities = np.where(bad, model["loss_bad"], model["loss_good"])
    return flagged(drawn[0::2] < _changed(probabilities, changes))


def _lost_of_list(
    listed: Iterable[int], count: int, changes: Sequence[tuple[int, float]]
) -> list[int]:
    probabilities = np.zeros(count)
    probabilities[[number for number in listed if number < count]] = 1.0
    return flagged(draws(0, count) < _changed(probabilities, changes))


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


TICK_S = 0.02
CLIP = 3.0


def cellular_trace(model: CellularModel, key: int) -> npt.NDArray[np.int64]:
    """Return the times of all delivery opportunities of a cellular link in ms, ascending.

    The model is that of Winstein, Sivaraman and Balakrishnan (Stochastic Forecasts Achieve High
    Throughput and Low Delay over Cellular Networks, NSDI 2013, section 3.1): packets are delivered
    by a Poisson process whose rate varies as a random walk, and now and then there is an outage. We
    differ in two things, so that a trace has a stated mean and never drifts away from it: the walk
    is that of the rate's logarithm, and it is drawn back to its middle (Ornstein and Uhlenbeck
    1930).

    * Time goes in ticks of 20 ms, as there.
    * ``x`` begins in its stationary distribution, normal with deviation ``variation``, and forgets
      all but 1/e of a deviation in ``memory``; it is clipped at three deviations. The rate of a
      tick is ``mean * exp(x - variation^2 / 2)``, whose expectation is ``mean`` but for the
      clipping.
    * Outages are the bad state of a two-state Markov chain, of mean stay ``outage`` and share
      ``outages``.
    * Opportunities to deliver 1504 bytes are a Poisson process of that rate: points of a process of
      rate 1, put where the integral of the rate reaches them.
    * The last opportunity is at the end, so that the trace, which begins again there, has the
      length that was asked for.
    """
    ticks = round(model.duration / TICK_S)
    per_tick = np.where(_outages(model, key, ticks), 0.0, _rates(model, key, ticks)) * TICK_S
    expected = np.concatenate([[0.0], np.cumsum(per_tick)])
    points = _unit_poisson(seeds.derive(key, "deliveries"), expected[-1])
    times_s = np.interp(points, expected, np.arange(ticks + 1) * TICK_S)
    end = round(model.duration * 1e3)
    return np.append(np.minimum(np.floor(times_s * 1e3).astype(np.int64), end), end)


def trace_text(times_ms: npt.NDArray[np.int64]) -> str:
    """Write a trace in mahimahi's packet-delivery format."""
    return "".join(f"{time}\n" for time in times_ms)


def _rates(model: CellularModel, key: int, ticks: int) -> Floats:
    """Return the opportunities per second in each tick."""
    from scipy.special import ndtri  # noqa: PLC0415 - slow, and only for cellular links

    normal = ndtri(np.maximum(draws(seeds.derive(key, "rate"), ticks), 2.0**-54))
    kept = np.exp(-TICK_S / model.memory)
    deviations = np.empty(ticks)
    deviations[0] = normal[0]
    for tick in range(1, ticks):
        deviations[tick] = kept * deviations[tick - 1] + np.sqrt(1 - kept**2) * normal[tick]
    logarithm = model.variation * np.clip(deviations, -CLIP, CLIP) - model.variation**2 / 2
    rates: Floats = model.mean / 8 / OPPORTUNITY_BYTES * np.exp(logarithm)
    return rates


def _outages(model: CellularModel, key: int, ticks: int) -> npt.NDArray[np.bool_]:
    ends = min(1.0, TICK_S / model.outage)
    begins = min(1.0, ends * model.outages / (1 - model.outages))
    chance = draws(seeds.derive(key, "outages"), ticks + 1)
    first = bool(chance[ticks] < model.outages)
    return two_states(chance[:ticks], begins, ends, first=first)


def _unit_poisson(key: int, until: float) -> Floats:
    """Return the points of a Poisson process of rate 1 before ``until``."""
    count = int(until + 6 * np.sqrt(until) + 20)  # six deviations: a smaller number is never met
    points: Floats = np.cumsum(-np.log1p(-draws(key, count)))
    return points[points < until]
