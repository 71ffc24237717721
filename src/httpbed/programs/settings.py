"""Settings of a program that experiments vary: knobs, congestion control, retries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from httpbed.base.value import Value
from httpbed.experiment.roles import DEFAULT_CONTROL, FIXED, TCP_CONTROLS, Transport
from httpbed.programs import pattern
from httpbed.programs.pattern import Pattern

RetryKind = Literal["restart", "resume"]
"""The values of :data:`httpbed.experiment.roles.Retry` without ``none``."""


class Knob(Value):
    """A setting of a program that experiments may vary; all else about knobs is read from here."""

    default: str
    """Upstream's default."""
    levels: list[str] = Field(default_factory=list)
    """All values that the program accepts."""
    pattern: Pattern | None = None
    """Instead of levels: a regular expression that a value must match as a whole."""
    meaning: str = Field(min_length=1)
    """What the knob does, with its unit."""
    source: str = ""
    """URL or name of upstream's documentation."""

    @model_validator(mode="after")
    def _accepts_its_default(self) -> Knob:
        if bool(self.levels) == (self.pattern is not None):
            msg = "say either levels or pattern"
            raise ValueError(msg)
        if not self.accepts(self.default):
            msg = f"the default {self.default!r} is not accepted: {self.domain()}"
            raise ValueError(msg)
        return self

    def accepts(self, value: str) -> bool:
        """Return whether the program accepts a value."""
        if self.pattern is not None:
            return pattern.is_all_of(self.pattern, value)
        return value in self.levels

    def domain(self) -> str:
        """Return the accepted values in words."""
        return f"matching {self.pattern}" if self.pattern else ", ".join(self.levels)


class QuicControl(Value):
    """Congestion control of what a program sends over QUIC."""

    fixed: str | None = None
    """The program's only algorithm, by its documentation."""
    choices: dict[str, str] = Field(default_factory=dict)
    """Algorithm in the words of experiments -> the program's own word for it."""
    default: str | None = None
    """The choice that the program takes by default."""

    @model_validator(mode="after")
    def _is_fixed_or_chosen(self) -> QuicControl:
        if (self.fixed is None) == (not self.choices):
            msg = "say either fixed or choices"
            raise ValueError(msg)
        if self.choices and self.default not in self.choices:
            msg = f"the default must be one of {', '.join(self.choices)}"
            raise ValueError(msg)
        return self

    def resolved(self, stated: str | None) -> str:
        """Return the algorithm in use when an experiment states one, or None."""
        if self.fixed is not None:
            return self.fixed
        if stated in self.choices:
            return str(stated)
        return DEFAULT_CONTROL if DEFAULT_CONTROL in self.choices else str(self.default)

    def allowed(self) -> tuple[str, ...]:
        """Return the words that an experiment may state."""
        return (FIXED, self.fixed) if self.fixed is not None else tuple(self.choices)


class CongestionControl(Value):
    """How the congestion control of what a program sends is chosen."""

    tcp: Literal["kernel"] = "kernel"
    """``kernel``: a route's setting decides, so every algorithm of the kernel can be chosen."""
    quic: QuicControl | None = None
    """None for a program that does not send over QUIC, or whose algorithm is unknown."""

    def allowed(self, transport: Transport) -> tuple[str, ...]:
        """Return the words that an experiment may state for a sender over a transport."""
        if transport == "tcp":
            return TCP_CONTROLS
        return self.quic.allowed() if self.quic else (FIXED,)

    def resolved(self, transport: Transport, stated: str | None) -> str:
        """Return the algorithm of a sender over a transport; empty if it is unknown."""
        if transport == "tcp":
            return stated if stated in TCP_CONTROLS else DEFAULT_CONTROL
        return self.quic.resolved(stated) if self.quic else ""

    def is_fixed(self, transport: Transport) -> bool:
        """Return whether a sender over a transport has no choice."""
        return transport == "quic" and (self.quic is None or self.quic.fixed is not None)


class Retrying(Value):
    """Which retries of a failed download are possible, and whether httpbed restarts the program."""

    itself: list[RetryKind] = Field(default_factory=list)
    """Retries that the program does within one run."""
    started_again: list[RetryKind] = Field(default_factory=list)
    """Retries for which httpbed starts the program again; its exit status must report failures."""

    def able(self) -> tuple[RetryKind, ...]:
        """Return all retries that are possible."""
        return (*self.itself, *self.started_again)


def settings(knobs: Mapping[str, Knob], stated: Mapping[str, str]) -> dict[str, str]:
    """Return the value of every knob: the stated one, or else upstream's default."""
    return {name: stated.get(name, knob.default) for name, knob in knobs.items()}
