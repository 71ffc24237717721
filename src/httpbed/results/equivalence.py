"""Equivalence: whether the ratio of paired values lies within 2 % of 1.

The estimate is the pseudo-median of the pairs' ratios, as in :mod:`~httpbed.results.comparison`.
The verdict follows from its intervals:

same        the 90 % interval lies within the margin: two one-sided tests at 5 % (Schuirmann 1987)
different   the interval lies outside the margin, at the confidence that the caller asks for
open        neither
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from httpbed.results import location
from httpbed.results.sample import Floats

Verdict = Literal["same", "different", "open"]

MARGIN = 0.02
ERROR = 0.05
"""Probability of a wrong ``same``."""


@dataclass(frozen=True)
class Equivalence:
    """The ratio of paired values, and whether it is 1 within the margin."""

    n: int
    """Number of pairs."""
    ratio: float
    """Pseudo-median of the pairs' ratios; nan without a pair."""
    low: float
    high: float
    """The 90 % interval of the ratio; open (0, inf) if there are too few pairs."""
    verdict: Verdict


def of_logs(logs: Floats, different_error: float = ERROR) -> Equivalence:
    """Judge the logarithms of pairs' ratios.

    ``different_error`` is the probability of a wrong ``different``.
    """
    if not logs.size:
        return Equivalence(0, math.nan, 0.0, math.inf, "open")
    found = location.centre(logs)
    return Equivalence(
        n=int(logs.size),
        ratio=math.exp(found.value),
        low=math.exp(found.low(ERROR)),
        high=math.exp(found.high(ERROR)),
        verdict=_verdict(found, different_error / 2),
    )


def _verdict(found: location.Location, side: float) -> Verdict:
    near = math.log1p(MARGIN)
    if -near <= found.low(ERROR) and found.high(ERROR) <= near:
        return "same"
    return "different" if found.low(side) > near or found.high(side) < -near else "open"
