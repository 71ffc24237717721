"""Paired ratios against known answers, and against chance.

The verdict on whether a ratio is 1 within 2 %.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from httpbed.experiment.metric import Side
from httpbed.results import log_ratio
from httpbed.results.comparison import (
    EQUAL_MARGIN,
    Ratio,
    compare,
    judge,
)
from httpbed.results.log_ratio import Equivalence, LogRatio, equivalence
from httpbed.results.sample import Bounded, Floats, Sample, Tally


def sample(
    observed: dict[int, float], censored: dict[int, float] | None = None, side: Side = ">"
) -> Sample:
    return Sample("request_time", {}, observed, censored or {}, side, Tally(9))


def by_block(*values: float) -> Sample:
    return sample(dict(enumerate(values, start=1)))


def compared(one: Sample, base: Sample) -> Ratio:
    """Compare two samples that share a block."""
    found = compare(one, base)
    assert found is not None
    return found


@given(st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=20))
def test_equal_samples_have_ratio_one(values: list[float]) -> None:
    """A treatment against itself is neither faster nor slower."""
    found = compared(by_block(*values), by_block(*values))
    assert found.value == Bounded(1.0)
    assert found.judgement == ("equal" if len(values) >= 5 else "open")


def test_the_ratio_of_medians_ignores_the_pairing() -> None:
    """Ratios of 1/2, 2 and 1/8 average to 1/2 in the middle; the medians are 4 and 4."""
    found = compared(by_block(2, 4, 8), by_block(4, 2, 64))
    assert found.value.value == pytest.approx(1 / 2)
    assert found.of_medians.value == pytest.approx(1)


def test_the_ratio_of_medians_is_a_bound_if_a_median_is_one() -> None:
    """Two of three loads timed out after 10 s."""
    found = compared(sample({1: 2.0}, {2: 10.0, 3: 10.0}), by_block(1, 2, 3))
    assert found.of_medians == Bounded(5.0, ">")


def test_ratios_are_paired_by_block() -> None:
    """Blocks differ tenfold, ratios within blocks do not."""
    base = by_block(1, 10, 2, 20, 3)
    found = compared(by_block(0.8, 8, 1.6, 16, 2.4), base)
    assert found.value.value == pytest.approx(0.8)
    assert (found.n, found.below, found.judgement) == (5, 5, "less")


def test_only_shared_blocks_count() -> None:
    """A block in which one of the two is missing has no ratio."""
    assert compared(sample({1: 2.0, 2: 3.0}), sample({2: 1.0, 3: 1.0})).n == 1
    assert compare(sample({1: 2.0}), sample({2: 1.0})) is None


def test_a_timed_out_trial_makes_a_large_ratio() -> None:
    """The block's ratio is at least the limit over the base's time, and the median is known."""
    base = by_block(1, 1, 1, 1, 1)
    found = compared(sample({1: 2.0, 2: 2.1, 3: 2.2, 4: 2.3}, {5: 600.0}), base)
    assert found.value == Bounded(2.2)
    assert found.interval is not None
    assert found.interval.high.beyond == ">"
    assert found.judgement == "more"


def test_mostly_timed_out_is_a_bound() -> None:
    """Four of five timed out: the ratio lies beyond the limit's."""
    found = compared(sample({1: 2.0}, dict.fromkeys((2, 3, 4, 5), 600.0)), by_block(*[2] * 5))
    assert found.value.value == pytest.approx(300.0)
    assert found.value.beyond == ">"


def test_a_timed_out_base_bounds_from_above() -> None:
    """The base needed longer than the limit: the ratio is below."""
    base = sample({}, dict.fromkeys(range(1, 6), 600.0))
    found = compared(by_block(6, 6, 6, 6, 6), base)
    assert found.value.value == pytest.approx(0.01)
    assert found.value.beyond == "<"
    assert found.judgement == "less"


def test_an_end_between_bounds_of_both_kinds_is_open() -> None:
    """In some blocks one treatment timed out, in others its base: neither is certain to be more."""
    fine = dict.fromkeys(range(1, 4), 1.2)
    one = sample(fine, {4: 1.2, 5: 1.2, 6: 1.2})
    base = sample({4: 1.0, 5: 1.0, 6: 1.0}, {1: 1.0, 2: 1.0, 3: 1.0})
    found = compared(one, base)
    assert found.interval is not None
    assert (found.interval.low.beyond, found.interval.high.beyond) == ("<", ">")
    assert (found.value.beyond, found.of_medians.beyond) == ("?", "?")
    assert found.judgement == "open"


def test_two_timed_out_trials_have_no_ratio() -> None:
    """Both values lie beyond the limit, so the ratio has no bound in either direction."""
    found = compared(sample({1: 1.0}, {2: 600.0}), sample({1: 1.0}, {2: 600.0}))
    assert (found.n, found.undefined) == (1, 1)


def test_a_base_of_zero_has_no_ratio() -> None:
    """Shares may be zero, and nothing is divided by zero."""
    assert compare(by_block(0.1), by_block(0.0)) is None


def test_four_blocks_settle_nothing() -> None:
    """Four blocks may all agree by chance, with a probability of one in eight.

    Their spread forecasts nothing either.
    """
    found = compared(by_block(1, 1, 1, 1), by_block(5, 5.1, 5.2, 5.3))
    assert (found.judgement, found.blocks_to_settle) == ("open", None)


def test_judgements_at_the_margin() -> None:
    """The judgement follows from both ends of the interval."""
    assert judge(between(0.8, 0.9), 6) == "less"
    assert judge(between(1.1, 1.2), 6) == "more"
    assert judge(between(0.9, 1.2), 6) == "open"
    assert judge(between(1 - 0.99 * EQUAL_MARGIN, 1 + 0.99 * EQUAL_MARGIN), 6) == "equal"
    assert judge(between(0.995, 1.005, censored=True), 6) == "open"
    assert judge(between(0.8, 0.9, censored=True), 6) == "open"


def between(low: float, high: float, *, censored: bool = False) -> LogRatio:
    """Return the ratio of six pairs, whose interval has these ends; censored values may be far."""
    found = log_ratio.of_ratios(np.geomspace(low, high, 6))
    far = log_ratio.of_ratios(np.full(6, 1e6))
    return found._replace(highest=far.highest) if censored else found


@pytest.mark.parametrize(("n", "nominal"), [(5, 0.0625), (6, 0.03125), (10, 0.05), (20, 0.05)])
def test_false_alarms_keep_the_nominal_rate(n: int, nominal: float) -> None:
    """Of 2,000 comparisons of two equal treatments at most the nominal share finds a difference.

    The trials' spread is that of the logarithms, and times of transfers with losses are skewed. The
    bound holds in 999 of 1,000 such simulations.
    """
    generator, trials = np.random.default_rng(n), 2_000
    alarms = 0
    for _ in range(trials):
        one, other = np.exp(generator.gamma(2, 0.3, (2, n)))
        alarms += judge(log_ratio.of_ratios(one / other), n) in {"less", "more"}
    assert alarms <= stats.binom.ppf(0.999, trials, nominal)


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
