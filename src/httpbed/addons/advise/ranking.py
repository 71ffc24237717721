"""The order of treatments in one condition: medians, and paired ratios to the best.

The statistics are those of claims. A treatment's value is the median over blocks. Its ratio to the
best is the pseudo-median of the blocks' ratios, with the interval by Wilcoxon's signed ranks.

The verdict **best** needs intervals of 95 % that settle every other treatment. All must do so at
once, so among equal treatments this is rarer than for a single pair (Berger 1982,
intersection-union tests). Otherwise several may be the best. The data chose the best, so a
treatment is then **worse** only if an interval that shares 5 % among all pairs of treatments
excludes 1 (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from httpbed.addons.claims import cells, outlook
from httpbed.addons.claims.blocks import SampleSource
from httpbed.addons.claims.cells import CellLocation
from httpbed.addons.claims.quantity import ContrastValue, MetricValue
from httpbed.addons.claims.region import Region
from httpbed.addons.claims.verdict import ClaimEstimate, rule, side_of
from httpbed.experiment.metric import METRICS
from httpbed.experiment.treatment import TreatmentKey
from httpbed.results.comparison import EQUAL_MARGIN
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.location import NoIntervalError
from httpbed.results.sample import Sample

Standing = Literal["best", "worse", "equal", "open", "no value"]
"""Against the best: ``worse`` and ``equal`` (to within 1 %) are settled by the interval; ``open``
is not. ``no value``: no trial has one."""
AdviceVerdict = Literal["best", "not settled", "not compared", "no value"]
"""``best``: settled against all others. ``not compared``: one treatment has values."""

_EQUAL = Region(1 - EQUAL_MARGIN, 1 + EQUAL_MARGIN)
_ABOVE, _BELOW = Region(low=1.0, low_open=True), Region(high=1.0, high_open=True)


@dataclass(frozen=True)
class RatioToBest:
    """How a treatment compares with the best."""

    standing: Standing
    estimate: ClaimEstimate | None = None
    """Its metric over the best one's; None for the best, and without an interval."""
    reason: str = ""
    """Why the data cannot settle it."""
    blocks_to_settle: int | None = None
    """About how many blocks would settle an open standing; None if settled or hopeless."""


@dataclass(frozen=True)
class RankedTreatment:
    """One treatment with its value and its ratio to the best."""

    key: TreatmentKey
    sample: Sample
    estimate: Estimate | None
    """None without any value."""
    ratio: RatioToBest

    @property
    def standing(self) -> Standing:
        """Against the best."""
        return self.ratio.standing


@dataclass(frozen=True)
class Ranking:
    """The treatments of one condition, the best first, those without values last."""

    metric: str
    verdict: AdviceVerdict
    treatments: tuple[RankedTreatment, ...]


def rank(source: SampleSource, metric: str, keys: Sequence[TreatmentKey]) -> Ranking:
    """Order treatments by a metric.

    Raises:
        ValueError: Neither direction of the metric is an improvement.
    """
    if METRICS[metric].better == "neither":
        raise ValueError(f"{metric} is neither better when lower nor when higher")
    samples = {key: source.sample(MetricValue(metric, (key,)), key) for key in keys}
    estimates = {key: estimate(one) for key, one in samples.items()}
    valued = {key: found.median.value for key, found in estimates.items() if found}
    order = sorted(valued, key=valued.__getitem__, reverse=METRICS[metric].better == "higher")
    ratios = _ratios(source, metric, order, 1)
    if _verdict(ratios.values()) == "not settled":
        ratios = _ratios(source, metric, order, math.comb(len(order), 2))
    ratios |= {key: RatioToBest("no value") for key in keys if key not in valued}
    return Ranking(
        metric,
        _verdict(ratios.values()),
        tuple(
            RankedTreatment(key, samples[key], estimates[key], ratio)
            for key, ratio in ratios.items()
        ),
    )


def _ratios(
    source: SampleSource, metric: str, order: Sequence[TreatmentKey], parts: int
) -> dict[TreatmentKey, RatioToBest]:
    """Compare treatments with the first; ``parts`` intervals share the probability of failure."""
    return {
        key: _against(source, metric, key, order[0], parts) if number else RatioToBest("best")
        for number, key in enumerate(order)
    }


def _verdict(ratios: Iterable[RatioToBest]) -> AdviceVerdict:
    standings = [one.standing for one in ratios if one.standing != "no value"]
    if not standings:
        return "no value"
    if len(standings) == 1:
        return "not compared"
    return "not settled" if "open" in standings else "best"


def _against(
    source: SampleSource, metric: str, key: TreatmentKey, best: TreatmentKey, parts: int
) -> RatioToBest:
    ratio = ContrastValue("ratio", MetricValue(metric, (key,)), MetricValue(metric, (best,)))
    try:
        cell = cells.locate(ratio, "median", source)
        side = side_of([cell], parts)
    except NoIntervalError as error:
        return RatioToBest("open", reason=str(error))
    found = _estimate(cell, side)
    if cell.least_p > side:
        reason = f"{cell.n} blocks are too few for {parts} comparisons"
        return RatioToBest("open", found, reason)
    worse = _ABOVE if METRICS[metric].better == "lower" else _BELOW
    if rule(found, _EQUAL) == "reproduced":
        return RatioToBest("equal", found)
    if rule(found, worse) == "reproduced":
        return RatioToBest("worse", found)

    def is_settled(simulated: outlook.Sets) -> bool:
        ((one,),) = simulated
        ends = _estimate(one, side_of([one], parts))
        return "reproduced" in {rule(ends, _EQUAL), rule(ends, worse)}

    blocks = outlook.blocks_to_settle([[cell]], "median", is_settled)
    is_known = blocks is not None and blocks <= outlook.MOST_BLOCKS
    return RatioToBest("open", found, blocks_to_settle=blocks if is_known else None)


def _estimate(cell: CellLocation, side: float) -> ClaimEstimate:
    return ClaimEstimate(
        value=cell.value,
        low=cell.low(side),
        high=cell.high(side),
        coverage=1 - 2 * side,
        blocks=(cell.n, cell.n),
        cells=1,
        judged_cells=1,
        is_constant=cell.is_constant,
        unit="1",
    )
