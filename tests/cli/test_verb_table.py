"""Verbs that only read: their text and JSON output, and their exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import stored_campaigns
from command_line import Command
from httpbed.cli.main import verbs
from httpbed.experiment.schema import experiment_schema


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write an experiment without mistakes."""
    path = tmp_path / "experiment-file.toml"
    path.write_text(stored_campaigns.SMALL)
    return path


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Make a campaign of twelve trials, of which five have ended, one after an invalid attempt."""
    trials = stored_campaigns.loaded().trials
    kinds = ("completed", "completed", "failed", "timed out")
    records = [
        stored_campaigns.record(trial, 1, kind) for trial, kind in zip(trials, kinds, strict=False)
    ]
    records += [
        stored_campaigns.record(trials[4], 1, "invalid"),
        stored_campaigns.record(trials[4], 2, seconds=2.5),
    ]
    stored_campaigns.make(tmp_path / "campaign", records)
    return tmp_path / "campaign"


def test_validate_prints_the_number_of_trials(httpbed: Command, file: Path) -> None:
    """Exit code 0, and nothing on stderr."""
    assert httpbed("validate", file) == (0, f"{file}: no mistakes; 12 trials\n", "")
    code, out, _ = httpbed("validate", file, "--json")
    told = {"valid": True, "trials": 12, "scales": {}, "notes": [], "claims": {}}
    assert (code, json.loads(out)) == (0, told)


def test_a_token_bucket_that_holds_the_transfer_is_noted(httpbed: Command, tmp_path: Path) -> None:
    """``validate`` and ``plan`` print it on stderr: the file is valid, the rate is unused."""
    deep = '{ bucket = "10 Mbit/s", burst = "12.5 MB" }'
    file = tmp_path / "deep.toml"
    file.write_text(stored_campaigns.SMALL.replace('rate = "10 Mbit/s"', f"rate = {deep}"))
    note = (
        "client-server from server: the bucket of 12.5 MB holds the whole transfer of 1 MB, so the"
        " rate of 10 Mbit/s never limits it; set burst to far less than 1 MB"
    )
    code, out, err = httpbed("validate", file)
    assert (code, out, err) == (0, f"{file}: no mistakes; 12 trials\n", f"note: {note}\n")
    assert json.loads(httpbed("validate", file, "--json")[1])["notes"] == [note]
    assert httpbed("plan", file)[2].endswith(f"note: {note}\n")


def test_validate_lists_scales_and_plan_accepts_them(httpbed: Command, tmp_path: Path) -> None:
    """``plan`` rejects a scale that the experiment does not have."""
    file = tmp_path / "scaled.toml"
    file.write_text(stored_campaigns.SCALED)
    _, out, _ = httpbed("validate", file)
    assert out == f"{file}: no mistakes; 12 trials, 3 at scale smoke\n"
    _, out, err = httpbed("plan", file, "--scale", "smoke")
    assert len(out.splitlines()) == 3
    assert "3 trials: 3 treatments in 1 block" in err
    code, _, err = httpbed("plan", file, "--scale", "full")
    assert code == 2
    assert "no scale 'full'" in err
    assert "choose one of smoke" in err


def test_plan_lists_every_trial_in_order(httpbed: Command, file: Path) -> None:
    """One line each on stdout; the sum on stderr, so that scripts do not read it."""
    code, out, err = httpbed("plan", file, "--all")
    assert code == 0
    assert [line.split()[3] for line in out.splitlines()] == [
        trial.id for trial in stored_campaigns.loaded().trials
    ]
    assert "12 trials: 6 treatments in 2 blocks" in err


def test_plan_prints_every_command_on_request(httpbed: Command, file: Path) -> None:
    """As shell commands in text, as lists of words in JSON."""
    trial = stored_campaigns.loaded().trials[0]
    _, out, _ = httpbed("plan", file, "--commands", "--trial", trial.id)
    for words in ("[emulator] ip -batch -", "[client] curl", "[server] nginx", "/bin/httpbed-link"):
        assert words in out
    _, out, _ = httpbed("plan", file, "--commands", "--trial", trial.id, "--json")
    (said,) = json.loads(out)
    assert said["id"] == trial.id
    assert [command["argv"][0] for command in said["commands"]][-3:] == ["ping", "curl", "ss"]


COLUMNS = ["block", "position", "trial", "attempt", "outcome", "http_version", "loss"]
COLUMNS += ["metric", "item", "value", "unit", "source"]


def test_export_prints_one_row_per_observation(httpbed: Command, campaign: Path) -> None:
    """CSV on stdout, with a text column for each factor."""
    code, out, err = httpbed("export", campaign)
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == COLUMNS
    assert len(rows) == 5
    assert {row["http_version"] for row in rows} <= {"1.1", "2", "3"}
    assert [row["value"] for row in rows if row["attempt"] == "2"] == ["2.5"]


def test_export_prints_json_lines(httpbed: Command, campaign: Path) -> None:
    """One object per observation."""
    rows = [json.loads(line) for line in httpbed("export", campaign, "--json")[1].splitlines()]
    assert len(rows) == 5
    assert list(rows[0]) == COLUMNS


def test_the_check_of_a_missing_program_names_the_remedy(httpbed: Command) -> None:
    """The remedy is the same as in every verb: only the user can provide this program."""
    code, out, error = httpbed("toolbox", "check", "openlitespeed")
    assert (code, out) == (2, "")
    assert "openlitespeed is not on the PATH" in error
    assert "--program openlitespeed=PATH" in error


@pytest.mark.parametrize("words", [["validate", "--schema"]])
def test_schema_prints_the_schema(httpbed: Command, words: list[str]) -> None:
    """It is JSON with and without ``--json``."""
    assert json.loads(httpbed(*words)[1]) == experiment_schema()


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_help_of_every_verb_says_when_to_use_it_and_names_json(httpbed: Command, verb: str) -> None:
    """People read when to use the verb, and scripts can read its output."""
    code, out, _ = httpbed(verb, "--help")
    assert code == 0
    assert "Use it" in out
    if verb != "toolbox":  # a group: its verbs have it
        assert "--json" in out


def test_recipes_prints_aligned_columns_and_complete_json(httpbed: Command) -> None:
    """Every cell begins below its heading; homepages and notes are only in JSON."""
    code, out, _ = httpbed("toolbox")
    lines = out.splitlines()
    heads = ("implementation", "roles", "HTTP", "upstream", "here", "from")
    places = [lines[0].index(head) for head in heads]
    assert code == 0
    for line in lines[1:]:
        assert all(line[place - 2 : place] == "  " and line[place] != " " for place in places)
    said = {listed["name"]: listed for listed in json.loads(httpbed("toolbox", "--json")[1])}
    assert set(said) == {line.split()[0] for line in lines[1:]}
    for one in said.values():
        assert one["homepage"].startswith("https://")
        assert {"note", "is_here", "where"} <= set(one)
