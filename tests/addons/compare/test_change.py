"""Two builds in one campaign: the table of the change, and when it fails a pull request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import stored_campaigns
from command_line import Command
from httpbed.addons.compare import change
from httpbed.experiment.trial import Record, Trial

TEXT = stored_campaigns.SMALL.replace("replicates = 2", "replicates = 8").replace(
    "[factors]", '[factors.build]\nold = "nginx"\nnew = "caddy"\n\n[factors]'
)
TEXT = re.sub(r'implementation = "nginx"', 'implementation = { factor = "build" }', TEXT)
TEXT = re.sub(r"congestion_control = .*", "", TEXT)
Ends = Callable[[Trial], Record]


def slower(share: float, version: str = "3") -> Ends:
    """Make the new build slower over one HTTP version."""

    def ends(trial: Trial) -> Record:
        worse = trial.levels["build"] == "new" and trial.levels["http_version"] == version
        seconds = 0.2 * (1 + trial.block / 100) * (1 + share * worse)
        return stored_campaigns.record(trial, seconds=seconds)

    return ends


def builds(directory: Path, ends: Ends) -> Path:
    """Make a campaign of two builds."""
    trials = stored_campaigns.loaded(TEXT).trials
    stored_campaigns.make(directory, [ends(trial) for trial in trials], TEXT)
    return directory


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign whose new build takes 5 % longer over HTTP/3."""
    return builds(tmp_path_factory.mktemp("campaign") / "c", slower(0.05))


def test_a_change_above_the_share_fails(changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not below it, and not without the option; both medians are in milliseconds."""
    assert change.report_change(changed, "markdown", 0.1) == 0
    assert change.report_change(changed, "markdown", None) == 0
    capsys.readouterr()
    assert change.report_change(changed, "markdown", 0.01) == 1
    rows = [one for one in capsys.readouterr().out.splitlines() if one.startswith("| HTTP/3")]
    before, after = re.findall(r"([\d.]+) ms", rows[0])
    assert float(after) / float(before) == pytest.approx(1.05, abs=1e-3)


def test_json_has_the_change_beside_the_findings(
    changed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One object, with a row for each treatment without its build."""
    assert change.report_change(changed, "json", 0.01) == 1
    values = json.loads(capsys.readouterr().out)
    assert values["change"]["verdict"] == "regression"
    assert len(values["treatments"]) == 2 * len(values["change"]["treatments"])
    worse = [one for one in values["change"]["treatments"] if one["verdict"] == "regression"]
    assert {one["levels"]["http_version"] for one in worse} == {"3"}
    assert [one["ratio"] for one in worse] == [pytest.approx(1.05)] * 2
    assert {one["pairs"] for one in worse} == {8}


def test_a_treatment_without_a_result_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named on stderr, although its failures are data."""

    def ends(trial: Trial) -> Record:
        lost = trial.levels == {**trial.levels, "build": "new", "http_version": "3"}
        return stored_campaigns.record(trial, kind="failed" if lost else "completed")

    assert change.report(builds(tmp_path / "c", ends), "text") == 1
    assert "new, HTTP/3" in capsys.readouterr().err
    unchanged = builds(tmp_path / "all", slower(0.0))
    assert change.report(unchanged, "text") == 0
    assert change.report_change(unchanged, "text", 0.01) == 0


def test_a_gate_on_one_folder_compares_its_builds(httpbed: Command, changed: Path) -> None:
    """With the exit codes of a gate on two."""
    assert httpbed("gate", changed)[0] == 1
    assert httpbed("gate", changed, "--margin", "10 %")[0] == 0
    code, out, _ = httpbed("gate", changed, "--json")
    assert (code, json.loads(out)["comparison"]["margin"]) == (1, 0.03)
    assert httpbed("gate", changed, "--format", "markdown")[1].count("| HTTP/3") == 2


def test_a_gate_needs_something_to_compare(httpbed: Command, tmp_path: Path) -> None:
    """One folder without builds and claims, and three folders, are mistakes."""
    stored_campaigns.make(tmp_path / "c")
    alone = httpbed("gate", tmp_path / "c")
    assert (alone[0], alone[1]) == (2, "")
    assert str(tmp_path / "c") in alone[2]
    for name in ("a", "b"):
        stored_campaigns.make(tmp_path / name)
    three = httpbed("gate", *(tmp_path / name for name in "abc"))
    assert three[0] == 2
    assert f"{tmp_path / 'c'}: " in three[2]


def test_options_of_a_change_need_two_builds(httpbed: Command) -> None:
    """All mistakes at once, each at its option."""
    told = httpbed(
        "compare", "curl:h2", "--fail-above", "1 %", "--json", "--format", "markdown", "--dry-run"
    )
    assert told[0] == 2
    places = [line.split(": ")[1] for line in told[2].splitlines() if line.startswith("httpbed: ")]
    assert sorted(set(places)) == ["--fail-above", "--format", "--json"]
    assert httpbed("compare", "curl:h2", "--fail-above", "1")[0] == 2
