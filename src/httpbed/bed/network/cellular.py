"""The traces of cellular links, made from a seed.

The model is that of Winstein, Sivaraman and Balakrishnan (Stochastic Forecasts Achieve High
Throughput and Low Delay over Cellular Networks, NSDI 2013, section 3.1): packets are delivered by
a Poisson process whose rate varies as a random walk, and now and then there is an outage. We
differ in two things, so that a trace has a stated mean and never drifts away from it: the walk is
that of the rate's logarithm, and it is drawn back to its middle (Ornstein and Uhlenbeck 1930).

* Time goes in ticks of 20 ms, as there.
* ``x`` begins in its stationary distribution, normal with deviation ``variation``, and forgets all
  but 1/e of a deviation in ``memory``; it is clipped at three deviations. The rate of a tick is
  ``mean * exp(x - variation^2 / 2)``, whose expectation is ``mean`` but for the clipping.
* Outages are the bad state of a two-state Markov chain, of mean stay ``outage`` and share
  ``outages``.
* Opportunities to deliver 1504 bytes are a Poisson process of that rate: points of a process of
  rate 1, put where the integral of the rate reaches them.
* The last opportunity is at the end, so that the trace, which begins again there, has the length
  that was asked for.

Everything is drawn from counter-based streams of the key (:mod:`httpbed.bed.network.fates`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from httpbed.base import seeds
from httpbed.bed.network import fates
from httpbed.experiment.impairments.rate import OPPORTUNITY_BYTES, CellularModel

TICK_S = 0.02
CLIP = 3.0
Floats = npt.NDArray[np.float64]


def trace(model: CellularModel, key: int) -> npt.NDArray[np.int64]:
    """Return the times of all delivery opportunities in ms, ascending."""
    ticks = round(model.duration / TICK_S)
    per_tick = np.where(_outages(model, key, ticks), 0.0, _rates(model, key, ticks)) * TICK_S
    expected = np.concatenate([[0.0], np.cumsum(per_tick)])
    points = _unit_poisson(seeds.derive(key, "deliveries"), expected[-1])
    times_s = np.interp(points, expected, np.arange(ticks + 1) * TICK_S)
    end = round(model.duration * 1e3)
    return np.append(np.minimum(np.floor(times_s * 1e3).astype(np.int64), end), end)


def text(times_ms: npt.NDArray[np.int64]) -> str:
    """Write a trace in mahimahi's packet-delivery format."""
    return "".join(f"{time}\n" for time in times_ms)


def _rates(model: CellularModel, key: int, ticks: int) -> Floats:
    """Return the opportunities per second in each tick."""
    normal = ndtri(np.maximum(fates.draws(seeds.derive(key, "rate"), ticks), 2.0**-54))
    kept = np.exp(-TICK_S / model.memory)
    deviations = np.empty(ticks)
    deviations[0] = normal[0]
    for tick in range(1, ticks):
        deviations[tick] = kept * deviations[tick - 1] + np.sqrt(1 - kept**2) * normal[tick]
    logarithm = model.variation * np.clip(deviations, -CLIP, CLIP) - model.variation**2 / 2
    rates: Floats = model.mean / 8 / OPPORTUNITY_BYTES * np.exp(logarithm)
    return rates


def _outages(model: CellularModel, key: int, ticks: int) -> npt.NDArray[np.bool_]:
    """Return which ticks are in an outage."""
    ends = min(1.0, TICK_S / model.outage)
    begins = min(1.0, ends * model.outages / (1 - model.outages))
    chance = fates.draws(seeds.derive(key, "outages"), ticks + 1)
    first = bool(chance[ticks] < model.outages)
    return fates.two_states(chance[:ticks], begins, ends, first=first)


def _unit_poisson(key: int, until: float) -> Floats:
    """Return the points of a Poisson process of rate 1 before ``until``."""
    count = int(until + 6 * np.sqrt(until) + 20)  # six deviations: a smaller number is never met
    points: Floats = np.cumsum(-np.log1p(-fates.draws(key, count)))
    return points[points < until]
