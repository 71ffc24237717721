"""A sender: as an experiment describes it, and its identity, the key of its conformance record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from httpbed.experiment.roles import HttpVersion, Transport, transport_below

SCHEMA = 2
"""Version of the records' file format."""
Scale = Literal["smoke", "standard", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "standard", "full")
"""How much of a conformance test is run, from least to most."""
Control = Literal["reno", "cubic", "bbr", "bbr2"]
CONTROLS: tuple[Control, ...] = ("reno", "cubic", "bbr", "bbr2")
"""Congestion controls with their own properties, as which a sender can be judged."""
BBR: frozenset[Control] = frozenset({"bbr", "bbr2"})
"""Controls that model the path: a paced window of two bandwidth-delay products."""
_OTHER_NAMES: Mapping[str, Control] = {
    "newreno": "reno",
    "bbr1": "bbr",
    "bbrv1": "bbr",
    "bbrv2": "bbr2",
    "bbr2gcongestion": "bbr2",
    "bbr3": "bbr2",
    "bbrv3": "bbr2",
}
"""Other names of controls. BBRv2 and BBRv3 differ from BBRv1 in that they react to loss."""


@dataclass(frozen=True)
class Sender:
    """A sender, as the experiment of a conformance test describes it."""

    implementation: str
    http_version: HttpVersion
    congestion_control: str | None
    """As the experiment sets it; None if it sets none."""
    algorithm: str
    """The control that the sender then uses, according to its recipe."""
    judged_as: Control
    role: Literal["server", "proxy"] = "server"
    upstream_http_version: str = "1.1"
    """HTTP version between a proxy and its origin, which does not affect the test."""
    client: str = "curl"
    knobs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_judged_by_name(self) -> bool:
        """Whether the sender is judged by its own control, and not by another one."""
        return family(self.algorithm) in {None, self.judged_as}

    @property
    def transport(self) -> Transport:
        """Return the transport of its HTTP version."""
        return transport_below(self.http_version)


def family(name: str) -> Control | None:
    """Return the control whose behaviour a name promises; None for an unknown name."""
    plain = name.lower().replace("-", "").replace("_", "")
    return next(
        (control for control in CONTROLS if _OTHER_NAMES.get(plain, plain) == control), None
    )


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
