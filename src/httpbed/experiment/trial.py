"""A trial: one treatment in one block; an attempt at it; and what came of it."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import Field

from httpbed.experiment.handover_event import HandoverEvent
from httpbed.experiment.metric import Observation
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.value import Value

OutcomeKind = Literal["completed", "failed", "timed out", "unsupported", "invalid"]
"""``invalid`` is the bed's fault; all others are data."""


class Trial(Value):
    """One treatment executed once, from an empty network to a finished directory."""

    block: int
    """Which replicate, from 1."""
    position: int
    """Place in the block's random order, from 1."""
    levels: dict[str, str]
    """The treatment: a level for each factor, as the author wrote it."""
    document: dict[str, Any]
    """The scenario with every factor filled in, as the author wrote it."""
    seed: int
    """The experiment's seed."""
    time_limit_s: float
    """Seconds after which it has timed out."""

    @property
    def id(self) -> str:
        """Hash of what is executed: equal trials have equal names on every machine."""
        said = json.dumps(self.model_dump(exclude={"position"}), sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    def scenario(self) -> Scenario:
        """Read the document."""
        return Scenario.model_validate(self.document)


class Outcome(Value):
    """How an attempt ended."""

    kind: OutcomeKind
    reason: str = ""
    """Why, unless it completed."""


class Check(Value):
    """A named check on an attempt, with its evidence."""

    name: str
    of: Literal["bed", "subject"]
    """Broken, one of the bed makes the attempt invalid, one of the subject the outcome failed."""
    passed: bool | None
    """None: it could not be observed; ``figure`` says why."""
    figure: str
    """What was seen."""
    limit: str = ""
    """What was asked."""


class Attempt(Value):
    """One finished try at a trial; ``trial.json`` holds it with the digests of its files."""

    schema_: Literal[2] = Field(default=2, alias="schema")
    trial: Trial
    number: int
    """From 1; above 1 when earlier attempts were invalid."""
    outcome: Outcome
    checks: list[Check]
    started: str
    """UTC, ISO 8601."""
    phases_s: dict[str, float]
    """Seconds that each phase of the trial's life took."""

    @property
    def id(self) -> str:
        """The trial's identifier."""
        return self.trial.id


class Record(Value):
    """An attempt with its observations, as read back from a campaign."""

    attempt: Attempt
    observations: list[Observation]
    handovers: list[HandoverEvent] | None = None
    """In order of time; None where the client's network stays as it is."""
