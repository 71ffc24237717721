"""``httpbed conformance --campaign``: whose programs it runs, and what it prints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stored_campaigns
from command_line import Command
from httpbed.addons.conformance import conformance_session, conformance_verb, sender
from httpbed.addons.conformance.conformance_verb import ConformanceOptions
from httpbed.addons.conformance.sender import Sender, SenderKey
from httpbed.programs.catalog import Catalog
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign

OLD = SenderKey("nginx", "1", "a", "", "1.1", "tcp", "reno", (), "6.1")
NEW = SenderKey("nginx-new", "2", "b", "", "1.1", "tcp", "reno", (), "6.1")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return an executable of the user."""
    return Path(shutil.copy("/bin/true", tmp_path / "nginx"))


@pytest.fixture
def campaign(tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """Make a campaign that compared two builds; neither was ever tested."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    manifest = stored_campaigns.manifest() | {
        "clock": "virtual",
        "second_builds": {NEW.implementation: {"of": "nginx", "path": str(own)}},
        "senders": [{"sender": key.as_json(), "passed": None} for key in (OLD, NEW)],
    }
    text, trials = stored_campaigns.SMALL, stored_campaigns.loaded().trials
    with campaigns.opened(tmp_path / "builds", text, trials, manifest):
        pass
    return campaigns.open_existing(tmp_path / "builds")


def test_all_senders_of_a_campaign_are_one_document(
    httpbed: Command, campaign: Campaign, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the programs that the campaign ran, which nothing else names."""

    def tested(
        sender: Sender, catalog: Catalog, options: ConformanceOptions
    ) -> tuple[int, Mapping[str, Any]]:
        assert options.clock == "virtual"
        binary = catalog[sender.implementation].install.binary
        return int(binary == str(own)), {"build": sender.implementation}

    monkeypatch.setattr(conformance_verb, "_test_one", tested)
    code, out, _ = httpbed("conformance", "--campaign", campaign.directory, "--json")
    assert code == 1
    assert json.loads(out)["tests"] == [{"build": "nginx"}, {"build": "nginx-new"}]


def test_a_campaign_without_untested_senders_is_a_document_too(
    httpbed: Command, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance_verb, "untested", lambda *_: [])
    code, out, err = httpbed("conformance", "--campaign", campaign.directory, "--json")
    assert (code, json.loads(out)["tests"]) == (0, [])
    assert "nothing to test" in err


def test_a_second_build_is_tested_under_either_name(campaign: Campaign) -> None:
    """``--program`` tests it as its program; the record is of the same executable."""
    tested = replace(NEW, implementation="nginx")
    record = {"schema": sender.SCHEMA, "sender": tested.as_json(), "passed": True}
    sender.write(tested, "smoke", record)
    old, new = sender.refreshed(campaign.manifest)["senders"]
    assert (old["passed"], new["passed"]) == (None, True)
    assert new["sender"] == NEW.as_json()


@pytest.mark.parametrize("words", [(), ("-o", "evidence")])
def test_an_interrupt_ends_a_test_at_once_whose_trials_are_not_kept(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Those of ``-o`` are finished: the same command resumes them."""
    kept = []

    def interrupted(*_: object, is_kept: bool, **__: object) -> None:
        kept.append(is_kept)
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(conformance_session, "run", interrupted)
    code, _, _ = httpbed("conformance", "nginx", "--clock", "virtual", *words)
    assert (code, kept) == (130, [bool(words)])
