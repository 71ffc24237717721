"""Regular expressions of recipes, which are searched in what programs under test print.

A recipe may be a stranger's, and the output hostile. Python's own engine may then run for years: it
tries every way in which ``(a+)+b`` can match. RE2 takes time in proportion to the output, whatever
the pattern is, and bounded memory. It has no look-around and no back-references.
"""

from __future__ import annotations

from typing import Annotated, Any

import re2
from pydantic import AfterValidator, Field

MAX_CHARACTERS = 1000
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "it cannot be read"
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(
            f"is not a regular expression (of RE2: without look-around, back-references): {text}"
        ) from None


def _is_pattern(pattern: str) -> str:
    _compiled(pattern)
    return pattern


def _has_a_version_group(pattern: str) -> str:
    if "version" not in _compiled(pattern).groupindex:
        raise ValueError("has no group (?P<version>...)")
    return pattern


_Short = Annotated[str, Field(max_length=MAX_CHARACTERS)]
Pattern = Annotated[_Short, AfterValidator(_is_pattern)]
"""A regular expression."""
VersionPattern = Annotated[_Short, AfterValidator(_has_a_version_group)]
"""A regular expression with a group ``version``."""


def version(pattern: str, output: str) -> str | None:
    """Return what the group ``version`` matches first in a program's output; None if nothing."""
    match = _compiled(pattern).search(output)
    return match["version"] if match else None


def is_in(pattern: str, output: str) -> bool:
    """Whether a pattern matches somewhere in a program's output."""
    return _compiled(pattern).search(output) is not None


def is_all_of(pattern: str, value: str) -> bool:
    """Whether a pattern matches a value as a whole."""
    return _compiled(pattern).fullmatch(value) is not None
