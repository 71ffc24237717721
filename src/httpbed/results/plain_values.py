"""Estimates, ratios and tallies as plain values for JSON, unrounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from httpbed.results.comparison import Ratio
from httpbed.results.estimate import Estimate, Interval
from httpbed.results.sample import Bounded, Tally


def of_estimate(found: Estimate | None) -> dict[str, Any] | None:
    """Return an estimate for :func:`json.dumps`; censored figures carry ``beyond``."""
    if found is None:
        return None
    return {
        "n": found.n,
        "median": of_bounded(found.median),
        "interval": _of_interval(found.interval),
        "mean": found.mean,
        "standard_deviation": found.deviation,
        "left_out_of_mean": found.left_out,
    }


def of_ratio(found: Ratio | None) -> dict[str, Any] | None:
    """Return a ratio."""
    if found is None:
        return None
    return {
        "n": found.n,
        "pseudo_median": of_bounded(found.value),
        "of_medians": of_bounded(found.of_medians),
        "interval": _of_interval(found.interval),
        "blocks_below_1": found.below,
        "blocks_above_1": found.above,
        "undefined": found.undefined,
        "judgement": found.judgement,
        "blocks_to_settle": found.blocks_to_settle,
        "differences": found.differences and asdict(found.differences),
    }


def _of_interval(found: Interval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    ends = {"low": of_bounded(found.low), "high": of_bounded(found.high)}
    return {**ends, "coverage": found.coverage}


def of_bounded(found: Bounded | None) -> dict[str, Any] | None:
    """Return a number that may be a bound."""
    return None if found is None else asdict(found)


def of_tally(found: Tally) -> Mapping[str, Any]:
    """Return how trials ended."""
    reasons = [
        {"outcome": outcome, "reason": reason, "count": count}
        for (outcome, reason), count in found.reasons.items()
    ]
    return {"planned": found.planned, "outcomes": dict(found.outcomes), "reasons": reasons}
