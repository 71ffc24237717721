"""A choice among many words, whose error suggests the similar ones instead of listing all."""

from __future__ import annotations

import difflib
from typing import Any

import click

_FEW = 8
"""So many words are listed when none is similar."""


class OneOf(click.Choice[str]):
    """One of many known words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the reason for a rejected word, with similar words or the first few."""
        del ctx
        words = list(map(str, self.choices))
        if close := difflib.get_close_matches(str(value), words, 3):
            return f"{value!r} is unknown; did you mean {' or '.join(close)}?"
        rest = " ..." if len(words) > _FEW else ""
        return f"{value!r} is unknown; known: {', '.join(words[:_FEW])}{rest}"
