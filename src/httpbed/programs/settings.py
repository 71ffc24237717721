"""What can be set of a program: its knobs, and the congestion control of what it sends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from httpbed.experiment.roles import DEFAULT_CONTROL, FIXED, TCP_CONTROLS
from httpbed.experiment.value import Value

Transport = Literal["tcp", "quic"]
RetryKind = Literal["restart", "resume"]
"""Of :data:`httpbed.experiment.roles.Retry`, what is not nothing."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return pattern


class Knob(Value):
    """A setting of the program that experiments may vary."""

    default: str
    """Upstream's own."""
    levels: list[str] = Field(default_factory=list)
    """All that it may be."""
    pattern: Annotated[str, AfterValidator(_compiles)] | None = None
    """Or a regular expression for the whole of it."""
    meaning: str = Field(min_length=1)
    """What it does, with its unit."""
    source: str = ""
    """Where upstream documents it."""

    @model_validator(mode="after")
    def _knows_its_default(self) -> Knob:
        if bool(self.levels) == (self.pattern is not None):
            msg = "say either levels or pattern"
            raise ValueError(msg)
        if not self.accepts(self.default):
            msg = f"the default {self.default!r} is not one that it accepts: {self.domain()}"
            raise ValueError(msg)
        return self

    def accepts(self, value: str) -> bool:
        """Whether it may be set so."""
        if self.pattern is not None:
            return re.fullmatch(self.pattern, value) is not None
        return value in self.levels

    def domain(self) -> str:
        """Say what it accepts."""
        return f"matching {self.pattern}" if self.pattern else ", ".join(self.levels)


class QuicControl(Value):
    """Congestion control of what the program sends over QUIC."""

    fixed: str | None = None
    """The algorithm that it has, without a choice, by its documentation."""
    choices: dict[str, str] = Field(default_factory=dict)
    """Algorithms that can be chosen, as experiments call them -> as the program does."""
    default: str | None = None
    """What it has when nobody chooses; one of the choices."""

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> QuicControl:
        if (self.fixed is None) == (not self.choices):
            msg = "say either fixed or choices"
            raise ValueError(msg)
        if self.choices and self.default not in self.choices:
            msg = f"the default must be one of {', '.join(self.choices)}"
            raise ValueError(msg)
        return self

    def resolved(self, said: str | None) -> str:
        """Name the algorithm that it has when an experiment has ``said`` so."""
        if self.fixed is not None:
            return self.fixed
        if said in self.choices:
            return str(said)
        return DEFAULT_CONTROL if DEFAULT_CONTROL in self.choices else str(self.default)

    def allowed(self) -> tuple[str, ...]:
        """What an experiment may say."""
        return (FIXED, self.fixed) if self.fixed is not None else tuple(self.choices)


class CongestionControl(Value):
    """Who decides the congestion control of what the program sends."""

    tcp: Literal["kernel"] = "kernel"
    """``kernel``: the route decides, so every algorithm of the kernel can be chosen."""
    quic: QuicControl | None = None
    """Absent for a program that does not send over QUIC, or of which nothing is known."""

    def allowed(self, transport: Transport) -> tuple[str, ...]:
        """What an experiment may say of a sender over this transport."""
        if transport == "tcp":
            return TCP_CONTROLS
        return self.quic.allowed() if self.quic else (FIXED,)

    def resolved(self, transport: Transport, said: str | None) -> str:
        """Name the algorithm of a sender over this transport; empty where nobody knows it."""
        if transport == "tcp":
            return said if said in TCP_CONTROLS else DEFAULT_CONTROL
        return self.quic.resolved(said) if self.quic else ""

    def is_fixed(self, transport: Transport) -> bool:
        """Whether a sender over this transport has no choice."""
        return transport == "quic" and (self.quic is None or self.quic.fixed is not None)


class Retrying(Value):
    """What can be done about a download of the program's that failed, and who does it."""

    itself: list[RetryKind] = Field(default_factory=list)
    """What the program does by itself, without ending in between."""
    started_again: list[RetryKind] = Field(default_factory=list)
    """What it does when httpbed starts it again; its exit status must tell that it failed."""

    def able(self) -> tuple[RetryKind, ...]:
        """All that can be done."""
        return (*self.itself, *self.started_again)


def settings(knobs: Mapping[str, Knob], said: Mapping[str, str]) -> dict[str, str]:
    """Return every knob's setting: what is said of it, or else upstream's default."""
    return {name: said.get(name, knob.default) for name, knob in knobs.items()}
