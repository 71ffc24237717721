"""Two campaigns compared: what changed is found, and chance alone is rarely called a change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from httpbed.addons.compare import campaign_comparison
from httpbed.addons.compare.campaign_comparison import TreatmentDifference
from httpbed.results.sample import Sample, Tally

BLOCKS = range(1, 9)
REPEATS = 400
SEED = 20261122


def sample(
    values: Mapping[int, float], censored: Mapping[int, float] | None = None, failed: int = 0
) -> Sample:
    """Return a sample of request times by block."""
    late = dict(censored or {})
    outcomes = Counter({"completed": len(values), "timed out": len(late), "failed": failed})
    tally = Tally(outcomes.total(), outcomes)
    return Sample("request_time", {"http_version": "3"}, values, late, ">", tally)


def compared(old: Sample, new: Sample, *, paired: bool = True) -> TreatmentDifference:
    """Compare two samples, whose blocks have the same trials or none."""
    (found,) = campaign_comparison.of_samples([(old, new)], [[*BLOCKS] if paired else []])
    return found


def test_pairs_find_what_the_spread_of_blocks_hides() -> None:
    """Losses differ from block to block by far more than the versions differ."""
    old = {block: 1.0 + block for block in BLOCKS}
    new = {block: value * (0.95 + block / 1000) for block, value in old.items()}
    paired = compared(sample(old), sample(new))
    assert (paired.change, paired.pairs) == ("lower", 8)
    assert 0.95 < paired.low < paired.ratio < paired.high < 0.96
    unpaired = compared(sample(old), sample(new), paired=False)
    assert (unpaired.change, unpaired.pairs, unpaired.blocks) == ("open", 0, (8, 8))
    assert unpaired.low < 0.95
    assert unpaired.high > 1


@pytest.mark.parametrize("sign", [-1, 1])
def test_what_certainly_differs_by_less_than_a_percent_is_equal(sign: int) -> None:
    """As in a report, whether or not all blocks differ to one side."""
    old = dict.fromkeys(BLOCKS, 1.0)
    new = {block: 1.0 + sign**block / 1000 for block in BLOCKS}
    assert compared(sample(old), sample(new)).change == "equal"


def test_what_timed_out_in_both_is_open() -> None:
    """By pairs there is no ratio, by ranks it may be anything."""
    old, new = (sample({}, dict.fromkeys(BLOCKS, 60.0)) for _ in range(2))
    found = compared(old, new, paired=False)
    assert (found.change, found.low, found.high) == ("open", 0, math.inf)
    assert math.isnan(compared(old, new).ratio)


def test_bounds_of_both_kinds_leave_a_treatment_open() -> None:
    """In some blocks the old trial timed out, in others the new one."""
    odd, even = [block for block in BLOCKS if block % 2], [b for b in BLOCKS if not b % 2]
    old = sample(dict.fromkeys(odd, 1.0), dict.fromkeys(even, 60.0))
    new = sample(dict.fromkeys(even, 61.0), dict.fromkeys(odd, 60.0))
    found = compared(old, new)
    assert (found.change, found.low, found.high) == ("open", 0, math.inf)


def test_one_bound_of_ten_leaves_an_end() -> None:
    """What stands for no end is far from the others, so that no average of pairs contains it."""
    ten = range(1, 11)
    old = sample({block: 1.0 for block in ten if block != 1}, {1: 60.0})
    new = sample({block: 58.0 if block == 1 else 1 + block / 10 for block in ten})
    (found,) = campaign_comparison.of_samples([(old, new)], [[*ten]])
    assert found.low == pytest.approx(1.2)
    assert 1.5 < found.high < 2.0


def test_trials_that_timed_out_leave_an_end_open() -> None:
    """The ratio may be of any size, but it is above 1."""
    old = {block: 1.0 + block / 100 for block in BLOCKS}
    found = compared(sample(old), sample({}, dict.fromkeys(BLOCKS, 9.0)))
    assert found.change == "higher"
    assert found.low > 8
    assert found.high == math.inf
    assert found.completes == "less often"


def test_a_zero_gives_no_ratio_and_completion_is_compared_all_the_same() -> None:
    """There is no logarithm of zero."""
    old = dict.fromkeys(BLOCKS, 1.0)
    found = compared(sample(old), sample({1: 0.0}, failed=7))
    assert math.isnan(found.ratio)
    assert (found.change, found.completes) == ("open", "less often")


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
def test_campaigns_that_do_not_differ_rarely_show_a_change(*, paired: bool) -> None:
    """Of campaigns of twelve equal treatments, one in twenty at most reports any change."""
    chance = np.random.default_rng(SEED)
    alarms = 0
    for _ in range(REPEATS):
        both = [
            tuple(
                sample(dict(zip(BLOCKS, chance.lognormal(0, 0.3, len(BLOCKS)), strict=True)))
                for _ in range(2)
            )
            for _ in range(12)
        ]
        pairs = [(one, other) for one, other in both]
        found = campaign_comparison.of_samples(pairs, [[*BLOCKS] if paired else []] * 12)
        alarms += any(difference.change in {"lower", "higher"} for difference in found)
    assert alarms / REPEATS < 0.07  # 5 % and two standard errors
