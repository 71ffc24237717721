"""The identity of a sender, which is the key of its conformance record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

SCHEMA = 2
"""Version of the records' file format."""
Scale = Literal["smoke", "standard", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "standard", "full")
"""How much of a conformance test is run, from least to most."""


@dataclass(frozen=True)
class SenderKey:
    """All properties of a sender that may change its congestion control."""

    implementation: str
    version: str
    sha256: str
    """Digest of the program."""
    libraries: str
    """SHA-256 over all packages of its root filesystem, or over the digests of the libraries of a
    program of the user's; empty if it has none."""
    http_version: str
    """Determines which buffers and windows limit the sender besides congestion control."""
    transport: str
    """``tcp`` or ``quic``."""
    congestion_control: str
    """Name of the algorithm in use, even if the program offers no choice."""
    knobs: tuple[tuple[str, str], ...] = ()
    """Every knob that is set, sorted by name."""
    kernel: str = ""
    """The kernel's release, over TCP; empty over QUIC. In virtual time the kernel of guests, over
    both."""

    def as_json(self) -> dict[str, Any]:
        """Return the key as JSON values."""
        return asdict(self) | {"knobs": dict(self.knobs)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SenderKey:
        """Return the key of which :meth:`as_json` returned ``values``.

        Raises:
            TypeError: A field is missing or unknown.
        """
        return cls(**{**values, "knobs": tuple(sorted(values.get("knobs", {}).items()))})

    @property
    def digest(self) -> str:
        """File name of the sender's record."""
        text = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
