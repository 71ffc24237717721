"""Pydantic's validation errors in the words of all other mistakes."""

from __future__ import annotations

import re

from pydantic_core import ErrorDetails

from httpbed.experiment.factorial_mistakes import MOST_LISTED, listed

_LONGEST_VALUE = 40
"""Characters of a value that a message repeats."""
_OTHER_SUBJECTS = re.compile(r"(String|List|Tuple|Dictionary|Value) should ")


def reason(detail: ErrorDetails) -> str:
    """Return what is wrong with a value, and the rejected value if it is short."""
    message = detail["msg"].removeprefix("Value error, ")
    if not message.startswith("Input should "):
        return _OTHER_SUBJECTS.sub("must ", message, count=1)
    message = "must " + message.removeprefix("Input should ")
    if len(accepted := accepted_words(detail)) > MOST_LISTED:
        message = f"must be one of {listed(accepted)}"
    value = detail["input"]
    is_short = isinstance(value, str | int | float) and len(repr(value)) <= _LONGEST_VALUE
    return f"{message}, not {value!r}" if is_short else message


def accepted_words(detail: ErrorDetails) -> list[str]:
    """Return the accepted words of a place that accepts only certain words."""
    return re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))
