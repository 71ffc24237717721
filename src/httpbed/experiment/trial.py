"""A trial (one treatment in one block), its attempts, and their outcomes, checks and hand-overs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from httpbed.base.clock import Clock
from httpbed.base.value import Value
from httpbed.experiment.metric import Observation
from httpbed.experiment.scenario import Scenario

OutcomeKind = Literal["completed", "failed", "timed out", "unsupported", "invalid"]
"""``invalid``: the bed failed. All other outcomes are data."""
BedOrSubject = Literal["bed", "subject"]


class Trial(Value):
    """One treatment executed once, from an empty network to a finished directory."""

    block: int
    """The replicate, from 1."""
    position: int
    """Place in the block's random order, from 1."""
    levels: dict[str, str]
    """The treatment: a level of each factor, as written in the experiment file."""
    document: dict[str, Any]
    """The scenario with every factor filled in, as written in the experiment file."""
    seed: int
    """The experiment's seed."""
    time_limit_s: float
    """Seconds after which the trial has timed out."""
    clock: Clock = "real"
    """The trial's clock; files leave ``real`` out."""

    @model_serializer(mode="wrap")
    def _without_the_default_clock(self, content: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the real clock out, so that trials keep the ids that they had without the key."""
        written: dict[str, Any] = content(self)
        if self.clock == "real":
            written.pop("clock", None)
        return written

    @cached_property
    def id(self) -> str:
        """Hash of all that is executed: equal trials have equal ids on every machine."""
        content = json.dumps(self.model_dump(exclude={"position"}), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def __copy__(self) -> Self:
        """Return a copy that computes its identifier and its scenario itself."""
        copied = super().__copy__()
        for name in ("id", "_scenario"):
            copied.__dict__.pop(name, None)
        return copied

    def scenario(self) -> Scenario:
        """Return the scenario of :attr:`document`, which is validated once."""
        return self._scenario

    @cached_property
    def _scenario(self) -> Scenario:
        return Scenario.model_validate(self.document)


class Outcome(Value):
    """How an attempt ended."""

    kind: OutcomeKind
    """How the attempt ended. ``invalid``: the bed failed; all other outcomes are data."""
    reason: str = ""
    """Why it did not complete; empty if it did."""


class Check(Value):
    """A check on an attempt, with its evidence."""

    check: str
    """Id of its descriptor in :mod:`httpbed.experiment.check`."""
    item: str = ""
    """What the name has a placeholder for, such as the part."""
    name: str
    """Its title, with the item and the place: a direction, hop, link or client."""
    of: BedOrSubject
    """A failed check of the bed makes the attempt invalid; one of the subject makes the outcome
    failed."""
    passed: bool | None
    """None: not observable; ``figure`` says why."""
    figure: str
    """The observed value, in words."""
    limit: str = ""
    """The required value, in words."""
    measured: float | None = None
    """The number in ``figure`` that measures the check, in ``unit``; None if there is none."""
    unit: str = ""
    """``s``, ``1`` for a share, or what is counted; empty without a number."""
    by_time_limit: bool = False
    """Whether it failed because the time limit stopped the program."""


class Attempt(Value):
    """A finished attempt at a trial; ``trial.json`` contains it and the digests of its files."""

    schema_: Literal[3] = Field(default=3, alias="schema")
    trial: Trial
    number: int
    """Number of the attempt, from 1; above 1 if earlier attempts were invalid."""
    outcome: Outcome
    checks: list[Check]
    started: str
    """Time at which the attempt started: UTC, ISO 8601."""
    phases_s: dict[str, Annotated[float, Field(ge=0, le=1e9)]]
    """Seconds that each phase of the attempt took."""
    cpus: float | None = None
    """How many CPUs its processes used while the client ran, without the emulator's polling; None:
    unknown."""
    machine: str | None = None
    """Name of the cluster's machine that ran it; None: the machine of the campaign's manifest."""

    @field_validator("started")
    @classmethod
    def _is_a_date(cls, text: str) -> str:
        if not cls.is_date(text):
            raise ValueError("is no date and time with a zone")
        return text

    @staticmethod
    def is_date(text: str) -> bool:
        """Whether a text is a date and time with a zone, in ISO 8601."""
        try:
            return datetime.fromisoformat(text).tzinfo is not None
        except ValueError:
            return False

    @property
    def id(self) -> str:
        """The trial's id."""
        return self.trial.id


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


class Record(Value):
    """An attempt with its observations, as read from a campaign."""

    attempt: Attempt
    observations: list[Observation]
    handovers: list[HandoverEvent] | None = None
    """In order of time; None for a scenario without hand-over."""
