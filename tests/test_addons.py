"""A deleted addon leaves the rest: its verbs are unknown, its data are named as unread."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import httpbed
import stored_campaigns
from httpbed.addons.handover.handover_check_table import HANDOVER_PACE
from httpbed.addons.pages.page_check_table import PAGE_REQUESTS
from httpbed.base.addon import addons
from httpbed.campaign import preparation
from httpbed.campaign.settings import DesignOptions
from httpbed.experiment.document import words
from httpbed.experiment.metric import Observation
from httpbed.experiment.trial import Record, Trial
from httpbed.programs import catalog
from httpbed.report.document import SECTIONS

HOME = Path(httpbed.__file__).parent
RUN = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from httpbed.cli.main import main
for words in json.load(sys.stdin):
    sys.argv, out, err, code = ["httpbed", *words], io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=sys.__stdout__)
"""


UNREAD = {"handover": "delivery_stall", "pages": "speed_index"}
"""A metric of each addon that has some."""
DRAWN = (
    stored_campaigns.SMALL
    + """
[[figure]]
id = "times"
title = "Request times"
kind = "bars"
metric = "request_time"
x = "loss"
series = "http_version"
"""
)


def package(folder: Path, without: str = "", **more: str) -> Path:
    """Make a package like the installed one, without one addon and with ``more`` of them."""
    (folder / "httpbed" / "addons").mkdir(parents=True)
    for one in HOME.iterdir():
        if one.name not in {"addons", "__pycache__"}:
            (folder / "httpbed" / one.name).symlink_to(one)
    for one in (HOME / "addons").iterdir():
        if one.name not in {without, "__pycache__"}:
            (folder / "httpbed" / "addons" / one.name).symlink_to(one)
    for name, text in more.items():
        (folder / "httpbed" / "addons" / f"{name}.py").write_text(text)
    return folder


def outcomes(package: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Run command lines in one interpreter; return exit code, output and messages of each."""
    environment = {**os.environ, "PYTHONPATH": f"{package}", "PYTHONSAFEPATH": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(commands),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [tuple(json.loads(line)) for line in ended.stdout.splitlines()]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a campaign with a figure, and data of hand-overs and page loads."""
    folder = tmp_path_factory.mktemp("campaign")
    stored_campaigns.make(folder, map(recorded, stored_campaigns.loaded(DRAWN).trials), text=DRAWN)
    return folder


def recorded(trial: Trial) -> Record:
    """Return the record of a trial in which addons observed and checked something."""
    one = stored_campaigns.record(trial)
    more = [Observation(metric=name, value=1.0, source="wire") for name in UNREAD.values()]
    kept = one.attempt.checks
    kept += [check.result(passed=True, figure="1") for check in (HANDOVER_PACE, PAGE_REQUESTS)]
    return one.model_copy(update={"observations": [*one.observations, *more]})


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Write an experiment that only the core reads."""
    (tmp_path / "e.toml").write_text(stored_campaigns.SMALL)
    return tmp_path / "e.toml"


EVERY_CHANGE = {"claims", "handover", "pages"}
"""Addons with data or needed by others: tested with every change, the others every night."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in EVERY_CHANGE else pytest.mark.slow)
        for name in sorted(addons())
    ],
)
def test_the_rest_works_without(
    name: str, tmp_path: Path, experiment: Path, campaign: Path
) -> None:
    """Help, the check of a file, and the report of a campaign that may have data of the addon."""
    verbs = [verb.name for verb in addons()[name].verbs]
    helped, checked, reported, *unknown = outcomes(
        package(tmp_path / "package", without=name),
        ["--help"],
        ["validate", str(experiment)],
        ["report", str(campaign)],
        *([verb] for verb in verbs),
    )
    assert helped[0] == 0, helped
    assert not any(f"\n  {verb} " in helped[1] for verb in verbs)
    assert checked[0] == 0, checked
    assert reported[0] == 0, reported
    unread = {"figures": "the tables figure of", "conformance": "explain", **UNREAD}.get(name)
    assert ("unread: " in reported[1]) == (unread is not None), reported
    assert (unread or "") in reported[1]
    for verb, (code, _, err) in zip(verbs, unknown, strict=True):
        assert (code, f"{verb}: is no verb of httpbed" in err) == (2, True), err


def told(folder: Path, text: str, *words: str, without: str) -> tuple[int, str]:
    """Run a verb on an experiment without an addon; return exit code and messages."""
    file = folder / "e.toml"
    file.write_text(text)
    ((code, _, err),) = outcomes(package(folder / "package", without), [*words, str(file)])
    return code, err


def test_a_handover_that_nobody_would_carry_out_is_a_mistake(tmp_path: Path) -> None:
    """The trials would be those of a client that stays where it is."""
    experiment = Path(__file__).parents[1] / "experiments/liu2024/migration.toml"
    package(tmp_path / "package", without="handover")
    ((code, _, err),) = outcomes(tmp_path / "package", ["validate", str(experiment)])
    assert code == 2, err
    assert "no installed addon carries" in err


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("figures", '[[figure]]\nid = "one"\n', "no installed addon reads this table"),
        ("pages", "", 'is not a kind of workload; use "download"'),
    ],
)
def test_what_only_an_addon_reads_is_a_mistake(
    name: str, table: str, message: str, tmp_path: Path
) -> None:
    """The table or the kind of workload is named."""
    text = stored_campaigns.SMALL + table
    if not table:
        text = text.replace('kind = "download"', 'kind = "page"\npage = "apache-core"')
    code, err = told(tmp_path, text, "validate", without=name)
    assert (code, message in err) == (2, True), err


@pytest.mark.slow
def test_an_archive_of_page_loads_is_read_without_their_addon(tmp_path: Path) -> None:
    """Workload, metrics, claims and figures of page loads are unread; the rest has its values."""
    shutil.copytree(Path(__file__).parents[1] / "results/zhang2023/losses", tmp_path / "losses")
    without = package(tmp_path / "package", without="pages")
    archive = str(tmp_path / "losses")
    reported, judged, exported = outcomes(
        without,
        ["report", archive],
        ["claims", archive],
        ["export", archive, "-o", str(tmp_path / "values.csv")],
    )
    assert reported[0] == exported[0] == 0, (reported, exported)
    said = " ".join(reported[1].split())
    assert re.search(
        "unread: the workload page; the claims Z-.*the figures figure-10 .*metrics .*onload_time",
        said,
    )
    assert re.search(r"aioquic-h3 \d+ \d+\.\d+ s", said)
    assert (judged[0], "not installed" in judged[2]) == (2, True), judged


METRIC = '"""Another."""\nfrom pathlib import Path\nfrom httpbed.base.addon import Addon\n'
TWICE = {
    "files of metrics": '[request_time]\nunit = "s"\nbetter = "lower"\nmeaning = "mine"\n',
}


@pytest.mark.parametrize("words", [["--help"], ["validate"], ["report"]])
def test_a_metric_that_exists_is_refused(
    words: list[str], tmp_path: Path, experiment: Path, campaign: Path
) -> None:
    """Two definitions of one name would make tables that nobody can read."""
    text = TWICE["files of metrics"]
    (tmp_path / "metrics.toml").write_text(text)
    source = METRIC + (
        f"METRICS = Path({str(tmp_path / 'metrics.toml')!r})\n"
        'ADDON = Addon(provides={"files of metrics": ("httpbed.addons.zzz:METRICS",)})\n'
    )
    arguments: dict[str, list[Any]] = {"validate": [experiment], "report": [campaign]}
    command = [*words, *map(str, arguments.get(words[0], []))]
    ((code, _, err),) = outcomes(package(tmp_path / "package", zzz=source), command)
    if words == ["--help"]:
        assert code == 0
    else:
        assert (code, "metrics registered twice: request_time" in err) == (2, True), err
        assert "Traceback" not in err


def test_a_folder_that_registers_nothing_is_named(tmp_path: Path) -> None:
    """A half-made addon is no traceback."""
    ((code, _, err),) = outcomes(package(tmp_path / "package", zzz='"""Nothing."""\n'), ["--help"])
    assert code == 2, err
    assert "httpbed.addons.zzz" in err


def test_a_verb_that_needs_a_deleted_addon_names_it(tmp_path: Path, campaign: Path) -> None:
    """The gate asks for the conformance of senders only while it judges."""
    without = package(tmp_path / "package", without="conformance")
    ((code, _, err),) = outcomes(without, ["gate", str(campaign), str(campaign)])
    assert code == 2, err
    assert "conformance" in err


@pytest.mark.parametrize("word", ["handover", "page", "claim", "figure"])
def test_an_addon_is_asked_only_about_experiments_that_have_its_word(word: str) -> None:
    """One without the word has nothing of it, and runs nothing of it."""
    (name,) = (name for name, addon in addons().items() if addon.word == word)
    own = {maker for maker in SECTIONS.provided() if f".{name}." in maker.make.__module__}
    assert own
    assert own <= {*SECTIONS.provided({word})}
    assert not own & {*SECTIONS.provided({"download"})}


@pytest.mark.parametrize("path", ["liu2024/pages", "liu2024/migration", "examples/handovers"])
def test_the_words_of_a_file_have_those_of_its_trials(path: str) -> None:
    """A report asks, by the file, every addon that the trials asked."""
    file = Path(__file__).parents[1] / f"experiments/{path}.toml"
    loaded = preparation.load(file.read_text(), catalog.load(), file.parent, DesignOptions())
    of_trials = frozenset[str]().union(*(scenario.words for scenario in loaded.scenarios()))
    assert of_trials & {"handover", "page"}
    assert of_trials - {"download"} <= words(loaded.document)
