"""Long steps report that they run and how far they are."""

from __future__ import annotations

import queue
from pathlib import Path

import pytest

from httpbed.bed.toolbox import build_steps, compiled, root_filesystem

PATIENCE_S = 20.0


def test_a_long_step_says_how_long_and_how_far() -> None:
    """Until it ends; without a word on how far it is, only how long."""
    lines = queue.SimpleQueue[str]()
    words = iter(["", "3 of 9 packages"])
    with build_steps.reported(
        "building", lines.put, how_far=lambda: next(words, "more"), first_s=0.01
    ):
        first, second = lines.get(timeout=PATIENCE_S), lines.get(timeout=PATIENCE_S)
    assert (first, second) == ("building: 0 s so far", "building: 0 s so far, 3 of 9 packages")


def test_a_short_step_reports_nothing() -> None:
    """It ends before the first report."""
    lines = list[str]()
    with build_steps.reported("building", lines.append):
        pass
    assert lines == []


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", ""),
        ("   Compiling libc v0.2.1\n   Compiling boring-sys v4.9 (x)\n", "now boring-sys"),
    ],
)
def test_a_build_by_cargo_is_as_far_as_its_log(tmp_path: Path, log: str, words: str) -> None:
    """The log names each package when its compilation begins."""
    (tmp_path / "log").write_text(log)
    told = compiled.QUICHE.how_far(tmp_path / "log")
    assert told.endswith(words)
    assert told.startswith("2 of about ") == bool(words)


def test_a_root_filesystem_is_as_far_as_its_last_step(tmp_path: Path) -> None:
    """Mmdebstrap marks its steps; other lines are those of its programs."""
    log = tmp_path / "log"
    assert root_filesystem.last_step(log) == ""
    log.write_text(
        "I: running apt-get update...\nGet:1 http://x\nI: downloading packages...\ndone\n"
    )
    assert root_filesystem.last_step(log) == "downloading packages"
