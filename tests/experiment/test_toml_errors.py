"""Mistakes in the syntax of an experiment file: the mistake, its place and its line."""

from __future__ import annotations

import pytest

from httpbed.experiment import parser

TWICE = "is given twice; write its keys in one place"
UNQUOTED = "the line goes on after its value or table; put a text in quotes"


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        ("[a]\nx = 1\n[a]\n", f"[a] {TWICE}", (3, 3)),
        ("a = { x = 1 }\na.y = 2\n", f"[a] {TWICE}", (2, 8)),
        ("[a.b]\n[a.b]\n", f"[a.b] {TWICE}", (2, 5)),
        ("a = 1\na = 2\n", "the key is given twice; keep one", (2, 6)),
        ("a = b\n", "the value is neither a number, true, false nor a text in quotes", (1, 5)),
        ("{}\n", "a line is neither KEY = VALUE nor [TABLE]", (1, 1)),
        ('a = "b\n', "a text has no closing quote", (1, 7)),
        ("a = 10 Mbit/s\n", UNQUOTED, (1, 8)),
    ],
)
def test_a_syntax_error_has_words_of_toml(text: str, words: str, place: tuple[int, int]) -> None:
    """The parser of the standard library says some of them in its own terms."""
    (mistake,) = parser.read(text).mistakes
    line, column = place
    where = f"(at line {line}, column {column}): {text.splitlines()[line - 1]}"
    assert mistake.reason == f"is not valid TOML: {words} {where}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = [1,\n", "a list or a table in braces is not closed"),
        ('a = """\n', "a text has no closing quotes"),
        ("a = 'b\n", "a text has no closing quote"),
        ("\ufeffa = 1\n", "it begins with a byte order mark; save it as UTF-8 without one"),
    ],
)
def test_a_mistake_without_a_line_is_named(text: str, words: str) -> None:
    """The parser finds it at the end of the file, or in a character that is not shown."""
    (mistake,) = parser.read(text).mistakes
    assert mistake.reason == f"is not valid TOML: {words}"


def test_a_long_line_is_cut() -> None:
    """A file of JSON is one line."""
    (mistake,) = parser.read("{" * 5000).mistakes
    assert mistake.reason.endswith(" ...")
    assert len(mistake.reason) < 200
