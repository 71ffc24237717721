"""Servers send the modification time of a file, so it is the same for every user."""

from __future__ import annotations

from pathlib import Path

from httpbed.host import modification_time


def test_every_file_below_a_folder_gets_the_fixed_time(tmp_path: Path) -> None:
    """In folders below, too."""
    (tmp_path / "below").mkdir()
    files = [tmp_path / "a", tmp_path / "below/b"]
    for file in files:
        file.touch()
    modification_time.fix_below(tmp_path)
    times = {file.stat().st_mtime for file in files}
    assert times == {modification_time.FIXED.timestamp()}
