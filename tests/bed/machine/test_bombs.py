"""No file of a program takes much memory to read: lines, values and nesting are bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import bombs
from httpbed.base import untrusted_files

MAX_MB = 700
"""A file of 63 MB as text, and the values that are parsed of it."""
PAIRS = [
    ("requests-json", "objects"),
    ("quiche-json", "nested"),
    ("har", "list"),
]
MORE_PAIRS = [
    ("curl-json", "objects"),
    ("requests-json", "list"),
    ("requests-json", "keys"),
    ("access-log-json", "objects"),
    ("access-log-json", "log"),
    ("caddy-json", "lists"),
    ("quiche-json", "member"),
    ("quiche-json", "numbers"),
    ("quiche-json", "digits"),
    ("quiche-json", "quotes"),
    ("wget2-stats", "empty lines"),
    ("wget2-stats", "short lines"),
    ("driver_output", "objects"),
    ("driver_output", "events"),
    ("driver_output", "list"),
    ("har", "keys"),
]


@pytest.mark.parametrize(
    ("reader", "bomb"),
    [*PAIRS, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in MORE_PAIRS)],
)
def test_a_bomb_is_refused_in_little_memory(reader: str, bomb: str, tmp_path: Path) -> None:
    """The reader ends as with any unreadable file."""
    command = [sys.executable, bombs.__file__, reader, bomb, str(tmp_path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    megabytes, _, _ = ran.stdout.partition("\t")
    assert int(megabytes) < MAX_MB, ran.stdout


def test_values_are_counted_and_texts_are_not() -> None:
    """A body of a HAR file has more commas than the document has values."""
    assert untrusted_files.json_value('{"a": ",,,,[[[[{{{{", "b\\\\": "::::\\""}', most=5)
    with pytest.raises(untrusted_files.UnreadableError, match="has too many values"):
        untrusted_files.json_value("[1,2,3,4,5]", most=5)


def test_the_bound_is_of_all_lines_of_a_file_together() -> None:
    """A list of parsed lines is kept, too."""
    parser = untrusted_files.BoundedParser(10)
    assert [parser.value("[1,2]") for _ in range(3)] == [[1, 2]] * 3
    with pytest.raises(untrusted_files.UnreadableError):
        parser.value("[1,2]")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "[" * 10**5, "1" * 10**4])
def test_what_json_has_not_is_refused(text: str) -> None:
    """As a ValueError, which every reader expects."""
    with pytest.raises(ValueError):  # noqa: PT011 - of several kinds
        untrusted_files.json_value(text)


def test_lines_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And end where JSON has line ends: not within a text."""
    monkeypatch.setattr(untrusted_files, "MAX_LINES", 2)
    (tmp_path / "two").write_text("a\u2028b\nc")
    (tmp_path / "three").write_text("a\nb\nc")
    assert [*untrusted_files.lines(tmp_path / "two")] == ["a\u2028b", "c"]
    with pytest.raises(untrusted_files.UnreadableError, match="has more than 2 lines"):
        list(untrusted_files.lines(tmp_path / "three"))
