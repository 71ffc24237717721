"""What programs left is read without trust, and nothing is written through it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from httpbed.host.sandbox import untrusted_files
from httpbed.host.sandbox.untrusted_files import UnreadableError
from httpbed.programs.parsers import PARSERS

TRAPS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "link": lambda place: place.symlink_to("/etc/hostname"),
    "device": lambda place: place.symlink_to("/dev/zero"),
    "nowhere": lambda place: place.symlink_to("absent"),
    "folder": Path.mkdir,
}
every_trap = pytest.mark.parametrize("trap", TRAPS)


@every_trap
def test_traps_are_not_read(tmp_path: Path, trap: str) -> None:
    """Neither their content, nor their last line; and nobody waits."""
    TRAPS[trap](tmp_path / "file")
    with pytest.raises(UnreadableError, match="file"):
        untrusted_files.text(tmp_path / "file")
    assert untrusted_files.last_line(tmp_path, "file") == ""


@every_trap
@pytest.mark.parametrize("parser", sorted(set(PARSERS) - {"none"}))
def test_traps_are_complaints(tmp_path: Path, trap: str, parser: str) -> None:
    """No parser believes them, and none ends by them."""
    TRAPS[trap](tmp_path / "file")
    found = PARSERS[parser](tmp_path / "file")
    assert found.complaint
    assert not found.requests


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    """Beyond it, whole is what it cannot be; so nothing of it is told."""
    (tmp_path / "file").write_text("one\ntwo\n")
    assert untrusted_files.text(tmp_path / "file", most=8) == "one\ntwo\n"
    with pytest.raises(UnreadableError, match="longer than"):
        untrusted_files.text(tmp_path / "file", most=7)


def test_a_linked_folder_is_not_looked_into(tmp_path: Path) -> None:
    """A program may have put the link in its folder's place, or further up."""
    (tmp_path / "own/inner").mkdir(parents=True)
    (tmp_path / "own/inner/file").write_text("text")
    (tmp_path / "link").symlink_to("own")
    assert untrusted_files.last_line(tmp_path, "own/inner/file") == "text"
    assert untrusted_files.last_line(tmp_path, "link/inner/file") == ""
    with pytest.raises(UnreadableError):
        untrusted_files.text(tmp_path / "link/file")
    with pytest.raises(OSError, match="link"):
        untrusted_files.write(tmp_path, "link/inner/file", "other")
    assert (tmp_path / "own/inner/file").read_text() == "text"


@pytest.mark.parametrize(
    ("text", "line"), [("", ""), ("one", "one"), ("one\ntwo\n\n", "two"), ("x" * 9000, "x" * 4096)]
)
def test_the_last_line_is_read_from_the_end(tmp_path: Path, text: str, line: str) -> None:
    """However long the file is."""
    (tmp_path / "file").write_text(text)
    assert untrusted_files.last_line(tmp_path, "file") == line


@pytest.mark.parametrize("trap", sorted(set(TRAPS) - {"folder"}))
def test_what_is_in_the_way_is_removed(tmp_path: Path, trap: str) -> None:
    """What a link leads to stays as it was."""
    (tmp_path / "own").mkdir()
    TRAPS[trap](tmp_path / "own/file")
    before = Path("/etc/hostname").read_bytes()
    untrusted_files.write(tmp_path, "own/file", "text")
    assert not (tmp_path / "own/file").is_symlink()
    assert (tmp_path / "own/file").read_text() == "text"
    assert Path("/etc/hostname").read_bytes() == before


def test_folders_are_made_on_the_way(tmp_path: Path) -> None:
    """As recipes name files in folders."""
    untrusted_files.write(tmp_path, "part/conf/file", "text")
    untrusted_files.write(tmp_path, "part/conf/file", "other")
    assert (tmp_path / "part/conf/file").read_text() == "other"
