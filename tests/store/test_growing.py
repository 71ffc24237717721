"""A campaign that a run extends: each reading parses what is new, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import stored_campaigns
from httpbed.base.errors import ConfigError
from httpbed.store import attempts, layout, query, tables
from httpbed.store import campaign as campaigns
from httpbed.store.attempts import AttemptFiles
from httpbed.store.finished import GrowingCampaign

TRIALS = stored_campaigns.loaded().trials


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the places of all attempts that are parsed from now on."""
    places: list[str] = []
    parse = attempts.parse

    def noted(files: AttemptFiles, design: object) -> object:
        places.append(files.place)
        return parse(files, design)  # type: ignore[arg-type]

    monkeypatch.setattr(attempts, "parse", noted)
    return places


def rows(campaign: GrowingCampaign) -> set[tuple[str, int, str]]:
    """Return the attempts of a campaign as of its last reading."""
    table = campaign.results.trials
    names = ("trial", "attempt", "outcome")
    return set(zip(*(table[name].to_pylist() for name in names), strict=True))


def test_a_further_reading_parses_new_attempts_only(tmp_path: Path, parsed: list[str]) -> None:
    """With retries, to the end of the campaign: the tables are those of a first reading."""
    made = stored_campaigns.make(tmp_path / "campaign")
    growing = GrowingCampaign(made.directory)
    assert not growing.refresh()
    for number, trial in enumerate(TRIALS):
        records = [stored_campaigns.record(trial)]
        if number == 3:
            records = [stored_campaigns.record(trial, 1, "invalid")]
        if number == 4:
            records += [stored_campaigns.record(TRIALS[3], 2, seconds=2.5)]
        stored_campaigns.keep(made, *records)
        parsed.clear()
        assert growing.refresh()
        assert len(parsed) == len(records)
        assert not growing.refresh()
    whole = query.read(made.directory)
    assert rows(growing) == {
        (row["trial"], row["attempt"], row["outcome"]) for row in whole.trials.to_pylist()
    }
    for name in tables.TABLES:
        now, then = (
            sorted(map(json.dumps, getattr(one, name).to_pylist()))
            for one in (growing.results, whole)
        )
        assert now == then


def test_a_complete_block_is_not_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a glance at a hundred thousand trials would read a hundred thousand folders."""
    first = [trial for trial in TRIALS if trial.block == 1]
    made = stored_campaigns.make(tmp_path / "campaign", map(stored_campaigns.record, first))
    growing = GrowingCampaign(made.directory)
    listed: list[str] = []
    scandir = os.scandir

    def noted(folder: str) -> object:
        listed.append(Path(folder).name)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", noted)
    stored_campaigns.keep(made, stored_campaigns.record(TRIALS[len(first)]))
    assert growing.refresh()
    assert "0002" in listed
    assert "0001" not in listed


def test_no_cache_is_written_while_a_run_works_on_the_campaign(tmp_path: Path) -> None:
    """The next attempt would outdate it, and the writing disturbs the trial under way."""
    folder, text = tmp_path / "campaign", stored_campaigns.SMALL
    with campaigns.opened(folder, text, TRIALS, stored_campaigns.manifest()) as campaign:
        stored_campaigns.keep(campaign, stored_campaigns.record(TRIALS[0]))
        assert query.read(folder).trials.num_rows == 1
        assert not (folder / layout.INDEX).exists()
    query.read(folder)
    assert (folder / layout.INDEX).exists()


def test_a_damaged_attempt_is_named_until_it_is_replaced(tmp_path: Path) -> None:
    """The others count meanwhile."""
    made = stored_campaigns.make(tmp_path / "campaign", [stored_campaigns.record(TRIALS[0])])
    growing = GrowingCampaign(made.directory)
    (folder,) = stored_campaigns.keep(made, stored_campaigns.record(TRIALS[1]))
    (folder / "observations.jsonl").write_text("")
    assert growing.refresh()
    assert [damage.place for damage in growing.results.damaged] == [
        str(folder.relative_to(made.directory))
    ]
    assert len(rows(growing)) == 1
    assert not growing.refresh()
    shutil.rmtree(folder)
    stored_campaigns.keep(made, stored_campaigns.record(TRIALS[1]))
    assert growing.refresh()
    assert growing.results.damaged == ()
    assert len(rows(growing)) == 2


def test_a_campaign_that_grows_is_read_anew(tmp_path: Path) -> None:
    """With its new design."""
    made = stored_campaigns.make(tmp_path / "campaign", [stored_campaigns.record(TRIALS[0])])
    growing = GrowingCampaign(made.directory)
    text = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 3")
    larger = stored_campaigns.loaded(text).trials
    with campaigns.opened(made.directory, text, larger, stored_campaigns.manifest()):
        assert growing.refresh()
    assert growing.results.planned == len(larger) == 18


def test_a_campaign_that_is_removed_is_a_mistake(tmp_path: Path) -> None:
    """Its folder is named."""
    growing = GrowingCampaign(stored_campaigns.make(tmp_path / "campaign").directory)
    shutil.rmtree(tmp_path / "campaign")
    with pytest.raises(ConfigError, match="campaign: is not a campaign any more"):
        growing.refresh()
