"""The verdict on whether a ratio is 1 within 2 %."""

from __future__ import annotations

import math

import numpy as np
import pytest

from httpbed.results.log_ratio import Equivalence, equivalence
from httpbed.results.sample import Floats


def ratios(ratio: float, noise: float, pairs: int = 10) -> Floats:
    """Return ratios around one, with normal noise of this deviation of their logarithms."""
    return ratio * np.exp(noise * np.random.default_rng(1).standard_normal(pairs))


@pytest.mark.parametrize(
    ("ratio", "noise", "verdict"),
    [
        (1.0, 0.005, "same"),
        (1.0, 0.2, "open"),
        (1.02, 0.005, "open"),
        (1.1, 0.005, "different"),
        (0.9, 0.005, "different"),
        (0.9, 0.2, "open"),
    ],
)
def test_the_interval_gives_the_verdict(ratio: float, noise: float, verdict: str) -> None:
    """Same inside the margin, different outside, and open where noise hides it."""
    found = equivalence(ratios(ratio, noise))
    assert found.verdict == verdict
    assert found.low <= found.ratio <= found.high


def test_pairs_without_any_difference_are_the_same() -> None:
    """Virtual time may give the very same number."""
    assert equivalence(np.ones(10)) == Equivalence(10, 1.0, 1.0, 1.0, "same")


@pytest.mark.parametrize("pairs", [0, 1, 4])
def test_too_few_pairs_settle_nothing(pairs: int) -> None:
    """Four pairs of one direction come by chance in one case of sixteen."""
    found = equivalence(np.full(pairs, 2.0))
    assert (found.low, found.high, found.verdict) == (0.0, math.inf, "open")


def test_a_smaller_error_calls_fewer_ratios_different() -> None:
    """Ten pairs give no p-value below 0.001."""
    clear = ratios(1.1, 0.005)
    assert equivalence(clear).verdict == "different"
    assert equivalence(clear, 0.001).verdict == "open"
