"""Which sender exactly: what the record of a conformance test is of, and kept by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

SCHEMA = 2
"""Of the records."""
Scale = Literal["smoke", "standard", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "standard", "full")
"""How much of a test is run, the least first."""


@dataclass(frozen=True)
class SenderKey:
    """Which sender exactly."""

    implementation: str
    version: str
    sha256: str
    """Of the program."""
    libraries: str
    """SHA-256 over those of all its libraries; empty where it has none."""
    http_version: str
    """It decides what buffers and windows there are besides congestion control's."""
    transport: str
    """``tcp`` or ``quic``."""
    congestion_control: str
    """The algorithm that it had, by name, also where the program has it fixed."""
    knobs: tuple[tuple[str, str], ...] = ()
    """Every knob that was set, sorted by name."""
    kernel: str = ""
    """The kernel's release, over TCP; empty over QUIC."""

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return asdict(self) | {"knobs": dict(self.knobs)}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> SenderKey:
        """Make it of what :meth:`as_json` gave.

        Raises:
            TypeError: Something is missing, or is not known.
        """
        return cls(**{**said, "knobs": tuple(sorted(said.get("knobs", {}).items()))})

    @property
    def digest(self) -> str:
        """Name of its record."""
        said = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]
