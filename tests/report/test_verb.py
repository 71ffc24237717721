"""``httpbed report`` on a campaign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaigns import campaign
from httpbed.base.errors import ConfigError
from httpbed.cli import report
from httpbed.store import query


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a folder that reads back as a campaign."""
    results = campaign(lambda _levels, block: 1 + block / 100, directory=tmp_path)
    monkeypatch.setattr(query, "read", lambda _path: results)
    return tmp_path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(report.command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_table_and_the_page(directory: Path) -> None:
    """The last line is the page's path."""
    assert run(str(directory)).splitlines()[-1] == f"report     {directory / 'report.html'}"
    assert (directory / "report.html").is_file()


def test_another_metric_base_and_place(directory: Path) -> None:
    """All by option, and the page where it was asked for."""
    page = directory / "other.html"
    text = run(str(directory), "--metric", "goodput", "--base", "http_version=3", "-o", str(page))
    assert "goodput" in text
    assert "ratio to H3" in text
    assert page.is_file()
    assert not (directory / "report.html").exists()


@pytest.mark.parametrize(
    "wrong", [["--base", "3"], ["--base", "speed=3"], ["-o", "/nowhere/at/all.html"]]
)
def test_mistakes_are_reported_before_anything_is_written(
    directory: Path, wrong: list[str]
) -> None:
    """They are the user's, with the remedy."""
    with pytest.raises(ConfigError):
        run(str(directory), *wrong)
    assert not list(directory.iterdir())


def test_markdown_is_printed_and_nothing_is_written(directory: Path) -> None:
    """A pull request needs neither an HTML report nor figures."""
    text = run(str(directory), "--format", "markdown", "--metric", "goodput")
    assert "| loss | http | n | goodput" in text
    assert not list(directory.iterdir())


def test_json_on_standard_output(directory: Path) -> None:
    """The document and nothing else; both options name it, and may be given together."""
    printed = run(str(directory), "--json")
    found = json.loads(printed)
    assert (found["schema"], found["metric"]) == (1, "request_time")
    assert run(str(directory), "--format", "json", "--json") == printed


@pytest.mark.parametrize(
    ("options", "places"),
    [
        (["--format", "markdown", "--json"], ["--json"]),
        (["--format", "text", "--json"], ["--json"]),
        (["--format", "markdown", "-o", "r.html"], ["-o"]),
        (["--trial", "1/abc", "-o", "r.html"], ["-o"]),
        (["--format", "markdown", "-o", "r.html", "--json"], ["--json", "-o"]),
        (
            ["--format", "markdown", "--experiment", "e.toml", "--trial", "1/a"],
            ["--experiment", "--experiment", "--trial", "e.toml"],
        ),
        (
            ["--trial", "1/a", "-o", "r.html", "--metric", "goodput", "--base", "loss=0 %"],
            ["-o", "--metric", "--base"],
        ),
    ],
)
def test_options_that_contradict_each_other_are_all_named(
    directory: Path, options: list[str], places: list[str]
) -> None:
    """Nothing is ignored in silence."""
    with pytest.raises(ConfigError) as caught:
        run(str(directory), *options)
    assert [mistake.place for mistake in caught.value.mistakes] == places
    assert not list(directory.iterdir())
