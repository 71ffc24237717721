"""The sender under test: a program in a role, with everything that decides how it sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from httpbed.experiment.roles import HttpVersion, Transport, transport_below

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
