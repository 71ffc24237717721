"""A recipe that inherits from another one, and states only what differs.

``like = "nginx"`` inherits every setting of that recipe. Tables are merged key by key; any other
value replaces the inherited one. ``install`` is replaced as a whole: a program has one origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIKE = "like"
WHOLE = frozenset({"install"})
"""Tables that are never merged."""


@dataclass(frozen=True)
class RecipeSource:
    """A recipe as its author wrote it."""

    file: str
    folder: Path
    """Folder that paths in ``install`` are relative to."""
    text: str
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name in the source; empty if it has none."""
        return str(self.document.get("name", ""))

    @property
    def like(self) -> str | None:
        """The name of the recipe that it inherits from."""
        base = self.document.get(LIKE)
        return None if base is None else str(base)

    def over(self, base: RecipeSource) -> RecipeSource:
        """Return this source merged over ``base``; its text is both texts."""
        own = {key: value for key, value in self.document.items() if key != LIKE}
        folder = self.folder if "install" in own else base.folder
        return RecipeSource(self.file, folder, base.text + self.text, merged(base.document, own))


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the values of ``own`` added or replaced."""
    result = dict(base)
    for key, value in own.items():
        before = base.get(key)
        is_table = isinstance(before, Mapping) and isinstance(value, Mapping) and key not in WHOLE
        result[key] = merged(before, value) if is_table and before is not None else value
    return result
