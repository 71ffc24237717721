"""Files that programs left are taken over and removed, whatever the programs did to them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from httpbed.host.sandbox import removal

LEVELS = 1500
"""More than a recursion of Python's goes, and than a process has descriptors."""


def nested(top: Path) -> None:
    """Make deeply nested folders, the last one without access rights."""
    top.mkdir()
    handle = os.open(top, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.fchmod(handle, 0)
    os.close(handle)


def test_a_tree_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    """The innermost folder has no access rights."""
    nested(tmp_path / "top")
    removal.remove(tmp_path / "top")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_removed_without_the_targets_of_its_links(tmp_path: Path) -> None:
    """It contains links, pipes, names that are not UTF-8, and closed folders."""
    kept, top = tmp_path / "kept", tmp_path / "top"
    for folder in (kept, top, top / "closed"):
        folder.mkdir()
    (kept / "file").touch()
    (top / "link").symlink_to(kept)
    (top / "closed/file").touch()
    (top / "closed").chmod(0)
    os.mkfifo(top / "pipe")
    os.close(os.open(os.fsencode(top) + b"/\xff", os.O_CREAT))
    removal.remove(top)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


def test_a_link_in_place_of_a_folder_is_removed_without_its_target(tmp_path: Path) -> None:
    """The target stays."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to("kept")
    removal.remove(tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("mode", [0, 0o500, 0o700])
def test_a_folder_that_is_taken_over_can_be_read_and_changed(tmp_path: Path, mode: int) -> None:
    """The result says whether its owner lacked these rights."""
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    assert removal.take_over(folder) == (mode != 0o700)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not removal.take_over(folder)


@pytest.mark.parametrize("mode", [0o4755, 0o6777, 0o2755, 0o666, 0o7000])
def test_taking_over_drops_setuid_and_write_access_of_others(tmp_path: Path, mode: int) -> None:
    """This holds for files and folders."""
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.touch()
    folder.mkdir()
    handle = os.open(tmp_path, os.O_RDONLY)
    for path in (file, folder):
        path.chmod(mode)
        removal.take_over(path.name, handle)
        assert stat.S_IMODE(path.stat().st_mode) & 0o7022 == 0
    os.close(handle)


def test_a_link_is_not_taken_over(tmp_path: Path) -> None:
    """Its target stays unchanged, too."""
    target = tmp_path / "target"
    target.mkdir(mode=0o500)
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(NotADirectoryError):
        removal.take_over(tmp_path / "link")
    handle = os.open(tmp_path, os.O_RDONLY)
    assert not removal.take_over("link", handle)
    os.close(handle)
    assert stat.S_IMODE(target.stat().st_mode) == 0o500
