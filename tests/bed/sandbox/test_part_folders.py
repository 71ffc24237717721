"""What parts left is copied as plain files and folders, within bounds, whatever it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from httpbed.bed.sandbox import part_folders

MOST = 10**6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a part's folder with entries that no program should leave."""
    folder = tmp_path / "left"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner/file").write_text("text")
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/file").write_bytes(bytes(3 * MOST))
    (folder / "link").symlink_to(tmp_path / "victim")
    (folder / "inner/other").symlink_to(tmp_path / "victim/file")
    os.mkfifo(folder / "pipe")
    return folder


def collected(folder: Path, most: int = MOST) -> str:
    """Copy the folder to the one beside it; return what was wrong with it."""
    handle = part_folders.opened(folder.name, os.open(folder.parent, os.O_RDONLY))
    return str(part_folders.collect(handle, folder.parent / "kept", most))


def kept(folder: Path) -> set[str]:
    """Return the paths of what was copied."""
    copied = folder.parent / "kept"
    return {str(path.relative_to(copied)) for path in copied.rglob("*")}


def test_only_plain_files_and_folders_are_copied(folder: Path) -> None:
    """The others are named, and nothing that a link leads to is touched."""
    os.close(os.open(os.fsencode(folder) + b"/\xff\x1b", os.O_CREAT))
    said = collected(folder)
    for word in ("a named pipe, 'pipe'", "a symbolic link, 'link'", r"'\udcff\x1b'"):
        assert word in said
    assert kept(folder) == {"inner", "inner/file"}


def test_closed_folders_and_files_are_copied(folder: Path) -> None:
    """They are named."""
    (folder / "inner/file").chmod(0)
    (folder / "inner").chmod(0)
    handle = part_folders.opened(folder.name, os.open(folder.parent, os.O_RDONLY))
    folder.chmod(0)  # as a program does when the folder is already open
    said = str(part_folders.collect(handle, folder.parent / "kept", MOST))
    assert said.startswith("closed its folder; ")
    assert "closed 'inner' in its folder" in said
    assert (folder.parent / "kept/inner/file").read_text() == "text"


def test_links_count_as_what_they_would_take_on_disk(folder: Path) -> None:
    """A second name of a file takes no memory, but a copy of it takes disk."""
    (folder / "long").write_bytes(bytes(MOST // 2))
    assert "filled" not in collected(folder)
    os.link(folder / "long", folder / "again")
    (folder.parent / "kept").rename(folder.parent / "before")
    assert collected(folder).startswith("filled its folder of 1 MB")


def test_a_hole_stays_a_hole_and_counts(folder: Path) -> None:
    """It has the length that a reader sees, and takes no room on this disk."""
    with (folder / "hole").open("wb") as file:
        file.truncate(2**40)
    with (folder / "mixed").open("wb") as file:
        file.seek(300_000)
        file.write(b"data")
        file.truncate(500_000)
    assert collected(folder, most=2**41) != ""
    hole, mixed = folder.parent / "kept/hole", folder.parent / "kept/mixed"
    assert (hole.stat().st_size, hole.stat().st_blocks) == (2**40, 0)
    assert mixed.read_bytes() == (folder / "mixed").read_bytes()
    assert mixed.stat().st_blocks * 512 < 100_000


def test_of_a_filled_folder_the_beginnings_of_some_files_are_copied(folder: Path) -> None:
    """Enough to see what filled it."""
    (folder / "long").write_bytes(b"x" * 3 * 2**20)
    for number in range(100):
        (folder / f"{number}").write_text("short")
    assert collected(folder, most=2 * 2**20).startswith("filled its folder of 2 MB")
    files = [path for path in (folder.parent / "kept").rglob("*") if path.is_file()]
    assert len(files) <= 64
    assert max(path.stat().st_size for path in files) <= 2**20


@pytest.mark.parametrize("make", ["file", "folder"])
def test_empty_files_count(folder: Path, make: str) -> None:
    """Each takes a block of the disk."""
    for number in range(300):
        (folder / f"{number}").mkdir() if make == "folder" else (folder / f"{number}").touch()
    assert collected(folder).startswith("filled its folder")


def test_deeply_nested_folders_are_not_copied(folder: Path) -> None:
    """Each level would take a descriptor."""
    (folder / "/".join("d" * 30)).mkdir(parents=True)
    assert "deep" not in collected(folder)
    (folder.parent / "kept").rename(folder.parent / "before")
    deep = os.open(folder, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("e", dir_fd=deep)
        inner = os.open("e", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(deep)
    assert "made folders more than 32 deep" in collected(folder)
    assert max(path.count("/") for path in kept(folder)) < 32
