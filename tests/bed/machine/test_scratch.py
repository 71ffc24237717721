"""Folders of processes that run: what a killed process left is removed by the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from httpbed.bed.machine import scratch

KILLED = """
import os, signal
from httpbed.bed.machine import scratch
with scratch.temporary("campaign") as folder:
    (folder / "file").write_text("left")
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a temporary cache; return the folder of all."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))
    return tmp_path / "scratch"


def test_a_temporary_folder_is_removed_with_its_lock(above: Path) -> None:
    """Whatever is in it."""
    with scratch.temporary("campaign") as folder:
        assert (folder.name, folder.parent.parent) == ("campaign", above)
        (folder / "file").write_text("used")
    assert [path.name for path in above.iterdir()] == ["lock"]


def test_what_a_thread_writes_while_a_folder_is_removed_is_left_to_the_next_process(
    above: Path,
) -> None:
    remove = os.rmdir

    def write_and_remove(path: Any, **options: Any) -> None:
        if path == "output":
            (folder / "output" / "late").touch()
        remove(path, **options)

    with pytest.MonkeyPatch.context() as patch, scratch.temporary("one") as folder:
        (folder / "output").mkdir()
        patch.setattr(os, "rmdir", write_and_remove)
    assert folder.is_relative_to(above)
    assert (folder / "output" / "late").exists()
    with scratch.temporary("two"):
        assert not folder.exists()


def test_what_a_killed_process_left_is_removed_by_the_next(above: Path) -> None:
    """The folders of processes that live stay."""
    lives = scratch.make("worker")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False
    )
    left = Path(killed.stdout.strip())
    assert (left / "file").exists()
    with scratch.temporary("another") as folder:
        assert {path.name for path in above.iterdir()} == {
            "lock",
            lives.parent.name,
            folder.parent.name,
        }
    assert lives.is_dir()
