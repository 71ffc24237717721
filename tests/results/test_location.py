"""Intervals against scipy's tests, and against a published example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from httpbed.results import location
from httpbed.results.location import NoIntervalError, SuccessShare

VALUES = st.lists(st.integers(-1000, 1000), min_size=3, max_size=14, unique=True)
BEFORE = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
AFTER = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
"""Hamilton depression scale of nine patients (Hollander and Wolfe 1999, table 3.1)."""


def test_the_pseudo_median_of_a_published_example() -> None:
    """Hollander and Wolfe 1999, examples 3.3 and 3.4: -0.460, 96.1 % interval -0.786 .. -0.010."""
    found = location.pseudo_median(AFTER - BEFORE)
    side = (1 - 0.961) / 2 + 1e-4
    assert found.value == pytest.approx(-0.460)
    assert (found.low(side), found.high(side)) == pytest.approx((-0.786, -0.010))


@given(VALUES, st.integers(-1000, 1000))
def test_signed_ranks_agree_with_scipy(values: list[int], c: int) -> None:
    """``scipy.stats.wilcoxon``, where no pair of values lies exactly opposite to another."""
    numbers = np.array(values) + np.linspace(0.01, 0.1, len(values)) ** 2
    found = location.pseudo_median(numbers)
    greater = stats.wilcoxon(numbers - c, alternative="greater", method="exact")
    less = stats.wilcoxon(numbers - c, alternative="less", method="exact")
    expected = (float(greater.pvalue), float(less.pvalue))
    assert (found.p_above(c), found.p_below(c)) == pytest.approx(expected)


@given(VALUES, VALUES)
def test_rank_sums_agree_with_scipy(values: list[int], base: list[int]) -> None:
    """``scipy.stats.mannwhitneyu``."""
    numbers = np.array(values) + 0.5
    found = location.shift(numbers, np.array(base))
    greater = stats.mannwhitneyu(numbers, np.array(base), alternative="greater", method="exact")
    less = stats.mannwhitneyu(numbers, np.array(base), alternative="less", method="exact")
    expected = (float(greater.pvalue), float(less.pvalue))
    assert (found.p_above(0), found.p_below(0)) == pytest.approx(expected)


@given(VALUES, st.sampled_from([0.025, 0.05, 0.1]))
def test_an_interval_contains_what_its_tests_do_not_reject(values: list[int], side: float) -> None:
    """The ends are the last values that the tests accept."""
    for found in (location.median(np.array(values)), location.pseudo_median(np.array(values))):
        if found.least_p > side:
            continue
        low, high = found.low(side), found.high(side)
        assert found.p_above(low - 1e-6) <= side < found.p_above(low)
        assert found.p_below(high + 1e-6) <= side < found.p_below(high)


def test_too_few_values_have_no_bound() -> None:
    """The smallest of four values lies above the median in one case of 16."""
    found = location.median(np.arange(4.0))
    assert (found.low(0.05), found.high(0.05)) == (-np.inf, np.inf)
    assert found.low(1 / 16) == 0.0


def test_many_blocks_use_the_normal_approximation() -> None:
    """At the change-over both distributions agree to 0.001."""
    for n in (location.EXACT_SIGNED, location.EXACT_SIGNED + 1):
        total = n * (n + 1) // 2
        numbers = np.linspace(-1.0, 1.3, n)
        expected = stats.wilcoxon(numbers, alternative="greater", method="exact").pvalue
        assert location.pseudo_median(numbers).p_above(0.0) == pytest.approx(expected, abs=1e-3)
        assert location.signed_ranks(n).cdf(total) == pytest.approx(1.0)


def test_means_and_shares_are_scipys() -> None:
    """Student's t and Clopper and Pearson's interval."""
    numbers = np.array([1.0, 2.0, 4.0, 7.0])
    expected = stats.ttest_1samp(numbers, 0.0).confidence_interval(0.95)
    found = location.mean(numbers)
    assert (found.low(0.025), found.high(0.025)) == pytest.approx((expected.low, expected.high))
    share = SuccessShare(9, 10)  # Clopper and Pearson: 55.5 .. 99.7 %
    assert (share.low(0.025), share.high(0.025)) == pytest.approx((0.555, 0.9975), abs=1e-3)


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0, 2.0]])
def test_a_mean_without_spread_has_no_interval(values: list[float]) -> None:
    """One value, or equal values, say nothing about the error of a mean."""
    with pytest.raises(NoIntervalError):
        location.mean(np.array(values))
