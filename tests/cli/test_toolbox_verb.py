"""The verbs ``toolbox`` and ``doctor``: data on stdout, and their exit codes.

Mistakes on the command line of ``httpbed doctor audit``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from command_line import Command
from httpbed.base.errors import ConfigError, HostError
from httpbed.bed.machine import doctor
from httpbed.bed.toolbox import root_filesystem
from httpbed.cli import doctor as doctor_verb
from httpbed.cli import toolbox as toolbox_verb


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> root_filesystem.Root:
    """Make a root filesystem as if it had been built, alone in its cache."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))
    home = tmp_path / "toolbox" / "sid-0123456789ab"
    (home / "root").mkdir(parents=True)
    record = {"suite": "sid", "packages": ["curl"], "versions": {"curl": "8"}, "built": "2026"}
    (home / "record.json").write_text(json.dumps(record))
    (found,) = root_filesystem.find_all()
    return found


def test_toolboxes_are_listed_and_removed(root: root_filesystem.Root) -> None:
    """By name; an unknown name exits with code 2."""
    run = CliRunner().invoke
    listed = run(toolbox_verb.command, ["roots", "--json"])
    assert [program["name"] for program in json.loads(listed.stdout)] == [root.name]
    assert isinstance(run(toolbox_verb.command, ["remove", "other"]).exception, ConfigError)
    assert run(toolbox_verb.command, ["remove", root.name]).exit_code == 0
    assert root_filesystem.find_all() == []


def test_the_path_of_a_toolbox_that_is_not_built_is_an_error(root: root_filesystem.Root) -> None:
    """The cache contains another root filesystem; the remedy names the command that builds it."""
    del root
    told = CliRunner().invoke(toolbox_verb.command, ["path"])
    assert isinstance(told.exception, HostError)
    assert "toolbox build" in told.exception.remedy


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (None, 0), (False, 3)])
def test_the_doctors_exit_code(
    monkeypatch: pytest.MonkeyPatch, *, ok: bool | None, code: int
) -> None:
    """3 when something necessary is missing, and only then."""
    point = doctor.Capability("the thing", ok, "as seen", "the way out")
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: [point])
    told = CliRunner().invoke(doctor_verb.command, ["--json"])
    assert told.exit_code == code
    assert json.loads(told.stdout)["able"] is (code == 0)
    text = CliRunner().invoke(doctor_verb.command, []).stdout
    assert ("the way out" in text) is (ok is not True)


def test_every_mistake_is_named_before_anything_runs(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An existing folder stays as it is."""
    monkeypatch.chdir(tmp_path)
    Path("kept").mkdir()
    code, _, stderr = httpbed("doctor", "audit", "--scale", "smoke", "-o", "kept")
    assert (code, stderr.splitlines()) == (
        2,
        [
            "httpbed: --scale: the audit's own experiment has no scales; name a FILE that has them",
            "httpbed: -o kept: exists already; name a new folder",
        ],
    )
    assert not [*Path("kept").iterdir()]


def test_a_folder_that_cannot_be_made_is_named(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its parent is a file."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    code, _, stderr = httpbed("doctor", "audit", "-o", "file/new")
    assert (code, stderr) == (
        2,
        "httpbed: -o file/new: file is not a folder; name another folder\n",
    )
