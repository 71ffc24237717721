"""A campaign grows: further trials join those that ran, and none is lost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import reports
import stored_campaigns
from httpbed.addons.verify import verification
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign import executor, preparation
from httpbed.campaign.run import growth_lines
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment.design import Growth
from httpbed.experiment.factorial import ScaleName
from httpbed.experiment.trial import Trial
from httpbed.programs import catalog
from httpbed.results.findings import find
from httpbed.store import archive, finished, layout, query
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign
from stored_campaigns import SCALED, SMALL, record

MORE_BLOCKS = SMALL.replace("replicates = 2", "replicates = 3")
MORE_LEVELS = SMALL.replace('"2 %"', '"2 %", "4 %"')
MORE_OF_BOTH = MORE_LEVELS.replace("replicates = 2", "replicates = 3")
GROUPS = """
[[groups]]
name = "clean"
levels = { loss = ["0 %"] }

[[groups]]
name = "lossy"
levels = { loss = ["2 %"], http_version = ["2"] }
"""
MORE_GROUPS = f"""{GROUPS}
[[groups]]
name = "newer"
levels = {{ loss = ["2 %"], http_version = ["3"] }}
"""
CLAIM = """
[[claim]]
id = "faster"
says = "HTTP/3 needs less time"
metric = "request_time"
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
where = { loss = "2 %" }
expect = "< 1"
"""


def run(
    directory: Path,
    text: str,
    most: int | None = None,
    scale: ScaleName | None = None,
    **about: Any,
) -> Campaign:
    """Do what ``httpbed run`` does, with invented records of at most so many trials."""
    read = stored_campaigns.loaded(text, scale)
    manifest = stored_campaigns.manifest(scale=scale) | about
    asked = {trial.id for trial in read.trials}
    with campaigns.opened(directory, text, read.trials, manifest) as campaign:
        campaign.clear_unfinished()
        design = [trial for trial in campaign.design() if trial.id in asked]
        pending = executor.pending(finished.finished_attempts(campaign).last, design)
        stored_campaigns.keep(campaign, *(record(one, number) for one, number in pending[:most]))
    return campaign


def refused(directory: Path, text: str, **about: Any) -> list[Mistake]:
    """Return why the campaign does not take the experiment."""
    with pytest.raises(ConfigError) as caught:
        run(directory, text, **about)
    return list(caught.value.mistakes)


def names(trials: Iterable[Trial]) -> set[str]:
    return {trial.id for trial in trials}


def attempt_files(directory: Path) -> dict[Path, bytes]:
    """Return the content of every file below ``trials``."""
    return {path: path.read_bytes() for path in directory.glob("trials/**/*") if path.is_file()}


@pytest.mark.parametrize(
    ("before", "after", "scale"),
    [
        (SMALL, MORE_BLOCKS, None),
        (SMALL, MORE_LEVELS, None),
        (SMALL, MORE_OF_BOTH, None),
        (SMALL + GROUPS, SMALL + MORE_GROUPS, None),
        (SMALL + GROUPS, SMALL, None),
        (SCALED, SCALED, "smoke"),
    ],
    ids=["replicates", "levels", "both", "a group", "all groups", "scale"],
)
@pytest.mark.parametrize("most", [0, 2, None])
def test_a_larger_design_extends_a_campaign(
    tmp_path: Path, before: str, after: str, scale: ScaleName | None, most: int | None
) -> None:
    """It ends with the trials of a new campaign of the larger design, and each ran once."""
    earlier = run(tmp_path, before, most, scale)
    kept, first = attempt_files(tmp_path), {trial.id: trial for trial in earlier.design()}
    ran = earlier.attempts()
    campaign = run(tmp_path, after)
    fresh = stored_campaigns.loaded(after)
    design = {trial.id: trial for trial in campaign.design()}
    assert design.keys() == names(fresh.trials) == campaign.attempts().keys()
    assert {name: design[name] for name in ran} == {name: first[name] for name in ran}
    assert kept.items() <= attempt_files(tmp_path).items()
    assert {one.attempt.number for one in campaign.records()} == {1}
    assert not verification.verify(campaign).damaged
    results = query.read(tmp_path)
    assert results.planned == len(results.trials) == len(fresh.trials)
    assert results.experiment.replicates == fresh.experiment.replicates
    assert [*results.experiment.treatments()] == [*fresh.experiment.treatments()]
    assert results.experiment.groups == fresh.experiment.groups


def test_blocks_that_ran_keep_their_order(tmp_path: Path) -> None:
    """Added trials follow; a block in which nothing ran is ordered as in a new campaign."""
    earlier = run(tmp_path, SMALL, 7).design()
    design = run(tmp_path, MORE_OF_BOTH, 0).design()
    fresh = stored_campaigns.loaded(MORE_OF_BOTH).trials
    for block in (1, 2):
        own = [trial for trial in design if trial.block == block]
        assert own[:6] == [trial for trial in earlier if trial.block == block]
        assert [trial.position for trial in own] == [*range(1, 10)]
        added = [
            trial.id for trial in fresh if trial.block == block and trial.levels["loss"] == "4 %"
        ]
        assert [trial.id for trial in own[6:]] == added
    assert [trial for trial in design if trial.block == 3] == [
        trial for trial in fresh if trial.block == 3
    ]
    assert [trial.block for trial in design] == sorted(trial.block for trial in design)


def test_a_campaign_that_grew_resumes_without_growing_again(tmp_path: Path) -> None:
    """The second run changes no file of the campaign's own."""
    run(tmp_path, SMALL, 3)
    run(tmp_path, MORE_LEVELS, 4)
    manifest = (tmp_path / "manifest.json").read_bytes()
    campaign = run(tmp_path, MORE_LEVELS)
    assert campaign.growth is None
    assert (tmp_path / "manifest.json").read_bytes() == manifest
    assert len(campaign.attempts()) == 18


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("Does HTTP/3", "Is it true that HTTP/3"),
        SMALL.replace('base = { http_version = "2" }', 'base = { http_version = "3" }'),
        SMALL + CLAIM,
        SMALL + "\n# a comment",
        SMALL.replace('["0 %", "2 %"]', '["2 %", "0 %"]'),
    ],
    ids=["question", "report", "claim", "comment", "order of levels"],
)
def test_what_changes_no_trial_is_taken_over(tmp_path: Path, text: str) -> None:
    """Reports read the latest file; the earlier one stays readable."""
    earlier = run(tmp_path, SMALL)
    design = earlier.design()
    campaign = run(tmp_path, text)
    assert campaign.design() == design
    assert campaign.experiment_text == text
    assert (tmp_path / "earlier/1/experiment.toml").read_text() == SMALL
    assert len(query.read(tmp_path).trials) == 12
    assert not verification.verify(campaign).damaged


def test_each_earlier_design_stays_readable(tmp_path: Path) -> None:
    """With its manifest and experiment; verification reads them, too."""
    before = []
    for text in (SMALL, MORE_BLOCKS, MORE_OF_BOTH):
        run(tmp_path, text)
        before.append([(tmp_path / name).read_bytes() for name in layout.FILES])
    for number, contents in enumerate(before[:2], start=1):
        folder = tmp_path / f"earlier/{number}"
        assert [(folder / name).read_bytes() for name in layout.FILES] == contents
    (tmp_path / "earlier/2/design.jsonl").write_text("")
    found = verification.verify(campaigns.open_existing(tmp_path)).damaged
    assert [damage.place for damage in found] == ["earlier/2/design.jsonl"]


@pytest.mark.parametrize(
    ("old", "new", "reasons"),
    [
        ("seed = 2", "seed = 3", ["seed was 20261121 and is now 30261121"]),
        ('name = "demo"', 'name = "other"', ['name was "demo" and is now "other"']),
        (
            'congestion_control = "cubic"\n',
            "",
            ['roles.server.congestion_control was "cubic" and is now absent'],
        ),
        (
            'delay = "25 ms"',
            'delay = "30 ms"\njitter = "1 ms"',
            [
                'topology.links[0].delay was "25 ms" and is now "30 ms"',
                'topology.links[0].jitter was absent and is now "1 ms"',
            ],
        ),
        ("[factors]", 'time_limit = "900 s"\n[factors]', ["time_limit was absent"]),
        (
            'size = "1 MB"',
            'size = { factor = "size" }\n[factors.size]\nsmall = "1 MB"',
            ['factors.size was absent and is now {"small": "1 MB"}'],
        ),
        (', "3"]', "]", ['level "3" of factors.http_version was run and is now absent']),
    ],
    ids=["seed", "name", "control", "two keys", "time limit", "factor", "level"],
)
def test_another_experiment_is_refused_key_by_key(
    tmp_path: Path, old: str, new: str, reasons: list[str]
) -> None:
    """With both values and the way out; nothing is written."""
    run(tmp_path, SMALL)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    mistakes = refused(tmp_path, SMALL.replace(old, new, 1))
    assert len(mistakes) == len(reasons)
    for mistake, reason in zip(mistakes, reasons, strict=True):
        assert reason in mistake.reason
        assert "or choose another folder with -o" in mistake.remedy
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before


def test_a_treatment_that_is_not_run_again_must_not_change_either(tmp_path: Path) -> None:
    """Its results stay in the report, which describes it by the present file."""
    run(tmp_path, SMALL)
    changed = SMALL.replace('"1 MB"', '"2 MB"') + GROUPS
    reasons = {mistake.reason for mistake in refused(tmp_path, changed)}
    assert len(reasons) == 1
    assert 'workload.size was "1 MB" and is now "2 MB"' in reasons.pop()


def test_a_smaller_design_loses_no_result(tmp_path: Path) -> None:
    """Trials that never ran leave; the others stay in the report, and none runs."""
    run(tmp_path, MORE_BLOCKS, 14)
    campaign = run(tmp_path, SMALL.replace("replicates = 2", "replicates = 1") + GROUPS)
    assert len(campaign.design()) == len(campaign.attempts()) == 14
    assert campaign.growth
    assert len(campaign.growth.kept) == 10
    results = query.read(tmp_path)
    assert len(results.trials) == results.planned == 14
    assert len([*results.experiment.treatments()]) == 6
    assert results.experiment.replicates == 3
    assert not verification.verify(campaign).damaged


def test_an_excluded_treatment_that_ran_stays_in_the_report(tmp_path: Path) -> None:
    """The exclusion holds for further trials only."""
    run(tmp_path, SMALL, 6)
    exclude = """
        [[exclude]]
        levels = { http_version = ["1.1"], loss = ["2 %"] }
        reason = "takes too long"
        """
    campaign = run(tmp_path, SMALL + exclude)
    assert len(campaign.attempts()) == 11
    assert len([*query.read(tmp_path).experiment.treatments()]) == 6


def test_a_level_that_never_ran_may_go(tmp_path: Path) -> None:
    """It leaves no result that the file could not describe."""
    run(tmp_path, MORE_LEVELS, 0)
    assert len(run(tmp_path, SMALL).design()) == 12


def test_a_growing_campaign_takes_new_programs_and_refuses_changed_ones(tmp_path: Path) -> None:
    """The manifest then has the programs of all its trials."""
    run(tmp_path, SMALL)
    curl = stored_campaigns.manifest()["programs"][0]
    caddy = {"name": "caddy", "version": "2.11.7", "sha256": "e" * 64, "libraries": {}}
    run(tmp_path, MORE_LEVELS, programs=[curl, caddy])
    campaign = run(tmp_path, MORE_OF_BOTH, programs=[caddy])
    assert campaign.manifest["programs"] == [curl, caddy]
    assert campaign.manifest["generation"] == 3
    (mistake,) = refused(tmp_path, MORE_OF_BOTH, programs=[{**caddy, "sha256": "f" * 64}])
    assert "program caddy was 2.11.7 (eeee" in mistake.reason


def test_files_that_new_treatments_name_are_copied(tmp_path: Path) -> None:
    """Beside those that the campaign has; a copy of a growth that was broken off harms nothing."""
    (tmp_path / "trace").write_text("1\n2\n")
    digest = "a" * 64
    run(tmp_path / "one", SMALL)
    read = stored_campaigns.loaded(MORE_BLOCKS)
    with campaigns.opened(
        tmp_path / "one",
        MORE_BLOCKS,
        read.trials,
        stored_campaigns.manifest(),
        {digest: tmp_path / "trace"},
    ) as campaign:
        assert campaign.link_names() == [f"links/{digest}"]
    content = b"3\n"
    name = hashlib.sha256(content).hexdigest()
    (tmp_path / "one/links" / name).write_bytes(content)
    assert not verification.verify(campaign).damaged


def test_the_number_of_blocks_on_the_command_line_replaces_the_files(tmp_path: Path) -> None:
    """At every scale; the campaign keeps the number for its readers."""
    read = preparation.load(SCALED, catalog.load(), options=DesignOptions("smoke", replicates=3))
    assert [trial.block for trial in read.trials] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    manifest = stored_campaigns.manifest(scale="smoke") | {"replicates": 3}
    run(tmp_path, SCALED, scale="smoke")
    with campaigns.opened(tmp_path, SCALED, read.trials, manifest) as campaign:
        assert len(campaign.attempts()) == 3
    results = query.read(tmp_path)
    assert (results.planned, results.experiment.replicates) == (9, 3)
    assert results.stated_experiment.replicates == 2, "a publication's own number"


def test_campaigns_with_different_numbers_of_blocks_are_merged(tmp_path: Path) -> None:
    """Each block comes from the campaign that finished most of it, also of one that grew."""
    run(tmp_path / "one", SMALL, 8)
    run(tmp_path / "two", SMALL.replace("= 2", "= 1", 1), 4)
    run(tmp_path / "two", MORE_BLOCKS)
    merged = archive.merge([tmp_path / "one", tmp_path / "two"], tmp_path / "archive")
    assert [source.place[-3:] for source, _ in merged.blocks.values()] == ["one", "two", "two"]
    assert (merged.finished, len(merged.design)) == (18, 18)
    results = query.read(tmp_path / "archive")
    assert (results.planned, results.experiment.replicates) == (18, 3)


def test_a_campaign_of_one_trial_is_counted_in_the_singular() -> None:
    """As one of ``--replicates 1`` that gets a second block."""
    trials = stored_campaigns.loaded().trials[:2]
    grown = Growth(trials, trials[1:], (), (), ())
    (grew,) = growth_lines(grown, Path("one"))
    assert grew.startswith("one had 1 trial and now has 2:")


def test_a_run_says_how_the_campaign_grew(tmp_path: Path) -> None:
    """And which comparisons are no longer made at one time."""
    run(tmp_path, SMALL, 7)
    growth = run(tmp_path, MORE_OF_BOTH, 0).growth
    assert growth
    grew, note = growth_lines(growth, Path("demo"))
    assert grew == "demo had 12 trials and now has 27: 15 added"
    assert "added to blocks 1 to 2 run at another time" in note
    growth = run(tmp_path, SMALL.replace("= 2", "= 1", 1), 0).growth
    assert growth
    shrank, note = growth_lines(growth, Path("demo"))
    assert shrank == "demo had 27 trials and now has 7: 20 that never ran left out"
    assert "1 trial that the experiment no longer asks for ran earlier; it stays" in note


def test_the_report_says_that_trials_of_a_block_ran_hours_apart(tmp_path: Path) -> None:
    """Its comparisons do not share the state of the machine."""
    run(tmp_path, SMALL)
    assert "apart" not in " ".join(reports.notes(query.read(tmp_path), find(query.read(tmp_path))))
    read = stored_campaigns.loaded(MORE_LEVELS)
    with campaigns.opened(
        tmp_path, MORE_LEVELS, read.trials, stored_campaigns.manifest()
    ) as campaign:
        for one, number in executor.pending(
            finished.finished_attempts(campaign).last, campaign.design()
        ):
            later = record(one, number)
            attempt = later.attempt.model_copy(update={"started": "2026-11-21T15:00:00+00:00"})
            stored_campaigns.keep(campaign, later.model_copy(update={"attempt": attempt}))
    results = query.read(tmp_path)
    (note,) = (one for one in reports.notes(results, find(results)) if "apart" in one)
    assert "ran up to 3.0 h apart (blocks: 1, 2)" in note
