"""Files that programs left are read without following links, and never written through."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from httpbed.base import untrusted_files
from httpbed.base.untrusted_files import UnreadableError
from httpbed.programs import parsers
from httpbed.programs.parsers import known

TRAPS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "link": lambda place: place.symlink_to("/etc/hostname"),
    "device": lambda place: place.symlink_to("/dev/zero"),
    "nowhere": lambda place: place.symlink_to("absent"),
    "folder": Path.mkdir,
}
every_trap = pytest.mark.parametrize("trap", TRAPS)


@every_trap
def test_links_pipes_and_folders_are_not_read_as_files(tmp_path: Path, trap: str) -> None:
    """No read blocks, and the last line is empty."""
    TRAPS[trap](tmp_path / "file")
    with pytest.raises(UnreadableError, match="file"):
        untrusted_files.text(tmp_path / "file")
    assert untrusted_files.last_line(tmp_path, "file") == ""


@every_trap
@pytest.mark.parametrize("parser", sorted(set(known()) - {"none"}))
def test_parsers_report_links_pipes_and_folders_in_place_of_files(
    tmp_path: Path, trap: str, parser: str
) -> None:
    """No parser fails or believes them."""
    TRAPS[trap](tmp_path / "file")
    report = parsers.read(parser, tmp_path / "file")
    assert report.complaint
    assert not report.requests


def test_a_file_longer_than_the_limit_is_rejected(tmp_path: Path) -> None:
    """A file of the limit's length is read."""
    (tmp_path / "file").write_text("one\ntwo\n")
    assert untrusted_files.text(tmp_path / "file", most=8) == "one\ntwo\n"
    with pytest.raises(UnreadableError, match="longer than"):
        untrusted_files.text(tmp_path / "file", most=7)


def test_links_in_place_of_folders_are_not_followed(tmp_path: Path) -> None:
    """A program may have put the link anywhere above the file."""
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
    """The file may have any length."""
    (tmp_path / "file").write_text(text)
    assert untrusted_files.last_line(tmp_path, "file") == line


@pytest.mark.parametrize("trap", sorted(set(TRAPS) - {"folder"}))
def test_writing_replaces_whatever_is_at_the_place(tmp_path: Path, trap: str) -> None:
    """The target of a link stays unchanged."""
    (tmp_path / "own").mkdir()
    TRAPS[trap](tmp_path / "own/file")
    before = Path("/etc/hostname").read_bytes()
    untrusted_files.write(tmp_path, "own/file", "text")
    assert not (tmp_path / "own/file").is_symlink()
    assert (tmp_path / "own/file").read_text() == "text"
    assert Path("/etc/hostname").read_bytes() == before


def test_writing_makes_missing_folders(tmp_path: Path) -> None:
    """Recipes write files in folders."""
    untrusted_files.write(tmp_path, "part/conf/file", "text")
    untrusted_files.write(tmp_path, "part/conf/file", "other")
    assert (tmp_path / "part/conf/file").read_text() == "other"
