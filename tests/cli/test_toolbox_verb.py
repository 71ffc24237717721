"""The verbs ``toolbox`` and ``doctor``: data on stdout, and their exit codes.

Mistakes on the command line of ``httpbed doctor audit``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from command_line import Command
from httpbed.base.errors import ConfigError
from httpbed.bed import doctor
from httpbed.bed.toolbox import root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents
from httpbed.cli import doctor as doctor_verb
from httpbed.cli import toolbox as toolbox_verb
from httpbed.trial import program_roots


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


def test_a_named_program_that_cannot_be_built_exits_with_3(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is on stderr; without names, the programs that can be built are enough."""

    def fail(needed: Mapping[Contents, object], **_: object) -> tuple[object, object]:
        return {}, dict.fromkeys(needed, "the archive does not answer")

    monkeypatch.setattr(program_roots, "build", fail)
    code, out, err = httpbed("toolbox", "build", "curl")
    assert (code, out) == (3, "")
    assert "curl not built: the archive does not answer" in err


def test_the_list_of_programs_fits_a_terminal() -> None:
    """What a program consists of, and why it is not here, stands with the program alone."""
    listed = CliRunner().invoke(toolbox_verb.command, [])
    rows = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert max(map(len, rows.values())) <= 80
    # The user brings hq, which no machine of CI has.
    assert rows["hq"].endswith("no    your own")
    assert rows["aioquic"].endswith("PyPI")
    assert rows["httpbed-quiche"].endswith("sources")
    shown = CliRunner().invoke(toolbox_verb.command, ["hq"])
    assert "no: hq is not on the PATH" in shown.stdout


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (None, 0), (False, 3)])
def test_the_doctors_exit_code(
    monkeypatch: pytest.MonkeyPatch, *, ok: bool | None, code: int
) -> None:
    """3 when something necessary is missing, and only then."""
    point = doctor.Capability("the thing", ok, "as seen", "the way out")
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: [point])
    clock = SimpleNamespace(test=lambda: point)  # which boots no guest
    monkeypatch.setattr(doctor_verb, "CLOCKS", SimpleNamespace(provided=lambda: [clock]))
    told = CliRunner().invoke(doctor_verb.command, ["--json"])
    assert told.exit_code == code
    assert json.loads(told.stdout)["able"] is (code == 0)
    text = CliRunner().invoke(doctor_verb.command, []).stdout
    assert ("the way out" in text) is (ok is not True)
