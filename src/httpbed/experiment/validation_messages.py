"""Errors of pydantic and tomllib in the words of all other mistakes."""

from __future__ import annotations

import re

from pydantic_core import ErrorDetails

from httpbed.base import spellings
from httpbed.base.errors import MAX_LISTED, RejectedValueError, did_you_mean, first_names
from httpbed.base.units import format_alike

_EXPECTED = {
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
"""What a place accepts, by pydantic's name of the error, in the words of TOML."""
_BOUNDS = {
    "greater_than_equal": ("ge", "must be {} or more"),
    "greater_than": ("gt", "must be more than {}"),
    "less_than_equal": ("le", "must be {} or less"),
    "less_than": ("lt", "must be less than {}"),
}
"""The bound in the context of pydantic's error, and the message about it."""
_LONGEST_VALUE = 40
"""Characters of a value that a message repeats."""
_SUBJECTS = re.compile(r"^(Input|String|List|Tuple|Dictionary|Value) should ")


def reason_and_remedy(detail: ErrorDetails) -> tuple[str, str]:
    """Return what is wrong with a value, and what to do; no remedy if the reason says it."""
    error = detail.get("ctx", {}).get("error")
    if isinstance(error, RejectedValueError):
        return error.reason, error.remedy
    remedy = _of_schema(detail["input"]) if detail["loc"] == ("schema",) else ""
    if detail["type"] == "literal_error":
        remedy = did_you_mean(str(detail["input"]), _accepted_words(detail), remedy)
    return _reason(detail), remedy


def _of_schema(stated: object) -> str:
    """Return what to do about a schema that this httpbed does not read."""
    if isinstance(stated, int) and stated > 1:
        return f"write schema = 1, or use a newer httpbed, which reads schema {stated}"
    return "write schema = 1"


def _reason(detail: ErrorDetails) -> str:
    """Return what is wrong with a value, and the rejected value if it is short."""
    value, kind = detail["input"], detail["type"]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "string_type" and is_number:
        return f'must be a text, not {value!r}: write it in quotes, "{value}"'
    message = _expected(detail)
    if kind == "value_error" or not message.startswith("must "):
        return message
    is_short = isinstance(value, str | int | float) and len(repr(value)) <= _LONGEST_VALUE
    # As TOML writes it.
    shown = repr(value).lower() if isinstance(value, bool) else repr(value)
    return f"{message}, not {shown}" if is_short else message


def _expected(detail: ErrorDetails) -> str:
    """Return what the place accepts; for a mistake that a validator found, its own words."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _EXPECTED:
        return f"must be {_EXPECTED[kind]}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return words.format(format_alike(detail["input"], context[key]))
    if context.get("pattern") in spellings.WORDS:
        return f"must be {spellings.WORDS[context['pattern']]}"
    if len(accepted := _accepted_words(detail)) > MAX_LISTED:
        return f"must be one of {first_names(accepted)}"
    message = detail["msg"].removeprefix("Value error, ").replace(" after validation", "")
    return _SUBJECTS.sub("must ", message, count=1)


def _accepted_words(detail: ErrorDetails) -> list[str]:
    """Return the accepted words of a place that accepts only certain words."""
    expected = str(detail.get("ctx", {}).get("expected", ""))
    return [word or quoted for word, quoted in re.findall(r"'([^']*)'|\"([^\"]*)\"", expected)]


BYTE_ORDER_MARK = "\ufeff"
LONGEST_LINE = 80
"""Characters of a damaged line that a message repeats."""
_TOML_WORDS = (
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


def toml_error(error: Exception, text: str) -> str:
    """Return tomllib's message with the line that it means."""
    if text.startswith(BYTE_ORDER_MARK):
        return "it begins with a byte order mark; save it as UTF-8 without one"
    message = str(error)
    for theirs, ours in _TOML_WORDS:
        message = re.sub(theirs, ours, message)
    message = _TABLE_TWICE.sub(_given_twice, message)
    place = re.search(r"\(at line (\d+), column \d+\)", message)
    lines = text.splitlines()
    if not place or not 0 < int(place[1]) <= len(lines):
        return message
    line = lines[int(place[1]) - 1].strip()
    shown = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."
    return f"{message}: {shown}"


def _given_twice(match: re.Match[str]) -> str:
    keys = re.findall(r"'([^']+)'", match[1])
    return f"[{'.'.join(keys)}] is given twice; write its keys in one place"
