"""A recipe that is like another one: it says only what differs.

``like = "nginx"`` takes every setting of that recipe; tables are merged key by key, everything
else replaces what was there. ``install`` is replaced whole: a program comes from one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIKE = "like"
WHOLE = frozenset({"install"})
"""Tables that are never mixed with another's."""


@dataclass(frozen=True)
class RecipeSource:
    """A recipe as its author wrote it."""

    file: str
    folder: Path
    """What paths in its ``install`` are relative to."""
    text: str
    said: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name that it claims; empty where it claims none."""
        return str(self.said.get("name", ""))

    @property
    def like(self) -> str | None:
        """Whom it is like."""
        said = self.said.get(LIKE)
        return None if said is None else str(said)

    def over(self, base: RecipeSource) -> RecipeSource:
        """Complete it by what it is like; its text is then both."""
        own = {key: value for key, value in self.said.items() if key != LIKE}
        folder = self.folder if "install" in own else base.folder
        return RecipeSource(self.file, folder, base.text + self.text, merged(base.said, own))


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with what ``own`` says instead or besides."""
    result = dict(base)
    for key, value in own.items():
        before = base.get(key)
        mixable = isinstance(before, Mapping) and isinstance(value, Mapping) and key not in WHOLE
        result[key] = merged(before, value) if mixable and before is not None else value
    return result
