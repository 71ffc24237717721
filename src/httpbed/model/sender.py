"""Which sender exactly: what the record of a conformance test is of, and kept by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = 1
"""Of the records."""


@dataclass(frozen=True)
class SenderKey:
    """Which sender exactly."""

    implementation: str
    version: str
    sha256: str
    """Of the program."""
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

    @property
    def digest(self) -> str:
        """Name of its record."""
        said = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]
