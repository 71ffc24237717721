"""Files that an experiment names are found, checked and part of a trial's identity."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from httpbed.base import folders
from httpbed.base.errors import ConfigError
from httpbed.bed.network import link_file
from httpbed.campaign import preparation
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.experiment import parser
from httpbed.experiment.impairments.rate import Trace
from httpbed.programs import catalog
from httpbed.store import campaign as campaigns
from httpbed.store.packet_log import COLUMNS
from httpbed.trial import plan
from httpbed.trial.attempt_plan import CampaignSetup
from recorded import DEMO, nothing_built
from stored_campaigns import manifest

TRACE = b"1\n2\n5\n"
DIGEST = hashlib.sha256(TRACE).hexdigest()
LOG = ("\t".join(COLUMNS) + "\n0\t-\t1500\t1\t7\tlost\n").encode()


def text(rate: str = '{ trace = "up.trace" }', loss: str = '{ replay = "a.log" }') -> str:
    """Write the demo with files for its rate and loss."""
    changed = DEMO.replace('"10 Mbit/s"', rate, 1).replace('{ factor = "loss" }', loss)
    return changed if "factor" in loss + rate else changed.replace('loss = ["0 %", "2 %"]', "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a trace and a list of losses, and a cache of its own."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    (tmp_path / "up.trace").write_bytes(TRACE)
    (tmp_path / "a.log").write_bytes(LOG)
    return tmp_path


def load(folder: Path, said: str) -> LoadedExperiment:
    return preparation.load(said, catalog.load(), folder)


def refused(folder: Path, said: str) -> dict[str, str]:
    """Return the mistakes: place -> reason."""
    with pytest.raises(ConfigError) as refusal:
        load(folder, said)
    return {mistake.place: mistake.reason for mistake in refusal.value.mistakes}


def test_parsing_an_experiment_reads_no_files() -> None:
    """Only the text's mistakes are reported."""
    assert parser.read(text()).mistakes == ()


@given(st.text(st.characters(codec="utf-8"), max_size=20) | st.just("n" * 1001) | st.integers())
def test_model_and_files_agree_on_file_names(name: str | int) -> None:
    """A file that one of them overlooks would be missing in the plan."""
    document = {"topology": {"links": [{"rate": {"trace": name}}]}}
    try:
        Trace.model_validate({"trace": name})
        taken = True
    except ValidationError:
        taken = False
    assert bool([*link_file.file_references(document)]) == taken


def test_a_name_need_not_be_printable(folder: Path) -> None:
    """A no-break space is a character like any other."""
    (folder / "up.trace").rename(folder / "our\N{NO-BREAK SPACE}own.trace")
    loaded = load(folder, text(rate='{ trace = "our\N{NO-BREAK SPACE}own.trace" }'))
    assert DIGEST in loaded.files


def test_digests_and_the_traces_rate_go_into_every_trial(folder: Path) -> None:
    """So the plan depends on the trial alone, and a queue in BDP has a rate."""
    loaded = load(folder, text())
    for trial in loaded.trials:
        link = trial.document["topology"]["links"][0]
        assert link["rate"] == {
            "trace": "up.trace",
            "sha256": DIGEST,
            "mean": f"{3 * 1504 * 8 * 200} bit/s",
        }
        assert set(link["loss"]) == {"replay", "sha256"}
        assert trial.scenario().ideal_s() > 0
    assert set(loaded.files) == {DIGEST, hashlib.sha256(LOG).hexdigest()}


def test_another_content_makes_other_trials(folder: Path) -> None:
    """The same name and text can be another network."""
    before = [trial.id for trial in load(folder, text()).trials]
    assert before == [trial.id for trial in load(folder, text()).trials]
    (folder / "up.trace").write_bytes(b"1\n2\n6\n")
    assert not set(before) & {trial.id for trial in load(folder, text()).trials}


def test_the_emulator_finds_files_by_their_digest(folder: Path) -> None:
    """It reads a copy that cannot change during the campaign."""
    loaded = load(folder, text())
    kept = link_file.kept_files(loaded.files)
    setup = CampaignSetup(catalog.load(), nothing_built(), Path(), {}, files=kept)
    (folder / "up.trace").unlink()
    config = plan.by_setup(loaded.trials[0], setup).network.emulator_config["links"][0]
    for way, numbers in zip(config["directions"], ([], [7]), strict=True):
        assert setup.shared_files()[way["rate"]["path"]].read_bytes() == TRACE
        assert way["loss"] == {"model": "listed", "numbers": numbers}


def test_a_campaign_keeps_copies_of_its_files(folder: Path, tmp_path: Path) -> None:
    """With the experiment it can be repeated elsewhere."""
    loaded = load(folder, text())
    paths = {digest: file.path for digest, file in loaded.files.items()}
    directory = tmp_path / "campaign"
    for _ in range(2):  # made, and resumed
        with campaigns.opened(directory, loaded.text, loaded.trials, manifest(), paths):
            pass
    assert (directory / "links" / DIGEST).read_bytes() == TRACE


def test_a_file_that_changes_while_it_is_copied_is_an_error(folder: Path) -> None:
    """Otherwise a trial's digest would be wrong."""
    loaded = load(folder, text())
    (folder / "up.trace").write_bytes(b"7\n")
    cached = folders.cache() / "links" / DIGEST
    cached.unlink(missing_ok=True)
    with pytest.raises(ConfigError, match="has changed"):
        link_file.kept_files(loaded.files)


def test_mistakes_in_files_and_text_are_reported_together(folder: Path) -> None:
    """At the places that name the files."""
    (folder / "b.trace").write_bytes(b"\x00\x01")
    (folder / "u.trace").write_bytes(b"5\n1\n")
    with (folder / "huge.log").open("wb") as file:
        os.truncate(file.fileno(), 2**30)
    said = text('{ trace = "b.trace" }', '{ replay = "huge.log" }')
    said = said.replace('delay = "25 ms"', 'delay = "25"\nup = { rate = { trace = "u.trace" } }')
    said = said.replace('question = "', 'down = { rate = { trace = "." } }\nquestion = "', 1)
    found = refused(folder, said.replace("down = { rate", "x = { rate", 1))
    assert "is binary" in found["topology.links[0].rate.trace"]
    assert "line 2: 1 ms follows 5 ms" in found["topology.links[0].up.rate.trace"]
    assert "more than" in found["topology.links[0].loss.replay"]
    assert "unit is missing" in found["topology.links[0].delay"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("gone.trace", "No such file"), (".", "not a regular file"), ("a.log", "not a whole number")],
)
def test_a_missing_file_is_reported_with_its_path(folder: Path, name: str, reason: str) -> None:
    """So is a folder in its place."""
    found = refused(folder, text(f'{{ trace = "{name}" }}'))["topology.links[0].rate.trace"]
    assert reason in found
    assert str(folder) in found


def test_a_required_digest_is_checked(folder: Path) -> None:
    """A published experiment can name the exact file."""
    load(folder, text(f'{{ trace = "up.trace", sha256 = "{DIGEST}" }}'))
    other = "0" * 64
    found = refused(folder, text(f'{{ trace = "up.trace", sha256 = "{other}" }}'))
    assert "is another file than the one meant" in found["topology.links[0].rate.trace"]


def test_a_named_level_may_name_a_file(folder: Path) -> None:
    """A mistake is reported at the level."""
    factor = 'net = { lab = "10 Mbit/s", train = { trace = "NAME" } }'
    said = text('{ factor = "net" }', '"0 %"').replace('loss = ["0 %", "2 %"]', factor)
    assert DIGEST in load(folder, said.replace("NAME", "up.trace")).files
    (place,) = refused(folder, said.replace("NAME", "gone"))
    assert place == "factors.net.train.trace"
