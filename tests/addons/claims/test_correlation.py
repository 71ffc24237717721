"""The correlation of centres: what is planted is found, and wrong verdicts are rare."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy import stats

import campaigns
from campaigns import Ending
from httpbed.addons.claims import judging, shape_statistics
from httpbed.addons.claims.claim_verdict import SIDE
from httpbed.addons.claims.judging import ArmJudgement
from httpbed.results import location
from httpbed.results.sample import Floats

RUNS = 400
POINTS = 20
FALSE_ALARM = 1e-4
"""Probability that a simulation fails although the rates are as stated."""
SMALL, LARGE = 0.2, 1.0
"""Noise of single blocks over the points' spread."""


def centres(rng: np.random.Generator, rho: float) -> tuple[Floats, Floats]:
    """Return two vectors whose correlation is exactly ``rho``, each with variance 1."""
    one, other = stats.zscore(rng.standard_normal((2, POINTS)), axis=1)
    other = stats.zscore(other - one * (one @ other) / POINTS)
    return one, rho * one + math.sqrt(1 - rho**2) * other


def located(rho: float, noise: float, blocks: int) -> list[location.Student]:
    """Return the located correlations of simulated campaigns."""
    rng = np.random.default_rng(20261122)
    found = []
    for _ in range(RUNS):
        noises = noise * rng.standard_normal((2, blocks, POINTS))
        points, against = (
            centre + own for centre, own in zip(centres(rng, rho), noises, strict=True)
        )
        found.append(location.mean(shape_statistics.pseudo_values(points, against)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [5, 8, 20])
@pytest.mark.parametrize(("noise", "side"), [(SMALL, 0.04), (LARGE, 0.06)])
@pytest.mark.parametrize("edge", [0.0, 0.5])
def test_wrong_verdicts_are_as_rare_as_stated(
    blocks: int, noise: float, side: float, edge: float
) -> None:
    """At the edge of its region each end fails in 4 % at most, with large noise in 6 %."""
    most = stats.binom.isf(FALSE_ALARM, RUNS, side)
    found = located(edge, noise, blocks)
    assert sum(student.low(SIDE) > math.atanh(edge) for student in found) <= most
    assert sum(student.high(SIDE) < math.atanh(edge) for student in found) <= most


@pytest.mark.slow
def test_true_correlations_are_found_despite_noise() -> None:
    """Correlations of single blocks would be 0.48 in place of 0.9."""
    found = located(0.9, LARGE, 8)
    assert sum(student.low(SIDE) > math.atanh(0.5) for student in found) > 0.95 * RUNS
    assert np.tanh(np.median([student.value for student in found])) == pytest.approx(0.87, abs=0.03)
    none = located(0.0, SMALL, 8)
    assert sum(student.high(SIDE) < math.atanh(0.5) for student in none) > 0.95 * RUNS


CLAIM = """
[[claim]]
id = "a"
says = "HTTP/3's ratios without loss are like those with loss"
metric = "request_time"
where = { loss = "2 %" }
trend = { across = ["http_version"], other = { where = { loss = "0 %" } } }
estimate = "correlation"
expect = "> 0.5"
"""
Seconds = Callable[[Mapping[str, str], int], Ending | float | None]


def judged(seconds: Seconds, blocks: int = 8) -> ArmJudgement:
    """Judge the claim by a campaign with these request times."""
    text = campaigns.VERSIONS.replace("replicates = 5", f"replicates = {blocks}") + CLAIM
    (found,) = judging.judge(campaigns.campaign(seconds, text))
    return found.main


def usual(levels: Mapping[str, str], block: int) -> float:
    """Later versions are faster, with and without loss."""
    lossy = levels["loss"] == "2 %"
    noise = 1 + 0.05 * random.Random(f"{levels} {block}").random()  # noqa: S311 - planted
    return noise * (1 + lossy) / float(levels["http_version"])


def reverse(levels: Mapping[str, str], block: int) -> float:
    """With loss later versions are slower."""
    return usual(levels, block) ** (-1 if levels["loss"] == "2 %" else 1)


def test_a_campaign_reproduces_or_contradicts() -> None:
    """As its points rank alike or oppositely."""
    found = judged(usual)
    assert found.verdict == "reproduced"
    assert found.estimate is not None
    assert found.estimate.unit == "1"
    assert 0.9 < found.estimate.low <= found.estimate.value.value <= found.estimate.high <= 1
    assert judged(reverse).verdict == "contradicted"


def late(_levels: Mapping[str, str], _block: int) -> Ending:
    """No trial ends before its limit."""
    return Ending(outcome="timed out", reason="limit")


def failed(_levels: Mapping[str, str], _block: int) -> Ending:
    return Ending(outcome="failed", reason="reset")


@pytest.mark.parametrize(
    ("seconds", "blocks", "reason"),
    [
        (usual, 1, "one block has no spread"),
        (usual, 4, "a verdict needs at least 5"),
        (lambda *_: 1.0, 8, "all points have the same value, so they have no correlation"),
        (lambda levels, _: float(levels["http_version"]), 8, "lie on a straight line"),
        (late, 8, "trials timed out, so the centres of their values are unknown"),
        (failed, 8, "no block has all the values that it needs"),
    ],
)
def test_values_without_a_correlation_give_no_verdict(
    seconds: Seconds, blocks: int, reason: str
) -> None:
    """The reason is stated."""
    found = judged(seconds, blocks)
    assert found.verdict == "open"
    assert reason in found.reason
