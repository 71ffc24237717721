"""What happened in a hand-over, and when; what a campaign keeps of it and its readers take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field

from httpbed.experiment.value import Value

Following = Literal[
    "migrated", "new connection", "answered only", "nothing", "over before", "not known"
]
"""What the wire shows after a hand-over: the same connection on the new path, another one, an
answer without data (or a reset) there, or nothing; or that the client was done before anybody could
answer, or that what is there cannot be told apart."""
MIGRATED: Following = "migrated"
ANEW: Following = "new connection"
ANSWERED: Following = "answered only"
NOTHING: Following = "nothing"
OVER: Following = "over before"
UNKNOWN: Following = "not known"


def _known_time(said: Any) -> float | None:
    known = isinstance(said, int | float) and not isinstance(said, bool) and math.isfinite(said)
    return float(said) if known else None


def _known_word(said: Any) -> Any:
    return said if said in get_args(Following) else ""


def _text(said: Any) -> str:
    return str(said or "")


Time = Annotated[float | None, BeforeValidator(_known_time)]
"""Seconds since the client's first packet; None: never seen, or of another kind."""
Text = Annotated[str, BeforeValidator(_text)]


class Moment(Value):
    """A hand-over of one trial; times are seconds since the client's first packet.

    What a file says of another kind is not known, and what is not known by name here is left to
    others.
    """

    model_config = ConfigDict(populate_by_name=True, extra="ignore")

    number: Annotated[int, Field(strict=True)]
    """From 1."""
    left: Text = Field(default="", alias="from")
    """Name of the link that the client left."""
    entered: Text = Field(default="", alias="to")
    """Name of the link that it went to."""
    at_s: float
    first_probe_s: Time = None
    """The client's first packet on the new path."""
    validated_s: Time = None
    first_byte_s: Time = None
    """The first packet delivered to the client on the new path."""
    gone_s: Time = None
    """When the address of the link left was deleted, if it was."""
    back_s: Time = None
    """When it had its address again, if it did."""
    verdict: Annotated[Following | Literal[""], BeforeValidator(_known_word)] = ""
    """Empty where it is not known."""
    how: Text = ""
    """What shows it, in words."""

    def followed(self) -> Iterator[tuple[str, float]]:
        """Yield what was seen to follow, with its time."""
        for name, at_s in (
            ("first packet sent", self.first_probe_s),
            ("path validated", self.validated_s),
            ("first packet delivered", self.first_byte_s),
        ):
            if at_s is not None:
                yield name, at_s
