"""The gate on planted campaigns: unchanged ones pass, slower ones fail, at the stated rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import campaigns
from campaigns import Ending
from httpbed.addons.compare import diff_table, regression
from httpbed.addons.compare.regression import TreatmentChange
from httpbed.store.results import Results

Seconds = campaigns.Ends


def campaign(seconds: Seconds, blocks: int = 8) -> Results:
    text = campaigns.VERSIONS.replace("replicates = 5", f"replicates = {blocks}")
    return campaigns.campaign(seconds, text)


def noisy(rng: np.random.Generator, slower: Mapping[str, float] | None = None) -> Seconds:
    """Return times of about a second, longer for some HTTP versions."""

    def seconds(levels: Mapping[str, str], block: int) -> float:
        del block
        return float((slower or {}).get(levels["http_version"], 1.0) * np.exp(0.01 * rng.normal()))

    return seconds


def compared(old: Results, now: Results, margin: float = 0.03) -> tuple[TreatmentChange, ...]:
    """Compare the request times of two campaigns."""
    return regression.compare(old, now, "request_time", margin)


def test_a_slower_treatment_is_found() -> None:
    """Ten percent slower over HTTP/3, at both losses, and nothing else."""
    rng = np.random.default_rng(1)
    changes = compared(campaign(noisy(rng)), campaign(noisy(rng, {"3": 1.10})))
    assert regression.verdict(changes) == "regression"
    assert {
        change.levels["http_version"] for change in changes if change.verdict == "regression"
    } == {"3"}
    assert {change.reason for change in changes} == {"", "worse by more than 3 %"}
    worse = next(change for change in changes if change.verdict == "regression")
    assert worse.low < 1.10 < worse.high


def test_of_a_metric_of_which_more_is_better_less_is_worse() -> None:
    """A tenth less goodput is a regression, a tenth more is none."""

    def goodput(factor: float) -> Seconds:
        values = np.random.default_rng(2).normal(1e7, 1e5, 100) * factor
        return lambda levels, block: Ending({"goodput": values[block + 10 * len(levels["loss"])]})

    old, less, more = (campaign(goodput(factor)) for factor in (1.0, 0.9, 1.1))
    assert regression.verdict(regression.compare(old, less, "goodput", 0.03)) == "regression"
    assert regression.verdict(regression.compare(old, more, "goodput", 0.03)) == "pass"


def test_an_unchanged_program_rarely_fails() -> None:
    """At the margin itself one of 20 comparisons may fail; here 100 comparisons of 6 treatments."""
    rng = np.random.default_rng(3)
    old = campaign(noisy(rng))
    at_margin = dict.fromkeys(("1.1", "2", "3"), 1.03)
    runs = 100
    fails = sum(
        regression.verdict(compared(campaign(noisy(rng)), campaign(noisy(rng, at_margin))))
        == "regression"
        for _ in range(runs)
    )
    assert fails <= stats.binom.isf(1e-4, runs, regression.ERROR_RATE)
    assert regression.verdict(compared(old, campaign(noisy(rng)), margin=0.2)) == "pass"


@pytest.mark.parametrize(("blocks", "verdict"), [(2, "inconclusive"), (3, "regression")])
def test_a_treatment_that_completes_no_more_is_a_regression(blocks: int, verdict: str) -> None:
    """From three trials on, although Fisher's test needs more for so many treatments."""
    rng = np.random.default_rng(6)

    def broken(levels: Mapping[str, str], block: int) -> Ending | float | None:
        return Ending({}, "failed") if levels["http_version"] == "3" else noisy(rng)(levels, block)

    changes = compared(campaign(noisy(rng), blocks), campaign(broken, blocks))
    of_h3 = {change.verdict for change in changes if change.levels["http_version"] == "3"}
    assert of_h3 == {verdict}
    assert {change.verdict for change in changes if change.levels["http_version"] == "2"} <= {
        "pass",
        "inconclusive",
    }


@pytest.mark.parametrize("spoilt", [range(1, 9), range(3, 9)])
def test_trials_that_the_bed_spoilt_are_no_failures_of_the_program(spoilt: range) -> None:
    """Neither all of them nor most of them say that it completes less often."""

    def invalid(levels: Mapping[str, str], block: int) -> Ending | float:
        is_spoilt = levels["http_version"] == "3" and block in spoilt
        return Ending(outcome="invalid", reason="late") if is_spoilt else 1.0

    changes = compared(campaign(lambda *_: 1.0), campaign(invalid))
    of_h3 = {change.verdict for change in changes if change.levels["http_version"] == "3"}
    assert of_h3 == {"inconclusive"}


def test_trials_that_fail_now_are_a_regression() -> None:
    """A program that crashes is not slower."""
    old = campaign(lambda *_: 1.0)

    def crashes(levels: Mapping[str, str], block: int) -> Ending | float:
        failed = levels["http_version"] == "3" and block > 1
        return Ending(outcome="failed", reason="crash") if failed else 1.0

    changes = compared(old, campaign(crashes))
    assert {change.reason for change in changes if change.verdict == "regression"} == {
        "completes less often"
    }


def test_time_outs_count_as_slow() -> None:
    """A trial that timed out took longer than the limit."""
    old = campaign(lambda *_: 1.0)
    late = campaign(lambda *_: Ending(outcome="timed out", reason="limit"))
    changes = compared(old, late)
    assert {change.verdict for change in changes} == {"regression"}
    assert {change.verdict for change in compared(late, old)} == {"pass"}


@pytest.mark.parametrize(("blocks", "words"), [(2, "too few blocks"), (8, "contains the margin")])
def test_noise_is_inconclusive(blocks: int, words: str) -> None:
    """With the reason."""
    rng = np.random.default_rng(4)
    old, now = (campaign(lambda *_: float(np.exp(0.3 * rng.normal())), blocks) for _ in range(2))
    changes = compared(old, now)
    assert regression.verdict(changes) == "inconclusive"
    assert any(words in change.reason for change in changes)


def test_only_shared_treatments_are_compared() -> None:
    """Without any, nothing passes."""
    old = campaign(lambda *_: 1.0)
    other = campaigns.campaign(lambda *_: 1.0, campaigns.VERSIONS.replace('"2 %"', '"3 %"'))
    assert {change.levels["loss"] for change in compared(old, other)} == {"0 %"}
    assert regression.verdict(()) == "inconclusive"


def virtual(seconds: Seconds, blocks: int = 8, clock: str = "virtual") -> Results:
    return replace(campaign(seconds, blocks), manifest={"clock": clock})


def by_block(factor: float = 1.0, odd: float = 1.0) -> Seconds:
    """Return times that differ much from block to block, as lossy transfers do."""

    def seconds(levels: Mapping[str, str], block: int) -> float:
        own = factor * (odd if block % 2 else 1.0) if levels["http_version"] == "3" else 1.0
        return own * 2.0 ** (block % 5)

    return seconds


def test_a_build_that_gives_the_same_values_passes_from_one_block_on() -> None:
    """In virtual time any difference would be the program's."""
    for blocks, words in ((1, "identical in the only block"), (3, "identical in all 3 blocks")):
        changes = compared(virtual(by_block(), blocks), virtual(by_block(), blocks))
        assert {(change.verdict, change.reason) for change in changes} == {("pass", words)}
        assert {diff_table.change_text(change) for change in changes} == {"+0.00 %"}


def test_blocks_are_pairs_in_virtual_time_alone() -> None:
    """Times that vary 16-fold hide 5 % from ranks of all values, and not from pairs."""
    found = {}
    for clock in ("real", "virtual"):
        old, now = (virtual(by_block(one), clock=clock) for one in (1.0, 1.05))
        found[clock] = [
            change for change in compared(old, now) if change.levels["http_version"] == "3"
        ]
    assert {change.verdict for change in found["real"]} == {"inconclusive"}
    assert {change.verdict for change in found["virtual"]} == {"regression"}
    assert [change.pairs for change in (*found["real"], *found["virtual"])] == [0, 0, 8, 8]


def test_ten_pairs_show_a_regression_and_five_cannot_for_six_treatments() -> None:
    """All blocks agree, but of six treatments one in 32 would do so too often by chance."""
    found = []
    for blocks in (5, 10):
        old, now = (virtual(by_block(one), blocks) for one in (1.0, 1.05))
        found += [change for change in compared(old, now) if change.levels["http_version"] == "3"]
    assert [change.verdict for change in found] == ["inconclusive"] * 2 + ["regression"] * 2
    assert found[0].reason.startswith("worse, but in too few blocks for so many treatments")


def test_another_trial_is_no_pair() -> None:
    """Another seed meets other losses, whatever the clock."""
    old, now = virtual(by_block()), virtual(by_block())
    others = pa.array([f"other-{one}" for one in now.trials["trial"].to_pylist()])
    place = now.trials.column_names.index("trial")
    now = replace(now, trials=now.trials.set_column(place, "trial", others))
    assert not any(change.pairs for change in compared(old, now))


def test_a_build_that_fails_in_one_block_is_not_identical() -> None:
    """Its other values are."""

    def crashes(levels: Mapping[str, str], block: int) -> Ending | float | None:
        return Ending({}, "failed", "crashed") if block == 2 else by_block()(levels, block)

    changes = compared(virtual(by_block()), virtual(crashes))
    assert not any("identical" in change.reason for change in changes)


def test_a_mixed_difference_is_judged_by_its_interval() -> None:
    """Faster in one half of the blocks and slower in the other: no verdict without more blocks."""
    changes = compared(virtual(by_block()), virtual(by_block(0.95, odd=1.2)))
    assert {change.verdict for change in changes if change.levels["http_version"] == "3"} == {
        "inconclusive"
    }
