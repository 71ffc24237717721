"""A user's file is written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from httpbed.base import disk


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is left beside it."""
    file = tmp_path / "report.html"
    disk.write_output(file, b"old")

    def fill(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fill)
    with pytest.raises(OSError, match="No space left"):
        disk.write_output(file, b"new")
    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    """Others cannot read a private report after it was written again."""
    file = tmp_path / "report.html"
    disk.write_output(file, b"old")
    file.chmod(0o600)
    disk.write_output(file, b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o600)


def test_a_write_protected_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename needs only the folder's permission, but the user protected the file."""
    file = tmp_path / "report.html"
    file.write_bytes(b"old")
    file.chmod(0o400)
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path).stat().st_mode & 0o200)
    with pytest.raises(PermissionError) as raised:
        disk.write_output(file, b"new")
    assert raised.value.filename == str(file)
    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    """The unfinished file has a short name."""
    file = tmp_path / ("r" * 255)
    disk.write_output(file, b"new")
    assert file.read_bytes() == b"new"


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    """The user put it there."""
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    disk.write_output(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """A rename would put a file in its place, even in that of a device such as /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    disk.write_output(pipe, b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert pipe.is_fifo()
