"""Who is looked at: a program in a role, with all that decides how it sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from httpbed.implementations.settings import Transport
from httpbed.model.roles import HttpVersion

Control = Literal["reno", "cubic", "bbr"]
CONTROLS: tuple[Control, ...] = ("reno", "cubic", "bbr")
"""What a sender can be judged as; each has its own properties."""
_ALSO = {"newreno": "reno", "bbr1": "bbr", "bbr2": "bbr", "bbr3": "bbr"}


@dataclass(frozen=True)
class Sender:
    """A sender, as asked for: what the experiment of a conformance test is made of."""

    implementation: str
    http_version: HttpVersion
    congestion_control: str | None
    """As the experiment says it; None where it says nothing."""
    algorithm: str
    """What that is, by the recipe."""
    judged_as: Control
    role: Literal["server", "proxy"] = "server"
    upstream_http_version: str = "1.1"
    """What it speaks to its origin as a proxy, which does not matter here."""
    client: str = "curl"
    knobs: Mapping[str, str] = field(default_factory=dict)

    @property
    def transport(self) -> Transport:
        """What its HTTP version runs over."""
        return "quic" if self.http_version == "3" else "tcp"


def family(name: str) -> Control | None:
    """Which control's behaviour a name promises; None for one that is not known here."""
    plain = name.lower().replace("-", "").replace("_", "")
    known = _ALSO.get(plain, plain)
    return next((control for control in CONTROLS if known == control), None)
