"""The violation of a stochastic order: what is planted is found, and wrong verdicts are rare."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy import stats

import campaigns
from campaigns import Ending
from httpbed.addons.claims import judging
from httpbed.addons.claims.claim_verdict import SIDE
from httpbed.addons.claims.judging import ArmJudgement
from httpbed.addons.claims.shape_statistics import OrderViolation
from httpbed.results.sample import Floats

RUNS = 1000
FALSE_ALARM = 1e-4
"""Probability that a simulation fails although the rates are as stated."""
EDGE = 0.2
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def equal(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Return two samples of one distribution."""
    return rng.lognormal(size=n), rng.lognormal(size=n)


def shifted(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Return samples whose order is violated by 0.2 at most values."""
    return rng.uniform(size=n), rng.uniform(size=n) - EDGE


def worst(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Return samples in which large differences are as frequent as a violation of 0.2 permits."""
    rest = rng.uniform(0, 1 - EDGE, n)
    return rng.uniform(size=n), np.where(rng.random(n) < EDGE, -1.0, rest)


def hidden(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Return samples whose order is violated by 0.2 at one value, and elsewhere holds clearly."""
    return np.zeros(n), np.where(rng.random(n) < EDGE, -1.0, 1.0)


def drifting(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Return samples whose order is violated by 0.2, with delays that a block's trials share."""
    drift = rng.standard_normal(n)
    apart = 2 * np.sqrt(2) * stats.norm.isf((1 - EDGE) / 2)
    return rng.standard_normal(n) + drift, rng.standard_normal(n) + drift - apart


def verdicts(draw: Draw, n: int) -> Mapping[str, float]:
    """Return how often a violation of at most 0.2 is reproduced and contradicted."""
    rng = np.random.default_rng(20261122)
    found = [OrderViolation(*draw(rng, n)) for _ in range(RUNS)]
    return {
        "reproduced": sum(violation.high(SIDE) <= EDGE for violation in found),
        "contradicted": sum(violation.low(SIDE) > EDGE for violation in found),
        "above none": sum(violation.low(SIDE) > 0 for violation in found),
    }


MOST = int(stats.binom.isf(FALSE_ALARM, RUNS, SIDE))


@pytest.mark.parametrize("n", [5, 20, 50])
def test_wrong_verdicts_are_as_rare_as_stated(n: int) -> None:
    """Equal distributions have no violation; at the edge neither verdict is right."""
    assert verdicts(equal, n)["above none"] <= MOST
    for draw in (shifted, worst, hidden, drifting):
        edge = verdicts(draw, n)
        assert edge["reproduced"] <= MOST, draw.__name__
        assert edge["contradicted"] <= MOST, draw.__name__


def test_true_orders_are_found() -> None:
    """Twenty blocks support an order without violation, six refute a reversed one."""

    def better(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        return rng.standard_normal(n), rng.standard_normal(n) + 1.5

    def reverse(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        return rng.uniform(2, 3, n), rng.uniform(0, 1, n)

    assert verdicts(better, 50)["reproduced"] > 0.95 * RUNS
    assert verdicts(reverse, 6)["contradicted"] == RUNS
    assert OrderViolation(np.zeros(20), np.ones(20)).high(SIDE) <= EDGE


@pytest.mark.parametrize("n", [5, 8, 30])
def test_without_violation_the_lower_end_is_smirnovs_test(n: int) -> None:
    """The p-value is that of scipy, which counts the same sequences."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        of, to = rng.standard_normal(n), rng.standard_normal(n) - 0.5
        expected = stats.ks_2samp(to, of, alternative="greater", method="exact")
        found = OrderViolation(of, to)
        assert found.value == pytest.approx(max(0.0, expected.statistic))
        assert found.p_above(0.0) == pytest.approx(expected.pvalue)


def test_intervals_and_p_values_agree() -> None:
    """The ends are where the p-values pass the error rate, and the interval has the estimate."""
    rng = np.random.default_rng(7)
    for n in (1, 5, 12, 40):
        found = OrderViolation(*shifted(rng, n))
        low, high = found.low(SIDE), found.high(SIDE)
        assert 0 <= low <= found.value <= high <= 1
        assert found.p_below(high + 1e-6) <= SIDE + 1e-6
        assert found.p_below(high - 1e-6) >= SIDE - 1e-6 or high == found.value
        assert found.p_above(low - 1e-6) <= SIDE + 1e-6
        assert found.p_above(low + 1e-6) >= SIDE - 1e-6


CLAIM = """
[[claim]]
id = "a"
says = "HTTP/3 is better in distribution"
metric = "request_time"
where = { loss = "2 %" }
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
estimate = "violation"
expect = "<= 20 %"
"""
Seconds = Callable[[Mapping[str, str], int], Ending | float | None]


def judged(seconds: Seconds, blocks: int, claim: str = CLAIM) -> ArmJudgement:
    """Judge the claim by a campaign with these request times."""
    text = campaigns.VERSIONS.replace("replicates = 5", f"replicates = {blocks}") + claim
    (found,) = judging.judge(campaigns.campaign(seconds, text))
    return found.main


def usual(levels: Mapping[str, str], block: int) -> float:
    """HTTP/3 takes 1 s to 1.2 s, others twice as long."""
    return (1.0 if levels["http_version"] == "3" else 2.0) + 0.05 * (block % 5)


def test_an_order_needs_twenty_blocks() -> None:
    """Fewer leave it open."""
    assert judged(usual, 20).verdict == "reproduced"
    assert judged(usual, 6).verdict == "open"


def test_larger_values_are_better_where_the_metric_says_so() -> None:
    """HTTP/3's goodput lies above that of HTTP/2."""

    def goodput(levels: Mapping[str, str], block: int) -> Ending:
        return campaigns.timed(usual(levels, block))

    claim = CLAIM.replace('"request_time"', '"goodput"')
    assert judged(goodput, 20, claim).verdict == "reproduced"


def test_equal_values_violate_no_order() -> None:
    """All trials take 1 s: the estimate is 0, and few blocks leave its interval wide."""
    found = judged(lambda *_: 1.0, 8)
    assert found.verdict == "open"
    assert found.estimate is not None
    assert (found.estimate.value.value, found.estimate.low) == (0.0, 0.0)
    assert found.estimate.is_constant


def test_timed_out_trials_count_as_long() -> None:
    """HTTP/2 never ends, so no value of it is as good; of HTTP/3 nothing is known."""

    def never(version: str) -> Seconds:
        late = Ending(outcome="timed out", reason="limit")
        return lambda levels, block: (
            late if levels["http_version"] == version else usual(levels, block)
        )

    assert judged(never("2"), 20).verdict == "reproduced"
    assert judged(never("3"), 20).verdict == "contradicted"
