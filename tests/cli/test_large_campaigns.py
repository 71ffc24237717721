"""Verbs on 160 synthesised trials: complete, and in proportion to what is new."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import stored_campaigns
import synthesised_campaigns
from httpbed.campaign import executor
from httpbed.cli import report
from httpbed.experiment.trial import Trial
from httpbed.store import attempts, finished, query, tables
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign

TEXT = synthesised_campaigns.text(160, levels=2)
"""32 treatments in 5 blocks."""
TRIALS = stored_campaigns.loaded(TEXT).trials


@pytest.fixture(scope="module")
def finished_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Synthesise a campaign of which every trial is finished, and read it once."""
    directory = tmp_path_factory.mktemp("large") / "campaign"
    with campaigns.opened(directory, TEXT, TRIALS, stored_campaigns.manifest()) as campaign:
        synthesised_campaigns.commit(campaign)
    return directory


@pytest.fixture
def large(finished_campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """Copy the campaign and read it once, with a clock of the file system that never repeats."""
    monkeypatch.setattr(attempts, "SETTLED_NS", 0)
    shutil.copytree(finished_campaign, tmp_path / "campaign")
    query.read(tmp_path / "campaign")
    return campaigns.open_existing(tmp_path / "campaign")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often the files of an attempt are read, and how often they are parsed."""
    counted = Counter[str]()
    for name in ("read_files", "parse"):
        monkeypatch.setattr(attempts, name, _counting(counted, name))
    return counted


def _counting(counted: Counter[str], name: str) -> Callable[..., object]:
    original = getattr(attempts, name)

    def call(*arguments: object) -> object:
        counted[name] += 1
        return original(*arguments)

    return call


def synthesised(trials: tuple[Trial, ...] = TRIALS) -> int:
    return sum(1 for trial in trials for _ in synthesised_campaigns.records(trial))


def test_status_counts_the_last_attempt_of_every_trial(large: Campaign) -> None:
    """The synthesis says how each trial ends."""
    last = [[*synthesised_campaigns.records(trial)][-1] for trial in TRIALS]
    words = [str(large.directory), "--status", "--json"]
    printed = json.loads(CliRunner().invoke(report.command, words, catch_exceptions=False).stdout)
    assert printed["planned"] == 160
    assert printed["outcomes"] == Counter(record.attempt.outcome.kind for record in last)


def test_a_complete_campaign_has_no_pending_trial(large: Campaign) -> None:
    """Whatever the outcome of its trials was, it is data."""
    assert executor.pending(finished.finished_attempts(large).last, large.design()) == []


def test_unchanged_attempts_are_neither_read_nor_parsed(
    large: Campaign, calls: Counter[str]
) -> None:
    """A report costs what its tables cost, however many attempts there are."""
    results = query.read(large.directory)
    assert results.trials.num_rows == synthesised()
    assert len(finished.finished_attempts(large).last) == 160
    assert calls == {}


def test_only_new_attempts_are_parsed(
    finished_campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that grew are equal to tables that were made at once."""
    monkeypatch.setattr(attempts, "SETTLED_NS", 0)
    shutil.copytree(finished_campaign, tmp_path / "campaign")
    campaign = campaigns.open_existing(tmp_path / "campaign")
    whole = tables.compact(campaign).tables
    late = TRIALS[100:103]
    for trial in late:
        home = tmp_path / "campaign/trials" / f"{trial.block:04d}" / trial.id
        shutil.move(home, tmp_path / trial.id)
    assert tables.compact(campaign).tables["trials"].num_rows == synthesised() - synthesised(late)
    for trial in late:
        home = tmp_path / "campaign/trials" / f"{trial.block:04d}" / trial.id
        shutil.move(tmp_path / trial.id, home)
    counted = Counter[str]()
    monkeypatch.setattr(attempts, "parse", _counting(counted, "parse"))
    assert tables.compact(campaign).tables == whole
    assert counted == {"parse": synthesised(late)}


def test_a_copied_campaign_is_read_but_not_parsed(
    large: Campaign, calls: Counter[str], tmp_path: Path
) -> None:
    """The files of the copy have other inodes, and the same content."""
    shutil.copytree(large.directory, tmp_path / "copy")
    assert query.read(tmp_path / "copy").trials.num_rows == synthesised()
    assert calls == {"read_files": synthesised()}
    calls.clear()
    query.read(tmp_path / "copy")
    assert calls == {}


def test_an_edit_with_a_restored_time_is_noticed(large: Campaign) -> None:
    """The file has the same length and the same time of change; its inode's time differs."""
    file = next(large.directory.glob("trials/0001/*/1/observations.jsonl"))
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b'"source": "wire"', b'"source": "wira"'))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    (damaged,) = finished.finished_attempts(large).damaged
    assert damaged.place == str(file.parent.relative_to(large.directory))


def test_a_file_that_changed_a_moment_ago_is_read_again(
    large: Campaign, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second change within a tick of the file system's clock would not show."""
    monkeypatch.setattr(attempts, "SETTLED_NS", 3600 * 10**9)
    query.read(large.directory)
    assert calls == {"read_files": synthesised()}


def test_a_trial_keeps_its_rows_when_the_design_grows(large: Campaign, calls: Counter[str]) -> None:
    """The digest of the design changes; an attempt at a trial that stays holds."""
    text = TEXT.replace("replicates = 5", "replicates = 6")
    trials = stored_campaigns.loaded(text).trials
    with campaigns.opened(large.directory, text, trials, stored_campaigns.manifest()) as grown:
        assert len(executor.pending(finished.finished_attempts(grown).last, grown.design())) == 32
    assert calls == {}
