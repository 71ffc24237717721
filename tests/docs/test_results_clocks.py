"""The clock is an arm: which archive answers a claim, and what is said of the other ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

import results_clocks
from results_archives import PUBLISHED, Claim, Clock

COMPUTING = "Z-1"
"""A claim that computing decides."""
INTERVAL_APART = {"value": 0.8, "low": 0.7, "high": 0.9}
"""An estimate whose interval does not meet that of other claims here."""


@dataclass(frozen=True)
class Archive:
    """What an answer needs of a published archive."""

    clock: Clock
    claims: tuple[Claim, ...]
    seeds: tuple[int, ...] = (1,)
    is_repetition: bool = False
    is_unannounced: bool = False


def claim(verdict: str, name: str = "A-1", **changed: Any) -> dict[str, Any]:
    interval = {"value": 0.5, "low": 0.4, "high": 0.6}
    arms = [{"name": "another server", "kind": "control", "verdict": verdict}]
    return {
        "id": name,
        "verdict": verdict,
        "effect": "0.5 [0.4, 0.6]",
        "robustness": "open",
        "robustness_in_words": "robustness open",
        "arms": arms,
        "cells": [],
        "estimate": interval,
        **changed,
    }


def answer(*archives: Archive) -> Claim:
    (found,) = results_clocks.claims_of(archives)  # type: ignore[arg-type]
    return found


def both(virtual: dict[str, Any], real: dict[str, Any]) -> Claim:
    """Answer a claim that ran by both clocks."""
    return answer(Archive("real", (real,)), Archive("virtual", (virtual,)))


def test_the_whole_grid_in_virtual_time_decides() -> None:
    """And the row says what real time says."""
    found = both(claim("reproduced"), claim("contradicted"))
    assert (found["verdict"], found["clock"]) == ("reproduced", "virtual")
    assert "in real time contradicted" in results_clocks.columns(found)[0]
    same = both(claim("reproduced"), claim("reproduced"))
    assert "in real time the same" in results_clocks.columns(same)[0]


def test_what_computing_decides_is_judged_in_real_time() -> None:
    """And named as such, with the reason."""
    found = both(claim("reproduced", COMPUTING), claim("contradicted", COMPUTING))
    assert (found["verdict"], found["clock"]) == ("contradicted", "real")
    assert "computing decides" in results_clocks.columns(found)[0]


def test_what_did_not_run_in_virtual_time_is_judged_in_real_time() -> None:
    """A verdict is better than none."""
    found = both(claim("not run", estimate=None), claim("contradicted"))
    assert (found["verdict"], found["clock"]) == ("contradicted", "real")


def test_a_campaign_with_too_few_blocks_for_an_estimate_does_not_decide() -> None:
    found = both(claim("open", estimate=None), claim("contradicted"))
    assert (found["verdict"], found["clock"]) == ("contradicted", "real")
    assert both(claim("open", estimate=None), claim("not run"))["clock"] == "virtual"


@pytest.mark.parametrize("real", ["reproduced", "contradicted"])
def test_arms_that_ran_in_real_time_only_count_if_the_verdict_is_the_same(real: str) -> None:
    """The paper's grid has no arms; those of a campaign with another verdict say nothing."""
    arms = [{"name": "another server", "kind": "control", "verdict": "not run"}]
    found = both(
        claim("reproduced", arms=arms),
        claim(real, robustness="robust", robustness_in_words="robust: the same"),
    )
    assert (found["robustness"] == "robust") == (real == "reproduced")
    assert ("in real time" in found["robustness_in_words"]) == (real == "reproduced")


def test_cells_whose_intervals_do_not_meet_are_named() -> None:
    """With the cell, both values and the cause; cells that agree are not."""

    def cells(low: float) -> list[dict[str, Any]]:
        same = {"levels": {"loss": "1 %"}, "value": 1.0, "low": 0.9, "high": 1.1}
        other = {"levels": {"loss": "5 %"}, "value": low, "low": low, "high": low + 0.1}
        return [same, other]

    found = both(claim("reproduced", cells=cells(2.0)), claim("reproduced", cells=cells(3.0)))
    text = "\n".join(results_clocks.section([found]))
    assert "| A-1 | 5 % |" in text
    assert results_clocks.CAUSE in text
    assert "1 %" not in text


def test_a_server_that_announces_no_http3_may_cause_a_difference() -> None:
    """If one archive has such servers and the other has not."""
    near, far = claim("reproduced"), claim("reproduced", estimate=INTERVAL_APART)
    archives = (Archive("real", (far,), is_unannounced=True), Archive("virtual", (near,)))
    text = "\n".join(results_clocks.section([answer(*archives)]))
    assert results_clocks.UNANNOUNCED in text


def test_a_verdict_of_another_seed_is_found_again_or_not() -> None:
    """It never decides the claim itself."""
    first = Archive("real", (claim("reproduced"),))
    for verdict, word in (("reproduced", "yes"), ("open", "open"), ("not run", "")):
        again = Archive("virtual", (claim(verdict),), seeds=(7,), is_repetition=True)
        found = answer(first, again)
        assert (found["verdict"], found["clock"]) == ("reproduced", "real")
        assert results_clocks.again(found).startswith(word)
        assert bool(results_clocks.again(found)) == bool(word)


def test_every_claim_that_computing_decides_is_one_of_a_paper() -> None:
    """A line about a claim that was renamed would be silent."""
    judged = [json.loads(file.read_text()) for file in PUBLISHED.glob("**/claims.json")]
    known = {claim["id"] for found in judged for claim in found["claims"]}
    stated = results_clocks._stated()
    assert known >= {*stated["computing"], *stated["causes"]}
