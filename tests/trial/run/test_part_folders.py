"""Folders of parts are counted, cut and cleaned, whatever is in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from httpbed.trial.run import part_folders

MOST = 10**6


def said(artifacts: Path, most: int = MOST) -> str:
    """Check the client's folder; return what is wrong with it."""
    return part_folders.excess(artifacts, {"client": most}).get("client", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make the client's folder with entries that no program should leave."""
    folder = tmp_path / "client"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/file").write_bytes(bytes(3 * MOST))
    (folder / "link").symlink_to(tmp_path / "victim")
    (folder / "inner/other").symlink_to(tmp_path / "victim/file")
    os.mkfifo(folder / "pipe")
    return folder


def test_links_in_a_folder_are_not_followed(tmp_path: Path, folder: Path) -> None:
    """Neither to count nor to cut."""
    assert said(tmp_path) == ""
    (folder / "inner/long").write_bytes(bytes(2 * MOST))
    assert said(tmp_path).startswith("wrote more than 1 MB into its folder")
    part_folders.cut(folder)
    assert (folder / "inner/long").stat().st_size <= 2**20
    assert (tmp_path / "victim/file").stat().st_size == 3 * MOST
    left = {path.name for path in folder.rglob("*")}
    assert left == {"inner", "long"}


@pytest.mark.parametrize("make", ["file", "folder"])
def test_empty_files_count(tmp_path: Path, folder: Path, make: str) -> None:
    """Each takes a block of the disk."""
    for number in range(300):
        (folder / f"{number}").mkdir() if make == "folder" else (folder / f"{number}").touch()
    assert said(tmp_path).startswith("wrote more than")
    part_folders.cut(folder)
    assert sum(path.is_file() for path in folder.iterdir()) <= 64


def test_deeply_nested_folders_are_excess(tmp_path: Path, folder: Path) -> None:
    """Each level would take a descriptor."""
    (folder / "/".join("d" * 30)).mkdir(parents=True)
    assert said(tmp_path) == ""
    (folder / "/".join("d" * 300)).mkdir(parents=True)
    assert said(tmp_path).startswith("made folders more than 32 deep")
    part_folders.cut(folder)


@pytest.mark.parametrize("other", ["link", "file", "nothing"])
def test_a_replaced_folder_is_excess(tmp_path: Path, folder: Path, other: str) -> None:
    """The replacement is not touched."""
    folder.rename(tmp_path / "moved")
    if other == "link":
        folder.symlink_to(tmp_path / "victim")
    elif other == "file":
        folder.touch()
    assert said(tmp_path).startswith("put something else in its folder's place")
    part_folders.cut(folder)
    assert (tmp_path / "victim/file").stat().st_size == 3 * MOST


def claimed(artifacts: Path, most: int = MOST) -> str:
    """Take over the client's folder; return what was wrong with it."""
    return part_folders.claim(artifacts, {"client": most}).get("client", "")


def test_entries_that_are_no_plain_files_are_removed_and_named(
    tmp_path: Path, folder: Path
) -> None:
    """Nothing that a link leads to is touched."""
    os.close(os.open(os.fsencode(folder) + b"/\xff\x1b", os.O_CREAT))
    said = claimed(tmp_path)
    for word in ("a named pipe, 'pipe'", "a symbolic link, 'link'", r"'\udcff\x1b'"):
        assert word in said
    assert [path.name for path in folder.rglob("*")] == ["inner"]
    assert (tmp_path / "victim/file").stat().st_size == 3 * MOST
    assert claimed(tmp_path) == ""


def test_closed_folders_and_files_are_opened(tmp_path: Path, folder: Path) -> None:
    """The user can read and remove them afterwards."""
    (folder / "inner/file").write_text("text")
    (folder / "inner/file").chmod(0)
    for path in (folder / "inner", folder):
        path.chmod(0)
    said = claimed(tmp_path)
    assert said.startswith("closed its folder; ")
    assert "closed 'inner' in its folder" in said
    assert (folder / "inner/file").read_text() == "text"


def test_files_beyond_a_bound_are_cut(tmp_path: Path, folder: Path) -> None:
    """In bytes or in names."""
    (folder / "long").write_bytes(bytes(2 * MOST))
    assert "wrote more than 1 MB" in claimed(tmp_path)
    assert (folder / "long").stat().st_size <= 2**20
    for number in range(part_folders.MOST_NAMES):
        (folder / f"{number}").touch()
    assert "made more than 4096 files" in claimed(tmp_path, 10**9)
    assert len(list(folder.iterdir())) < 200


def test_a_replacement_of_a_folder_is_named(tmp_path: Path) -> None:
    """It stays unchanged."""
    (tmp_path / "client").touch()
    assert claimed(tmp_path) == "put something else in its folder's place"
