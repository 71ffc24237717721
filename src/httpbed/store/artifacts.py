"""Artifacts of a campaign's attempts, verified before use.

Every reader of a campaign verifies each attempt's ``trial.json``, observations and hand-overs.
Artifacts can have hundreds of megabytes: an attempt's artifacts are hashed when they are read, and
``httpbed verify`` hashes all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.store import attempts, layout
from httpbed.store.damage import Damage

MAX_BYTES = 64 * 2**20
"""Limit of a text that is read at once; no trial writes longer ones."""


@dataclass
class Artifacts:
    """The artifacts of a campaign's attempts; remembers which are damaged."""

    directory: Path | None = None
    """The campaign's folder; None if there are no digests, so that nothing is verified."""
    _seen: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def altered(self, row: Mapping[str, Any], below: str) -> Damage | None:
        """Return how artifacts of a row of the trials table differ from what was written, if so.

        ``below`` is the file or folder to be read.
        """
        if self.directory is None:
            return None
        place = layout.attempt(row["block"], row["trial"], row["attempt"])
        if (place, below) not in self._seen:
            found = attempts.altered(self.directory.resolve(), place, below)
            self._seen[place, below] = found
        reasons = self._seen[place, below]
        return Damage(place, tuple(reasons)) if reasons else None

    @property
    def damaged(self) -> list[Damage]:
        """Return the attempts whose artifacts were read and found damaged."""
        seen = sorted(self._seen.items())
        return [Damage(place, tuple(reasons)) for (place, _), reasons in seen if reasons]


def text(file: Path) -> str:
    """Return a text among the artifacts; empty if it cannot be read."""
    try:
        return untrusted_files.text(file, most=MAX_BYTES)
    except (OSError, ValueError):
        return ""
