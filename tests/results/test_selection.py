"""Invalid attempts that fall on one program: noted, and refused at the stated rate."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy import stats

import campaigns
import reports
from campaigns import Ending
from httpbed.addons.claims import judging
from httpbed.addons.compare import regression
from httpbed.experiment.factorial import treatment_key
from httpbed.results import selection
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.findings import find
from httpbed.results.sample import Bounded, Sample, samples
from httpbed.store.results import Results

CLAIM = """
[[claim]]
id = "h3-faster"
says = "HTTP/3 needs less time than HTTP/2"
metric = "request_time"
over = ["loss"]
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
expect = "< 1"

[[claim]]
id = "h2-faster"
says = "HTTP/2 needs less time than HTTP/1.1"
metric = "request_time"
over = ["loss"]
compare = { of = { http_version = "2" }, to = { http_version = "1.1" } }
expect = "< 1"
"""
Repeats = Callable[[Mapping[str, str], int], bool]


def campaign(repeats: Repeats, blocks: int = 8, text: str = campaigns.VERSIONS) -> Results:
    """Make a campaign in which these trials have an invalid attempt before the one that counts."""
    seconds = {"1.1": 1.2, "2": 1.0, "3": 0.8}

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        time = seconds[levels["http_version"]] * (1 + block / 1000)
        spoilt = ["a packet for a neighbour"] * repeats(levels, block)
        return Ending({"request_time": time}, invalid_first=spoilt)

    return campaigns.campaign(ends, text.replace("replicates = 5", f"replicates = {blocks}"))


def refused(results: Results) -> list[str]:
    return [" ".join(arm.levels.values()) for arm in selection.selected_arms(results)]


def test_the_program_whose_attempts_are_repeated_is_found() -> None:
    """It repeats each second trial at one loss only; its other treatments belong to it."""
    results = campaign(lambda levels, block: _h3(levels) and bool(block % 2), blocks=16)
    (arm,) = selection.selected_arms(results)
    assert (arm.levels, arm.repeated, arm.trials) == ({"http_version": "3"}, 8, 32)
    assert arm.treatments == {("3", "0 %"), ("3", "2 %")}
    assert any("3 have invalid attempts" in note for note in reports.notes(results, find(results)))


def _h3(levels: Mapping[str, str]) -> bool:
    return levels == {"http_version": "3", "loss": "2 %"}


def test_a_machine_that_hits_all_alike_refuses_nothing() -> None:
    """All trials of some blocks, or all trials of the campaign, have an invalid attempt."""
    assert refused(campaign(lambda _, block: block > 2)) == []
    assert refused(campaign(lambda *_: True)) == []


def test_a_small_share_is_not_refused() -> None:
    """It is certain that 8 of 100 trials are no chance, but they move no median far."""
    assert refused(campaign(lambda levels, block: _h3(levels) and block <= 8, blocks=50)) == []
    assert refused(campaign(lambda levels, block: _h3(levels) and block <= 8, blocks=20)) == ["3"]


def test_chance_refuses_at_most_at_the_stated_rate() -> None:
    """Whatever the blocks' own probabilities; false alarm of this test: 1e-4."""
    rng, runs = np.random.default_rng(31), 300

    def noisy() -> Results:
        chances = rng.uniform(0, 0.8, 9)
        return campaign(lambda _, block: bool(rng.random() < chances[block]))

    found = sum(bool(refused(noisy())) for _ in range(runs))
    assert found <= stats.binom.isf(1e-4, runs, selection.ERROR_RATE)


def test_the_probability_is_that_of_all_orders_of_the_blocks() -> None:
    """Of every way to place the trials of sets that differ in size and in disturbance."""
    disturbed = [(2, 1), (3, 2), (4, 1), (3, 3)]
    places = [range(trials) for trials, _ in disturbed]
    draws = [
        sum(place < repeated for place, (_, repeated) in zip(order, disturbed, strict=True))
        for order in itertools.product(*places)
    ]
    for held in itertools.product([False, True], repeat=len(disturbed)):
        own = [
            selection._Part(*one, is_repeated=has) for one, has in zip(disturbed, held, strict=True)
        ]
        expected = sum(draw >= sum(held) for draw in draws) / len(draws)
        assert selection._p_value(own) == pytest.approx(expected)


def test_where_programs_do_not_vary_each_treatment_is_an_arm() -> None:
    """A program may dislike one network."""
    text = campaigns.VERSIONS.replace("http_version = { factor", "x = { factor").replace(
        'http_version = ["1.1", "2", "3"]\n', ""
    )
    text = text.replace('x = { factor = "http_version" }\n', 'http_version = "3"\n')

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        del block
        return Ending({"request_time": 1.0}, invalid_first=["x"] * (levels["loss"] == "2 %"))

    assert refused(campaigns.campaign(ends, text.replace("replicates = 5", "replicates = 6"))) == [
        "2 %"
    ]


def test_claims_about_a_refused_program_are_not_judged() -> None:
    """Its numbers may be selected; claims about others are judged."""
    text = campaigns.VERSIONS + CLAIM
    honest = judging.judge(campaign(lambda *_: False, text=text))
    assert [claim.main.verdict for claim in honest] == ["reproduced", "reproduced"]
    judged = judging.judge(campaign(lambda levels, _: _h3(levels), text=text))
    assert [claim.main.verdict for claim in judged] == ["open", "reproduced"]
    assert "invalid attempts" in judged[0].main.reason


@pytest.mark.parametrize("metric", ["request_time", "goodput"])
def test_a_trial_without_a_valid_attempt_may_have_any_value(metric: str) -> None:
    """Its median is not known to be the worst; what its attempts observed does not count."""
    key = treatment_key({"http_version": "2", "loss": "0 %"})

    def found(outcome: str, spoilt: int) -> tuple[Estimate | None, Sample]:
        def ends(levels: Mapping[str, str], block: int) -> Ending:
            del levels
            value = float(block)
            both = {"request_time": value, "goodput": value * 1e6}
            return Ending(both, outcome if block <= spoilt else "completed")

        own = samples(campaigns.campaign(ends), metric)[key]
        return estimate(own), own

    late, timed_out = found("timed out", 1)
    assert (set(timed_out.censored), len(timed_out.unknown)) == ({1}, 0)
    invalid, own = found("invalid", 1)
    assert (len(own.censored), own.unknown) == (0, frozenset({1}))
    assert late is not None
    assert invalid is not None
    unit = 1.0 if metric == "request_time" else 1e6
    # 1 is the block without a value; as worst, the median of the times would be 4, and certain.
    assert late.median == Bounded({"request_time": 4.0, "goodput": 3e6}[metric])
    assert invalid.median == Bounded(3.5 * unit, "?")
    assert invalid.interval is not None
    assert (invalid.interval.low, invalid.interval.high) == (
        Bounded(2.0 * unit, "<"),
        Bounded(5.0 * unit, ">"),
    )
    assert (invalid.n, invalid.left_out) == (5, 1)
    nothing, _ = found("invalid", 5)
    assert nothing is None


def test_a_median_that_no_unknown_value_can_change_is_exact() -> None:
    """In virtual time the other trials may all have the same value."""
    key = treatment_key({"http_version": "2", "loss": "0 %"})

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        del levels
        return Ending({"request_time": 2.0}, "invalid" if block == 1 else "completed")

    found = estimate(samples(campaigns.campaign(ends), "request_time")[key])
    assert found is not None
    assert found.median == Bounded(2.0)


@pytest.mark.parametrize("metric", ["request_time", "goodput"])
@pytest.mark.parametrize("spoilt", ["2", "3"])
def test_a_trial_without_a_valid_attempt_settles_no_comparison(metric: str, spoilt: str) -> None:
    """Neither the base's nor the treatment's: the bed failed, and the value may be any."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        is_spoilt = levels["http_version"] == spoilt and block > 2
        value = 2.0 if levels["http_version"] == "3" else 1.0
        both = {"request_time": value, "goodput": value * 1e6}
        return Ending(both, "invalid" if is_spoilt else "completed")

    text = campaigns.VERSIONS.replace("replicates = 5", "replicates = 8")
    found = find(campaigns.campaign(ends, text), metric)
    (ratio,) = [
        row.ratio
        for _, row in found.rows()
        if row.levels["loss"] == "0 %" and row.levels["http_version"] == "3"
    ]
    assert ratio is not None
    assert (ratio.judgement, ratio.above, ratio.below) == ("open", 2, 0)
    assert ratio.value.value == pytest.approx(2.0)
    assert ratio.value.beyond == "?"
    assert ratio.interval is not None
    assert (ratio.interval.low.beyond, ratio.interval.high.beyond) == ("<", ">")


def test_a_program_gains_nothing_by_attempts_that_are_never_valid() -> None:
    """It spoils all attempts at trials that would fail: they settle nothing, and it is refused."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        spoils = levels["http_version"] == "3" and block > 2
        return Ending({"request_time": 1.0}, "invalid") if spoils else campaigns.timed(1.0)

    text = campaigns.VERSIONS.replace("replicates = 5", "replicates = 8")
    old, now = campaigns.campaign(lambda *_: 1.0, text), campaigns.campaign(ends, text)
    changes = regression.compare(old, now, "request_time", 0.03)
    spoilt = [change for change in changes if change.levels["http_version"] == "3"]
    assert {(change.verdict, change.reason) for change in spoilt} == {
        ("inconclusive", "6 trials of the campaign have no valid attempt; run it again")
    }
    (arm,) = selection.selected_arms(now)
    assert arm.levels == {"http_version": "3"}
