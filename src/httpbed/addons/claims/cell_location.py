"""A cell's location in the units in which the claim is written.

Ratios and gains are symmetric on a logarithmic scale: a ratio of 2 and one of 1/2 are equally far
from 1. So their statistics are taken of logarithms, and shown as ratios and gains again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Literal

import numpy as np

from httpbed.addons.claims import block_values, shape_statistics
from httpbed.addons.claims.block_values import BlockBounds, CampaignSamples
from httpbed.addons.claims.cell_builder import (
    ContrastValue,
    FlipValue,
    KneeValue,
    MetricValue,
    Quantity,
    TrendValue,
    leaves,
)
from httpbed.addons.claims.region import Region
from httpbed.addons.claims.shape_statistics import OrderViolation
from httpbed.addons.claims.stated_claim import BlockStatistic
from httpbed.experiment.metric import METRICS, Side
from httpbed.results import location
from httpbed.results.location import Location, NoIntervalError
from httpbed.results.sample import Bounded, Floats

Scale = Literal["plain", "logarithm", "reduction", "increase", "fisher"]
"""``reduction``: 1 - ratio. ``increase``: ratio - 1. ``fisher``: artanh of a correlation."""
HALF = 0.5
NEARLY_1 = 0.99
NO_VALUES = "no block has all the values that it needs"
FAR = 1e9
"""In place of infinity on the logarithmic scale."""
LARGEST = 1e300
"""In place of infinity on the plain scale."""


@dataclass(frozen=True, eq=False)
class CellLocation:
    """What the blocks say about a cell."""

    lows: Location
    """The location of the lower bounds of the blocks' values, on the scale of the statistics."""
    highs: Location
    """The location of the upper bounds; the same object where all values are known."""
    scale: Scale
    is_constant: bool = False
    """Whether all blocks have the same value."""
    values: Floats = field(default_factory=lambda: np.array([]))
    """Values of the blocks, on that scale; a trial that timed out counts with its limit. Empty
    where blocks have no values of their own."""
    blocks: tuple[int, ...] = ()
    of_medians: float = math.nan
    """What the medians of all blocks give, in place of the blocks' own values."""
    apart: float | None = None
    """Variance that a value would have if its trials were no pair; None: that of the values."""

    @property
    def n(self) -> int:
        """Number of blocks."""
        return self.lows.n

    @property
    def least_p(self) -> float:
        """The smallest p-value that so few blocks can give."""
        return self.lows.least_p

    @property
    def value(self) -> Bounded:
        """The estimate."""
        low, high = self.lows.value, self.highs.value
        if math.isclose(low, high, rel_tol=1e-12):
            return Bounded(_shown(low, self.scale))
        is_open_above = abs(high) >= _far(self.scale)
        side: Side = ">" if is_open_above != (self.scale == "reduction") else "<"
        return Bounded(_shown(low if is_open_above else high, self.scale), side)

    def low(self, side: float) -> float:
        """Return the lower confidence bound; -inf if censored values leave it open."""
        end = self.highs.high(side) if self.scale == "reduction" else self.lows.low(side)
        return _shown(end, self.scale)

    def high(self, side: float) -> float:
        """Return the upper confidence bound; inf if censored values leave it open."""
        end = self.lows.low(side) if self.scale == "reduction" else self.highs.high(side)
        return _shown(end, self.scale)

    def p_above(self, c: float) -> float:
        """Return the p-value of the hypothesis that the value is at most c."""
        inner = _inner(c, self.scale)
        is_turned = self.scale == "reduction"
        return self.highs.p_below(inner) if is_turned else self.lows.p_above(inner)

    def p_below(self, c: float) -> float:
        """Return the p-value of the hypothesis that the value is at least c."""
        inner = _inner(c, self.scale)
        is_turned = self.scale == "reduction"
        return self.lows.p_above(inner) if is_turned else self.highs.p_below(inner)

    def p_inside(self, region: Region) -> float:
        """Return the p-value of the hypothesis that the value lies outside a region."""
        low = region.low if region.low_open else math.nextafter(region.low, -math.inf)
        high = region.high if region.high_open else math.nextafter(region.high, math.inf)
        return max(
            self.p_above(low) if math.isfinite(low) else 0.0,
            self.p_below(high) if math.isfinite(high) else 0.0,
        )

    def p_outside(self, region: Region) -> float:
        """Return the p-value of the hypothesis that the value lies in a region."""
        low = math.nextafter(region.low, math.inf) if region.low_open else region.low
        high = math.nextafter(region.high, -math.inf) if region.high_open else region.high
        return min(
            self.p_below(low) if math.isfinite(low) else 1.0,
            self.p_above(high) if math.isfinite(high) else 1.0,
        )

    def inner(self, region: Region) -> Region:
        """Return a region on the scale of the statistics."""
        ends = sorted((_inner(region.low, self.scale), _inner(region.high, self.scale)))
        return Region(ends[0], ends[1])

    def shown(self, value: float) -> float:
        """Return a value of the scale of the statistics as the claim is written."""
        return _shown(value, self.scale)


def locate(quantity: Quantity, statistic: BlockStatistic, source: CampaignSamples) -> CellLocation:
    """Locate a cell.

    Raises:
        NoIntervalError: The campaign's data say nothing about it.
    """
    of_its_own = {
        "success": _success,
        "violation": _violation,
        "correlation": _correlation,
        "variation": _variation,
    }
    if statistic in of_its_own:
        return of_its_own[statistic](quantity, source)
    scale = _scale(quantity)
    inner = _without_gain(quantity)
    bounds = block_values.of_quantity(inner, source)
    lows, highs = (_on_scale(bounds, end, scale) for end in (0, 1))
    _require_values(lows)
    if all(bound == block_values.UNKNOWN for bound in bounds.values()):
        raise NoIntervalError(
            "no block has a known value: trials timed out or have no valid attempt, or values are"
            " zero"
        )
    known = np.array_equal(lows, highs)
    if statistic == "mean" and not known:
        raise NoIntervalError("trials timed out, so their mean is unknown; use the median")
    if statistic == "mean" and np.any(np.abs(lows) >= FAR):
        raise NoIntervalError("a value is zero, so a mean of ratios does not exist")
    location_of_lows = _location(quantity, statistic, lows)
    other = location_of_lows if known else _location(quantity, statistic, highs)
    constant = _varies(quantity) and lows.size > 1 and bool(np.ptp(lows) == 0)
    nearest = np.where(np.abs(lows) < _far(scale), lows, highs)
    is_near = np.abs(nearest) < _far(scale)
    return CellLocation(
        location_of_lows,
        other,
        scale,
        is_constant=constant,
        values=nearest[is_near],
        blocks=tuple(compress(sorted(bounds), is_near)),
        of_medians=_of_medians(inner, statistic, source, scale, nearest[is_near]),
        apart=block_values.apart(inner, source, logarithmic=scale != "plain"),
    )


def _variation(quantity: Quantity, source: CampaignSamples) -> CellLocation:
    pseudo = block_values.pseudo_values(quantity, source)
    values = np.array([*pseudo.values()])
    _require_values(values)
    mean = location.mean(values)
    return CellLocation(
        mean,
        mean,
        _relative(_scale(quantity)),
        values=values,
        blocks=(*pseudo,),
        of_medians=float(values.mean()),
    )


def from_values(cell: CellLocation, values: Floats, statistic: BlockStatistic) -> CellLocation:
    """Return a cell as other values of its blocks would locate it."""
    is_mean = statistic in {"mean", "variation"}
    place: Location = location.mean(values) if is_mean else location.centre(values)
    middle = float(values.mean() if is_mean else np.median(values))
    numbers = tuple(range(1, values.size + 1))
    return replace(cell, lows=place, highs=place, values=values, blocks=numbers, of_medians=middle)


def _of_medians(
    quantity: Quantity,
    statistic: BlockStatistic,
    source: CampaignSamples,
    scale: Scale,
    values: Floats,
) -> float:
    """Return what the medians of all blocks give; if that is unknown, the median of the values."""
    if not values.size:
        return math.nan
    if statistic == "mean":
        return float(values.mean())
    bounds = block_values.of_medians(quantity, source)
    low, high = (math.nan, math.nan) if bounds is None else (_inner(end, scale) for end in bounds)
    return low if math.isfinite(low) and math.isclose(low, high) else float(np.median(values))


def ideal(quantity: Quantity, statistic: BlockStatistic, value: float, n: int) -> CellLocation:
    """Locate a cell of an ideal campaign, in which all of ``n`` blocks have this value.

    Of trials that complete or fail, all complete, or with a value below one half none. Of two
    distributions one lies below the other.
    """
    if statistic == "success":
        share = location.SuccessShare(n * (value > HALF), n)
        return CellLocation(share, share, "plain")
    if statistic == "violation":
        ends = np.zeros(n), np.ones(n)
        order = OrderViolation(*(reversed(ends) if value > HALF else ends))
        return CellLocation(order, order, "plain")
    scale = _scale(quantity) if statistic != "variation" else _relative(_scale(quantity))
    if statistic == "correlation":
        scale, value = "fisher", float(np.clip(value, -NEARLY_1, NEARLY_1))
    values = np.full(n, np.clip(_inner(value, scale), -FAR, FAR))
    if statistic in {"mean", "variation", "correlation"}:
        values += (1 + abs(values)) * 1e-6 * np.resize([-1.0, 1.0], n)  # no spread, no interval
        place: Location = location.mean(values)
    else:
        place = _location(quantity, statistic, values)
    return CellLocation(place, place, scale)


def _far(scale: Scale) -> float:
    """Return the value beyond which all stand for infinity."""
    return LARGEST / 1e10 if scale == "plain" else FAR / 10


def _varies(quantity: Quantity) -> bool:
    """Whether equal values in all blocks are unusual: not of counts and ranks."""
    if isinstance(quantity, TrendValue | FlipValue):
        return False
    return all(METRICS[leaf.metric].form != "count" for leaf in leaves(quantity))


def _location(quantity: Quantity, statistic: BlockStatistic, values: Floats) -> Location:
    if statistic == "mean":
        return location.mean(values)
    if isinstance(quantity, MetricValue):
        return location.median(values)
    return location.centre(values)


def _success(quantity: Quantity, source: CampaignSamples) -> CellLocation:
    tallies = [
        source.sample(leaf, treatment).tally
        for leaf in leaves(quantity)
        for treatment in leaf.treatments
    ]
    trials = sum(tally.ended for tally in tallies)
    if not trials:
        raise NoIntervalError("no trial has ended yet")
    share = location.SuccessShare(sum(tally.completed for tally in tallies), trials)
    return CellLocation(share, share, "plain")


def _violation(quantity: Quantity, source: CampaignSamples) -> CellLocation:
    """Locate the violation of the order that the first treatment of a contrast is better."""
    if not isinstance(quantity, ContrastValue):
        raise NoIntervalError("a violation needs two treatments")
    sides = [block_values.of_quantity(side, source) for side in (quantity.of, quantity.to)]
    shared = sorted(set.intersection(*map(set, sides)))
    if not shared:
        raise NoIntervalError(NO_VALUES)
    ends = [np.array([bounds[block] for block in shared]) for bounds in sides]
    if not quantity.lower_is_better:
        ends = [-end[:, ::-1] for end in ends]
    (of_low, of_high), (to_low, to_high) = (end.T for end in ends)
    highs = OrderViolation(of_high, to_low)
    known = np.array_equal(of_low, of_high) and np.array_equal(to_low, to_high)
    lows = highs if known else OrderViolation(of_low, to_high)
    constant = len(shared) > 1 and any(np.ptp(side) == 0 for side in (of_low, to_low))
    return CellLocation(lows, highs, "plain", is_constant=constant)


def _correlation(quantity: Quantity, source: CampaignSamples) -> CellLocation:
    """Locate the correlation of the centres of a trend's points."""
    if not isinstance(quantity, TrendValue):
        raise NoIntervalError("a correlation needs a trend")
    sides = [quantity.points, quantity.against or ()]
    bounds = [[block_values.of_quantity(point, source) for point in points] for points in sides]
    shared = sorted(set.intersection(*(set(point) for points in bounds for point in points)))
    points, against = (
        np.array([_known(*point, shared) for point in zip(side, of_side, strict=True)]).T
        for side, of_side in zip(sides, bounds, strict=True)
    )
    if quantity.against is None:
        against = np.tile(np.arange(len(quantity.points), dtype=float), (len(shared), 1))
    if not shared:
        raise NoIntervalError(NO_VALUES)
    mean = location.mean(shape_statistics.pseudo_values(points, against))
    return CellLocation(mean, mean, "fisher")


def _known(quantity: Quantity, bounds: BlockBounds, shared: Sequence[int]) -> Floats:
    """Return a point's values by block, as logarithms where they are positive."""
    ends = np.array([bounds[block] for block in shared]).reshape(-1, 2)
    if not np.array_equal(ends[:, 0], ends[:, 1]):
        raise NoIntervalError("trials timed out, so the centres of their values are unknown")
    if not _is_positive(quantity):
        return ends[:, 0]
    if np.any(ends[:, 0] <= 0):
        raise NoIntervalError("a value is zero, so a correlation of logarithms does not exist")
    return np.asarray(np.log(ends[:, 0]), dtype=float)


def _require_values(values: Floats) -> None:
    if not values.size:
        raise NoIntervalError(NO_VALUES)


def _scale(quantity: Quantity) -> Scale:
    match quantity:
        case ContrastValue(by="ratio", of=of, to=to) if _is_positive(of) and _is_positive(to):
            return "logarithm"
        case ContrastValue(by="gain", of=of, to=to) if _is_positive(of) and _is_positive(to):
            return "reduction" if quantity.lower_is_better else "increase"
    return "plain"


def _is_positive(quantity: Quantity) -> bool:
    match quantity:
        case ContrastValue(by=by, of=of, to=to):
            return by == "ratio" and _is_positive(of) and _is_positive(to)
        case TrendValue() | KneeValue():
            return False
    return True


def _relative(scale: Scale) -> Scale:
    """Return the scale of a variation, which is a logarithm even without a contrast."""
    return "logarithm" if scale == "plain" else scale


def _without_gain(quantity: Quantity) -> Quantity:
    """Return the ratio behind an outermost gain."""
    if isinstance(quantity, ContrastValue) and _scale(quantity) in {"reduction", "increase"}:
        return ContrastValue("ratio", quantity.of, quantity.to)
    return quantity


def _on_scale(bounds: BlockBounds, end: int, scale: Scale) -> Floats:
    values = np.array([bounds[block][end] for block in sorted(bounds)], dtype=float)
    if scale != "plain":
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(values > 0, np.log(np.maximum(values, 0)), -np.inf)
        return np.asarray(np.clip(values, -FAR, FAR), dtype=float)
    return np.asarray(np.nan_to_num(values, posinf=LARGEST, neginf=-LARGEST), dtype=float)


def _shown(value: float, scale: Scale) -> float:
    if scale == "plain":
        return math.copysign(math.inf, value) if abs(value) > LARGEST / 1e10 else value
    if scale == "fisher":
        return math.tanh(value)
    ratio = math.inf if value > FAR / 10 else math.exp(max(value, -700.0))
    ratio = 0.0 if value < -FAR / 10 else ratio
    return {"logarithm": ratio, "reduction": 1 - ratio, "increase": ratio - 1}[scale]


def _inner(value: float, scale: Scale) -> float:
    if scale == "plain":
        return value
    if scale == "fisher":
        return math.atanh(value) if abs(value) < 1 else math.copysign(math.inf, value)
    ratio = {"logarithm": value, "reduction": 1 - value, "increase": value + 1}[scale]
    return math.log(ratio) if ratio > 0 else -math.inf
