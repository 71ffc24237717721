"""Mistakes in the syntax of TOML, with the damaged line."""

from __future__ import annotations

import re

BYTE_ORDER_MARK = "\ufeff"
LONGEST_LINE = 80
"""Characters of a damaged line that a message repeats."""
_WORDS = (
    (r"Invalid value \(at end of document\)", "a list or a table in braces is not closed"),
    (r"Unterminated string \(at end of document\)", "a text has no closing quotes"),
    (r"Expected \"'\" \(at end of document\)", "a text has no closing quote"),
    (
        r"Expected newline or end of document after a statement",
        "the line goes on after its value or table; put a text in quotes",
    ),
    (r"Illegal character '\\n'", "a text has no closing quote"),
    (r"Cannot overwrite a value", "the key is given twice; keep one"),
    (r"Invalid value", "the value is neither a number, true, false nor a text in quotes"),
    (r"Invalid statement", "a line is neither KEY = VALUE nor [TABLE]"),
)
"""Messages of tomllib that do not name the mistake, each with ours."""
_TABLE_TWICE = re.compile(r"Cannot (?:declare|mutate immutable|redefine).*? (\(.*?\))(?: twice)?")


def in_line(error: Exception, text: str) -> str:
    """Return tomllib's message with the line that it means."""
    if text.startswith(BYTE_ORDER_MARK):
        return "it begins with a byte order mark; save it as UTF-8 without one"
    message = str(error)
    for theirs, ours in _WORDS:
        message = re.sub(theirs, ours, message)
    message = _TABLE_TWICE.sub(_given_twice, message)
    found = re.search(r"\(at line (\d+), column \d+\)", message)
    lines = text.splitlines()
    if not found or not 0 < int(found[1]) <= len(lines):
        return message
    line = lines[int(found[1]) - 1].strip()
    shown = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."
    return f"{message}: {shown}"


def _given_twice(found: re.Match[str]) -> str:
    keys = re.findall(r"'([^']+)'", found[1])
    return f"[{'.'.join(keys)}] is given twice; write its keys in one place"
