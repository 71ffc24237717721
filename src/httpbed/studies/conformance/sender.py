"""Who is looked at: a program in a role, with all that decides how it sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from httpbed.experiment.roles import HttpVersion
from httpbed.programs.settings import Transport

Control = Literal["reno", "cubic", "bbr", "bbr2"]
CONTROLS: tuple[Control, ...] = ("reno", "cubic", "bbr", "bbr2")
"""What a sender can be judged as; each has its own properties."""
BBR: frozenset[Control] = frozenset({"bbr", "bbr2"})
"""Those that model the path: a window of two bandwidth-delay products, paced."""
_ALSO: Mapping[str, Control] = {
    "newreno": "reno",
    "bbr1": "bbr",
    "bbrv1": "bbr",
    "bbrv2": "bbr2",
    "bbr2gcongestion": "bbr2",
    "bbr3": "bbr2",
    "bbrv3": "bbr2",
}
"""Further names; what sets BBRv2 and v3 apart from the first is that they answer to loss."""


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
    def is_judged_by_name(self) -> bool:
        """Whether it is asked for what its own control promises, and not, as a trial, another's."""
        return family(self.algorithm) in {None, self.judged_as}

    @property
    def transport(self) -> Transport:
        """What its HTTP version runs over."""
        return "quic" if self.http_version == "3" else "tcp"


def family(name: str) -> Control | None:
    """Which control's behaviour a name promises; None for one that is not known here."""
    plain = name.lower().replace("-", "").replace("_", "")
    return next((control for control in CONTROLS if _ALSO.get(plain, plain) == control), None)
