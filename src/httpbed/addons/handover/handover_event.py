"""One hand-over of a trial: when each step happened, and whether the transfer continued."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field

from httpbed.base.value import Value

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
