"""Servers send the modification time of a file, so it is the same for every user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from httpbed.base import disk
from httpbed.base.errors import HostError


def test_every_file_below_a_folder_gets_the_fixed_time(tmp_path: Path) -> None:
    """In folders below, too."""
    (tmp_path / "below").mkdir()
    files = [tmp_path / "a", tmp_path / "below/b"]
    for file in files:
        file.touch()
    disk.fix_times_below(tmp_path)
    times = {file.stat().st_mtime for file in files}
    assert times == {disk.FIXED_TIME.timestamp()}


def test_another_users_file_with_another_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the fixed time it may stay another user's."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for file in (ours, theirs):
        file.touch()
    disk.fix_time(ours)

    def forbidden(file: Path, *, ns: tuple[int, int]) -> None:
        raise PermissionError(file, ns)

    monkeypatch.setattr(os, "utime", forbidden)
    disk.fix_time(ours)
    with pytest.raises(HostError, match=r"theirs belongs to another user .* set HTTPBED_CACHE"):
        disk.fix_time(theirs)
