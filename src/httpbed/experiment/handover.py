"""Hand-overs, as far as the core knows them: the client leaves a link and continues on the next.

An addon has the model of the table ``[handover]``, which networks, estimates and mistakes ask here.
Without it the core reads the client's links, so that campaigns stay readable, and runs nothing.
:class:`HandoverEvent` is what one trial did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field

from httpbed.base.addon import Seam
from httpbed.base.value import Value
from httpbed.experiment.roles import ClientRole, Transport

if TYPE_CHECKING:  # it has a hand-over
    from httpbed.experiment.scenario import Scenario

MAX_LINKS = 8
Notices = Callable[[ClientRole, Transport], float]
"""Returns the seconds after which a client recovers whose address is gone and whose sockets get no
error; infinity if it never does."""


class HandoverTable(Value):
    """The table ``[handover]``; each method does nothing unless a model overrides it."""

    model_config = ConfigDict(extra="allow")
    is_carried_out: ClassVar[bool] = False
    """Whether an addon has the model, and carries hand-overs out."""

    links: list[str] = Field(min_length=1, max_length=MAX_LINKS)
    """Names of the client's links. The client begins on the first link, switches to the next, and
    after the last link returns to the first."""
    kind: str
    """How the client goes from one link to the next."""

    def durations_s(self) -> Mapping[tuple[str, ...], float]:
        """Return each duration in seconds, by the keys that lead to it."""
        return {}

    def mistakes(self, scenario: Scenario) -> Iterator[str]:
        """Yield what does not fit into a scenario."""
        del scenario
        yield from ()

    def refusal(self) -> str:
        """Return why a link that the kernel's tbf carries cannot do it; empty if it can."""
        return ""

    def added_s(self, scenario: Scenario, transfer_s: float, notices: Notices) -> float:
        """Return the seconds that it adds to a transfer of so many; infinity if it ends none."""
        del scenario, transfer_s, notices
        return 0.0


HANDOVER_MODELS = Seam("model of hand-overs", type)


HandoverOutcome = Literal[
    "migrated", "new connection", "answered only", "nothing", "over before", "not known"
]
"""What the packets show after a hand-over.

``migrated``: data of the same connection arrived on the new path. ``new connection``: data of
another connection did. ``answered only``: the server's packets there had no data, or were resets.
``nothing``: no packet arrived there. ``over before``: the client finished before an answer could
arrive. ``not known``: the packets do not decide it.
"""
MIGRATED: HandoverOutcome = "migrated"
NEW_CONNECTION: HandoverOutcome = "new connection"
ANSWERED: HandoverOutcome = "answered only"
NOTHING: HandoverOutcome = "nothing"
OVER_BEFORE: HandoverOutcome = "over before"
UNKNOWN: HandoverOutcome = "not known"


def _known_time(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


def _known_outcome(value: Any) -> Any:
    return value if value in get_args(HandoverOutcome) else ""


def _text(value: Any) -> str:
    return str(value or "")


Time = Annotated[float | None, BeforeValidator(_known_time)]
"""Seconds since the client's first packet; None: not observed, or not a number in the file."""
Text = Annotated[str, BeforeValidator(_text)]


class HandoverEvent(Value):
    """A hand-over of one trial; times are seconds since the client's first packet.

    Values of an unexpected type are read as unknown, and unknown keys are ignored.
    """

    model_config = ConfigDict(populate_by_name=True, extra="ignore")

    number: Annotated[int, Field(strict=True)]
    """From 1."""
    left: Text = Field(default="", alias="from")
    """Name of the link that the client left."""
    entered: Text = Field(default="", alias="to")
    """Name of the link that the client switched to."""
    at_s: float
    first_sent_s: Time = None
    """The client's first packet on the new path."""
    validated_s: Time = None
    """End of QUIC's path validation (RFC 9000 section 8.2)."""
    first_byte_s: Time = None
    """The first packet delivered to the client on the new path."""
    gone_s: Time = None
    """Deletion of the left link's address; None if it was not deleted."""
    back_s: Time = None
    """Return of that address; None if it did not return."""
    verdict: Annotated[HandoverOutcome | Literal[""], BeforeValidator(_known_outcome)] = ""
    """Empty if the file has no known value."""
    how: Text = ""
    """The evidence for the verdict, in words."""

    def milestones(self) -> Iterator[tuple[str, float]]:
        """Yield name and time of each step that was observed after the hand-over."""
        for name, at_s in (
            ("first packet sent", self.first_sent_s),
            ("path validated", self.validated_s),
            ("first packet delivered", self.first_byte_s),
        ):
            if at_s is not None:
                yield name, at_s
