"""The design of ``--for-claims``: the treatments and blocks that claims need, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

import stored_campaigns
from httpbed.addons.claims import claim_outlook, judging
from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.claim_checking import TABLE
from httpbed.addons.claims.compiled_claim import with_arms
from httpbed.base.errors import ConfigError
from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment.factorial import ScaleName
from httpbed.programs import catalog
from httpbed.results import sample
from httpbed.store import campaign as campaigns
from httpbed.store import query

BLOCKS = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 20")
SCALES = """
[scales.standard]
replicates = 3
levels = { http_version = ["1.1", "2", "3"], loss = ["2 %"] }
"""
RATIO = """
[[claim]]
id = "faster"
says = "HTTP/3 is faster than HTTP/2 at 2 % loss"
metric = "request_time"
where = { loss = "2 %" }
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
expect = "< 1"
"""
SUCCESS = """
[[claim]]
id = "completes"
says = "Most transfers over HTTP/1.1 complete"
where = { loss = "0 %", http_version = "1.1" }
estimate = "success"
expect = ">= 80 %"
"""
ARM = '\n[[claim.arm]]\nname = "no loss"\nwhere = { loss = "0 %" }\n'
FILE = BLOCKS + SCALES + RATIO + SUCCESS


def load(text: str = FILE, scale: ScaleName | None = None) -> LoadedExperiment:
    """Load the part of an experiment that its claims need."""
    return preparation.load(text, catalog.load(), options=DesignOptions(scale, for_claims=True))


def blocks(loaded: LoadedExperiment) -> dict[tuple[str, ...], int]:
    keys = [tuple(trial.levels.values()) for trial in loaded.trials]
    return {key: keys.count(key) for key in keys}


def test_each_treatment_has_the_blocks_of_the_claims_that_use_it() -> None:
    """Five for a ratio; 17 successes of 17 bound a share from below by 80 %."""
    assert blocks(load()) == {("2", "2 %"): 5, ("3", "2 %"): 5, ("1.1", "0 %"): 17}
    with_arm = blocks(load(BLOCKS + RATIO + ARM))
    assert with_arm == dict.fromkeys([("2", "0 %"), ("3", "0 %"), ("2", "2 %"), ("3", "2 %")], 5)


def test_its_trials_are_trials_of_the_whole_design() -> None:
    """The same identifiers; so blocks beyond those of the experiment do not exist."""
    whole = {trial.id for trial in preparation.load(FILE, catalog.load()).trials}
    assert {trial.id for trial in load().trials} < whole
    few = FILE.replace("replicates = 20", "replicates = 4")
    assert max(blocks(load(few)).values()) == 4
    assert load(few).for_claims is not None
    assert load(few).for_claims.short == {"faster": 5, "completes": 17}  # type: ignore[union-attr]


def test_with_a_scale_only_claims_that_it_completes_count() -> None:
    """A claim without one of its cells cannot be reproduced."""
    found = load(scale="standard")
    assert blocks(found) == {("2", "2 %"): 5, ("3", "2 %"): 5}
    assert found.for_claims is not None
    assert found.for_claims.left_out == ("completes",)
    with pytest.raises(ConfigError, match="the scale runs all cells of no claim"):
        load(BLOCKS + SCALES + SUCCESS, "standard")
    with pytest.raises(ConfigError, match="the experiment has no claims"):
        load(BLOCKS)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ('over = ["loss"]', 5),
        ('over = ["loss"]\nshare_in = "< 0.8"', 5),
        ('over = ["loss"]\ntake = "largest"', 5),
        ('where = { loss = "2 %" }\nestimate = "mean"', 5),
        ('where = { loss = "2 %" }\nestimate = "variation"', 5),
    ],
)
def test_the_fewest_blocks_of_each_form(keys: str, expected: int) -> None:
    """Five, as any cell needs."""
    region = '"> 50 %"' if "share" in keys else '"< 0.9"'
    text = RATIO.replace('where = { loss = "2 %" }', keys).replace('"< 1"', region)
    assert fewest(text) == [expected]


@pytest.mark.parametrize(
    ("keys", "region", "expected"),
    [
        ("", "0.9 .. 1.1", 5),
        ('over = ["loss"]', "0.9 .. 1.1", 5),
        ('over = ["http_version"]\ntake = "spread"', "> 1.5", 5),
        ('over = ["http_version"]\nrank_of = { http_version = "3" }', "= 1", 5),
        ('estimate = "success"', ">= 90 %", 36),
    ],
)
def test_forms_that_need_more_blocks(keys: str, region: str, expected: int) -> None:
    """Only exact intervals of a single cell need more; several cells share their variances."""
    text = RATIO.replace('"< 1"', f'"{region}"').replace("expect", f"{keys}\nexpect")
    if "loss" in keys:
        text = text.replace('where = { loss = "2 %" }', "")
    if "http_version" in keys:
        text = text.replace(
            'compare = { of = { http_version = "3" }, to = { http_version = "2" } }', ""
        )
    if "success" in keys:
        text = SUCCESS.replace(">= 80 %", region)
    assert fewest(text) == [expected]


def fewest(claims: str, experiment_text: str = BLOCKS) -> list[int]:
    experiment = stored_campaigns.loaded(experiment_text + claims).experiment
    compiled = with_arms(experiment.claims, ClaimDesign.of_tables(experiment.stated(TABLE)))
    return list(map(claim_outlook.to_settle, compiled))


def test_a_campaign_of_it_is_read_back(tmp_path: Path) -> None:
    """Its treatments are those of its design, also after the claims were changed."""
    read = load()
    made = stored_campaigns.manifest() | {"for_claims": True}
    with campaigns.opened(tmp_path / "made", FILE, read.trials, made) as opened:
        stored_campaigns.keep(opened, *map(stored_campaigns.record, read.trials))
    results = query.read(tmp_path / "made")
    keys = {tuple(treatment.values()) for treatment in results.experiment.treatments()}
    assert keys == {("2", "2 %"), ("3", "2 %"), ("1.1", "0 %")}
    tallies = {
        key: one.tally.planned for key, one in sample.samples(results, "request_time").items()
    }
    assert tallies == {("2", "2 %"): 5, ("3", "2 %"): 5, ("1.1", "0 %"): 17}
    verdicts = {claim.stated.id: claim.main.verdict for claim in judging.judge(results)}
    assert verdicts == {"faster": "no difference", "completes": "reproduced"}


def test_it_grows_to_the_whole_design(tmp_path: Path) -> None:
    """Trials that the claims need are trials of the whole design."""
    read, whole = load(), stored_campaigns.loaded(FILE)
    made = stored_campaigns.manifest() | {"for_claims": True}
    with campaigns.opened(tmp_path / "made", FILE, read.trials, made) as opened:
        stored_campaigns.keep(opened, *map(stored_campaigns.record, read.trials))
    with campaigns.opened(
        tmp_path / "made", FILE, whole.trials, stored_campaigns.manifest()
    ) as opened:
        assert len(opened.attempts()) == len(read.trials)
    results = query.read(tmp_path / "made")
    assert results.planned == len(whole.trials)
    assert [*results.experiment.treatments()] == [*whole.experiment.treatments()]
