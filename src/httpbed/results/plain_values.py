"""Estimates, ratios and tallies as plain values for JSON, unrounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from httpbed.results.comparison import Ratio
from httpbed.results.estimate import Estimate, Interval
from httpbed.results.sample import Bounded, Tally


def of_estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    """Return an estimate for :func:`json.dumps`; censored figures carry ``beyond``."""
    if estimate is None:
        return None
    return {
        "n": estimate.n,
        "median": of_bounded(estimate.median),
        "interval": _of_interval(estimate.interval),
        "mean": estimate.mean,
        "standard_deviation": estimate.deviation,
        "left_out_of_mean": estimate.left_out,
    }


def of_ratio(ratio: Ratio | None) -> dict[str, Any] | None:
    """Return a ratio."""
    if ratio is None:
        return None
    return {
        "n": ratio.n,
        "pseudo_median": of_bounded(ratio.value),
        "of_medians": of_bounded(ratio.of_medians),
        "interval": _of_interval(ratio.interval),
        "blocks_below_1": ratio.below,
        "blocks_above_1": ratio.above,
        "undefined": ratio.undefined,
        "judgement": ratio.judgement,
        "blocks_to_settle": ratio.blocks_to_settle,
        "differences": ratio.differences and asdict(ratio.differences),
    }


def _of_interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    ends = {"low": of_bounded(interval.low), "high": of_bounded(interval.high)}
    return {**ends, "coverage": interval.coverage}


def of_bounded(found: Bounded | None) -> dict[str, Any] | None:
    """Return a number that may be a bound."""
    return None if found is None else asdict(found)


def of_tally(tally: Tally) -> Mapping[str, Any]:
    """Return how trials ended."""
    reasons = [
        {"outcome": outcome, "reason": reason, "count": count}
        for (outcome, reason), count in tally.reasons.items()
    ]
    return {"planned": tally.planned, "outcomes": dict(tally.outcomes), "reasons": reasons}
