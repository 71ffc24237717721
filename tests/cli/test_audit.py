"""Mistakes on the command line of ``httpbed doctor audit``."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Command


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
