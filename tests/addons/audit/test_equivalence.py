"""The verdict on whether a ratio is 1 within 2 %."""

from __future__ import annotations

import math

import numpy as np
import pytest

from httpbed.addons.audit.judgement import ERROR, judged
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
        (1.1, 0.005, "disturbed"),
        (0.9, 0.005, "disturbed"),
        (0.9, 0.2, "open"),
    ],
)
def test_the_interval_gives_the_verdict(ratio: float, noise: float, verdict: str) -> None:
    """Same inside the margin, different outside, and open where noise hides it."""
    middle, low, high, found = judged(ratios(ratio, noise), ERROR)
    assert found == verdict
    assert low <= middle <= high


def test_pairs_without_any_difference_are_the_same() -> None:
    """Virtual time may give the very same number."""
    assert judged(np.ones(10), ERROR) == (1.0, 1.0, 1.0, "same")


@pytest.mark.parametrize("pairs", [0, 1, 4])
def test_too_few_pairs_settle_nothing(pairs: int) -> None:
    """Four pairs of one direction come by chance in one case of sixteen."""
    assert judged(np.full(pairs, 2.0), ERROR)[1:] == (0.0, math.inf, "open")


def test_a_smaller_error_calls_fewer_ratios_different() -> None:
    """Ten pairs give no p-value below 0.001."""
    clear = ratios(1.1, 0.005)
    assert judged(clear, ERROR)[3] == "disturbed"
    assert judged(clear, 0.001)[3] == "open"
