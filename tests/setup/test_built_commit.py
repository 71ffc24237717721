"""The commit that a wheel says it was built from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import hatch_build

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org")


def git(folder: Path, *words: str) -> str:
    line = ["git", *AUTHOR, *words]
    return subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_wheel_names_its_commit_and_whether_files_differ(tmp_path: Path) -> None:
    """Without git it names none."""
    assert hatch_build._commit(tmp_path) == ""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    assert hatch_build._commit(tmp_path) == commit
    (tmp_path / "file").write_text("two")
    assert hatch_build._commit(tmp_path) == f"{commit}+"
