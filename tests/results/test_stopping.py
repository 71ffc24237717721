"""When a treatment has enough blocks, and what stopping at a narrow interval costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from httpbed.experiment import experiment
from httpbed.experiment.experiment import Replicates
from httpbed.results import estimate, log_ratio
from httpbed.results.comparison import ratio_interval
from httpbed.results.estimate import median_interval
from httpbed.results.sample import Floats, Sample, Tally

RULE = Replicates(min=6, max=30, until="ci 5 %")
SEED = 20261122
REPEATS = 250


def sample(values: Sequence[float], late: Sequence[float] = ()) -> Sample:
    """Return a sample of request times, and of trials that timed out."""
    observed = dict(enumerate(values, start=1))
    censored = dict(enumerate(late, start=len(values) + 1))
    outcomes = Counter({"completed": len(values), "timed out": len(late)})
    tally = Tally(outcomes.total(), outcomes)
    return Sample("request_time", {}, observed, censored, ">", tally)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1.0, 1.01, 1.02, 0.99], False),  # five blocks cover less than 95 %
        ([1.0, 1.0, 1.01, 1.02, 0.99, 1.0], True),
        ([1.0, 1.0, 1.01, 1.12, 0.99, 1.0], False),
        ([], False),
    ],
)
def test_a_treatment_stops_at_a_narrow_interval(values: list[float], *, expected: bool) -> None:
    """Of 95 %, and no wider on either side than the share, on average."""
    assert estimate.is_settled(sample(values), RULE) is expected


def test_the_fewest_blocks_run_in_any_case() -> None:
    """However narrow the interval is."""
    rule = Replicates(min=8, max=30, until="ci 5 %")
    assert not estimate.is_settled(sample([1.0] * 7), rule)
    assert estimate.is_settled(sample([1.0] * 8), rule)


def test_an_end_that_a_time_out_leaves_open_does_not_stop() -> None:
    """The interval has no width then."""
    assert not estimate.is_settled(sample([1.0] * 6, [1.01] * 4), RULE)


@pytest.mark.parametrize("text", ["5 %", "ci", "ci 5", "ci 0 %", "ci 100 %", "sd 5 %"])
def test_a_width_that_is_none_is_a_mistake(text: str) -> None:
    """With the accepted form or the accepted range."""
    with pytest.raises(ValueError, match=r"ci 5 %|%"):
        experiment.parse_width(text)


def stops_at(values: Floats) -> int:
    """Return after how many blocks a treatment stops."""
    return next(
        (n for n in range(RULE.min, RULE.max) if estimate.is_settled(sample([*values[:n]]), RULE)),
        RULE.max,
    )


@pytest.mark.parametrize("deviation", [0.05, pytest.param(0.1, marks=pytest.mark.slow)])
def test_stopping_costs_the_coverage_of_intervals_and_not_that_of_comparisons(
    deviation: float,
) -> None:
    """Two equal treatments stop on their own; at a fixed number of blocks both rates are 5 %."""
    chance = np.random.default_rng(SEED)
    missed = differ = 0
    for _ in range(REPEATS):
        one, other = np.exp(chance.normal(0, deviation, (2, RULE.max)))
        n, m = stops_at(one), stops_at(other)
        interval = median_interval(one[:n])
        assert interval
        missed += not interval.low.value <= 1 <= interval.high.value
        shared = min(n, m)
        ratio = ratio_interval(log_ratio.of_ratios(one[:shared] / other[:shared]))
        assert ratio
        differ += not ratio.low.value <= 1 <= ratio.high.value
    tolerance = 2 * (0.07 * 0.93 / REPEATS) ** 0.5  # two standard errors
    assert missed / REPEATS < estimate.MISSED + tolerance
    assert differ / REPEATS < 0.05 + tolerance
