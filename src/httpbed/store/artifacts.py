"""What the attempts of a campaign left, verified before a figure is made of it.

Readers of a campaign verify ``trial.json``, the observations and the hand-overs of every attempt.
Artifacts can have hundreds of megabytes, so an attempt's artifacts are hashed when one of them is
read, and all of them by ``httpbed verify``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpbed.host.sandbox import untrusted_files
from httpbed.store import attempts, layout
from httpbed.store.damage import Damage

MOST_BYTES = 64 * 2**20
"""Of a text that is read whole; what is longer was not written by a trial."""


@dataclass
class Artifacts:
    """The artifacts of a campaign's attempts; remembers which were not as they were written."""

    directory: Path | None = None
    """The campaign's folder; None where nothing vouches for artifacts, and all are believed."""
    _seen: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def altered(self, row: Mapping[str, Any], below: str) -> Damage | None:
        """Say how artifacts of a row of the table of trials differ from what was written, if so.

        ``below`` is the file or the folder of them that is to be read.
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
        """List attempts with artifacts that were to be read, and were not as they were written."""
        seen = sorted(self._seen.items())
        return [Damage(place, tuple(reasons)) for (place, _), reasons in seen if reasons]


def text(file: Path) -> str:
    """Read a text that an attempt left; empty where there is none to be read."""
    try:
        return untrusted_files.text(file, most=MOST_BYTES)
    except (OSError, ValueError):
        return ""
