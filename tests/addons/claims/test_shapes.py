"""Knees and flips: what is planted is found, and wrong verdicts are as rare as stated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

import campaigns
from campaigns import Ending
from httpbed.addons.claims import cell_location, claim_verdict, judging
from httpbed.addons.claims.block_values import CampaignSamples
from httpbed.addons.claims.cell_builder import FlipValue, KneeValue, MetricValue, Quantity
from httpbed.addons.claims.judging import ArmJudgement
from httpbed.addons.claims.region import Region
from httpbed.results.sample import Floats, Sample, Tally
from httpbed.store.results import Results

RUNS = 500
FALSE_ALARM = 1e-4
"""Probability that a simulation fails although the rates are as stated."""
LEVELS = (0.1, 0.5, 1.0, 1000.0)
KNEE = KneeValue(
    tuple(MetricValue("page_throughput", ((str(level),),)) for level in LEVELS), LEVELS, 0.5
)
FLIP = FlipValue(("h3",), ("h2",), "resource_time", "resource_time_queued")
ITEMS = 128


class Planted(CampaignSamples):
    """Values of trials and of items, by treatment."""

    def __init__(self, values: Mapping[Any, Floats], items: Mapping[Any, Floats]) -> None:
        self._values, self._planted_items = values, items

    def sample(self, leaf: MetricValue, treatment: tuple[str, ...]) -> Sample:
        observed = dict(enumerate(self._values[treatment].tolist(), start=1))
        return Sample(leaf.metric, {}, observed, {}, "", Tally(len(observed)))

    def items(
        self, metric: str, treatment: tuple[str, ...], experiment: str = ""
    ) -> Mapping[int, Mapping[str, float]]:
        del experiment
        rows = self._planted_items[metric, treatment].tolist()
        return {
            block: {f"/{number}": value for number, value in enumerate(row)}
            for block, row in enumerate(rows, start=1)
        }


def with_knee(knee: float, rng: np.random.Generator, blocks: int) -> Planted:
    """Plant throughputs whose exponent falls from 1 by ``knee``; blocks drift."""
    drift = rng.normal(0, 0.2, blocks)
    values = {}
    for level in LEVELS:
        rise = level if level <= 0.5 else 0.5 * (level / 0.5) ** (1 - knee)
        values[(str(level),)] = rise * np.exp(drift + rng.normal(0, 0.1, blocks))
    return Planted(values, {})


def with_flips(share: float, rng: np.random.Generator, blocks: int) -> Planted:
    """Plant loads in which this share of the items flips, in the median of all loads."""
    chance = 1 / (1 + np.exp(-rng.normal(np.log(share / (1 - share)), 0.3, blocks)))
    flips = rng.random((blocks, ITEMS)) < chance[:, None]
    later = np.where(flips, 0.3, -0.3)
    base = rng.uniform(1, 2, (blocks, ITEMS))
    items = {
        ("resource_time", ("h2",)): base,
        ("resource_time", ("h3",)): base * 0.8,
        ("resource_time_queued", ("h2",)): 2 * base,
        ("resource_time_queued", ("h3",)): 2 * base + later,
    }
    return Planted({}, items)


Plant = Callable[[float, np.random.Generator, int], Planted]


def verdicts(
    quantity: Quantity, plant: Plant, true: float, edge: float, blocks: int
) -> Sequence[str]:
    """Return the verdicts on a value above ``edge`` in campaigns with a true value."""
    rng = np.random.default_rng(20261122)
    found = []
    for _ in range(RUNS):
        cell = cell_location.locate(quantity, "median", plant(true, rng, blocks))
        side = claim_verdict.side_of([cell])
        estimate = claim_verdict.ClaimEstimate(
            cell.value,
            cell.low(side),
            cell.high(side),
            1 - 2 * side,
            (blocks,) * 2,
            1,
            1,
            False,
            "1",
        )
        found.append(claim_verdict.rule(estimate, Region(edge, low_open=True)))
    return found


FORMS: Mapping[str, tuple[Quantity, Plant, float, tuple[float, float]]] = {
    "knee": (KNEE, with_knee, 0.3, (0.1, 0.5)),
    "no knee": (KNEE, with_knee, 0.0, (-0.2, 0.2)),
    "flip": (FLIP, with_flips, 0.5, (0.3, 0.7)),
}
"""Quantity, what plants it, an edge, and values clearly below and above it."""


@pytest.mark.slow
@pytest.mark.parametrize(("blocks", "side"), [(5, 1 / 32), (6, 0.025), (20, 0.025)])
@pytest.mark.parametrize("form", FORMS)
def test_wrong_verdicts_are_as_rare_as_stated(form: str, blocks: int, side: float) -> None:
    """At the edge of its region a claim is neither true nor false: 2.5 % on either side."""
    quantity, plant, edge, _ = FORMS[form]
    most = stats.binom.isf(FALSE_ALARM, RUNS, side)
    found = verdicts(quantity, plant, edge, edge, blocks)
    assert found.count("reproduced") <= most
    assert found.count("contradicted") <= most


@pytest.mark.parametrize("form", FORMS)
def test_true_effects_are_found(form: str) -> None:
    """Far from the edge most verdicts are right."""
    quantity, plant, edge, (below, above) = FORMS[form]
    assert verdicts(quantity, plant, above, edge, 8).count("reproduced") > 0.95 * RUNS
    assert verdicts(quantity, plant, below, edge, 8).count("contradicted") > 0.95 * RUNS


CLAIM = """
[[claim]]
id = "a"
says = "The time falls less from HTTP/2 on"
metric = "request_time"
where = { loss = "2 %" }
knee = { factor = "http_version", at = "2" }
expect = "< 0"
"""
FLIPS = """
[[claim]]
id = "a"
says = "Most resources load faster and arrive later"
metric = "resource_time"
flip = "resource_time_queued"
where = { loss = "2 %" }
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
expect = "> 50 %"
"""


def judged(claim: str, ends: campaigns.Ends, blocks: int = 8) -> ArmJudgement:
    text = campaigns.VERSIONS.replace("replicates = 5", f"replicates = {blocks}") + claim
    return by(campaigns.campaign(ends, text))


def by(results: Results) -> ArmJudgement:
    """Judge the campaign's only claim."""
    (found,) = judging.judge(results)
    return found.main


@pytest.mark.parametrize("claim", [CLAIM, FLIPS])
@pytest.mark.parametrize("outcome", ["failed", "timed out"])
def test_trials_without_values_give_no_verdict(claim: str, outcome: str) -> None:
    """Neither time nor order of a resource is known."""
    found = judged(claim, lambda *_: Ending(outcome=outcome, reason="why"))
    assert found.verdict == "open"
    unknown = claim == CLAIM and outcome == "timed out"
    reason = "no block has a known value: " if unknown else "no block has all the values "
    assert found.reason.startswith(reason)


def test_items_of_one_load_only_are_not_compared() -> None:
    """A block without any shared item gives no share."""
    planted = with_flips(0.9, np.random.default_rng(1), 6)
    source = _Renamed(planted)
    cell = cell_location.locate(FLIP, "median", source)
    assert cell.n == 5


class _Renamed(Planted):
    """The same loads, of which one has other names in one treatment."""

    def __init__(self, planted: Planted) -> None:
        self._planted = planted

    def items(
        self, metric: str, treatment: tuple[str, ...], experiment: str = ""
    ) -> Mapping[int, Mapping[str, float]]:
        found = dict(self._planted.items(metric, treatment, experiment))
        if treatment == ("h3",):
            found[1] = {f"/other{name}": value for name, value in found[1].items()}
        return found
