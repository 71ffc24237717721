"""A choice among known words, whose error suggests the similar ones instead of listing all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import click

from httpbed.base.errors import RejectedValueError

_FEW = 8
"""So many words are listed when none is similar."""
_VERY_SIMILAR = 0.75
"""Two words are suggested if both are as similar as this; else the most similar one."""


class OneOf(click.Choice[str]):
    """One of the known words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word; reject an unknown one with similar words, or the first few."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            words = list(map(str, self.choices))
            remedy = suggestion(str(value), words) or _first(words)
            raise RejectedValueError(f"{value!r} is unknown", remedy) from None


def _first(words: Sequence[str]) -> str:
    rest = " ..." if len(words) > _FEW else ""
    return f"known: {', '.join(words[:_FEW])}{rest}"


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the question whether a similar known word is meant; empty if none is similar."""
    words = list(known)
    close = difflib.get_close_matches(word, words, 2, _VERY_SIMILAR)
    close = close or difflib.get_close_matches(word, words, 1)
    return f"did you mean {' or '.join(close)}?" if close else ""
