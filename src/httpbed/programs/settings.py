"""A program's version and settings in a recipe: knobs, congestion control, retries."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal

import re2
from pydantic import AfterValidator, Field, model_validator

from httpbed.base import spellings
from httpbed.base.value import Value
from httpbed.experiment.roles import (
    DEFAULT_CONTROL,
    FIXED,
    TCP_CONTROLS,
    HttpVersion,
    KnobName,
    Transport,
)
from httpbed.experiment.workload import DownloadCapability, UploadCapability

# Regular expressions of recipes, which are searched in what programs under test print.
#
# A recipe may be a stranger's, and the output hostile. Python's own engine may then run for years:
# it tries every way in which ``(a+)+b`` can match. RE2 takes time in proportion to the output,
# whatever the pattern is, and bounded memory. It has no look-around and no back-references.


MAX_PATTERN_CHARACTERS = 1000
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


def compiled(pattern: str) -> Any:
    """Return a recipe's regular expression, as RE2 has it; raises ValueError if it has none."""
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "it cannot be read"
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(
            f"is not a regular expression (of RE2: without look-around, back-references): {text}"
        ) from None


def _is_pattern(pattern: str) -> str:
    compiled(pattern)
    return pattern


def _has_a_version_group(pattern: str) -> str:
    if "version" not in compiled(pattern).groupindex:
        raise ValueError("has no group (?P<version>...)")
    return pattern


_Short = Annotated[str, Field(max_length=MAX_PATTERN_CHARACTERS)]
Pattern = Annotated[_Short, AfterValidator(_is_pattern)]
"""A regular expression."""
VersionPattern = Annotated[_Short, AfterValidator(_has_a_version_group)]
"""A regular expression with a group ``version``."""


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
    refused: dict[str, str] = Field(default_factory=dict)
    """Values that upstream has and httpbed cannot measure, with the reason."""
    meaning: str = Field(min_length=1)
    """What the knob does, with its unit."""
    source: str = ""
    """URL or name of upstream's documentation."""

    @model_validator(mode="after")
    def _accepts_its_default(self) -> Knob:
        if bool(self.levels) == (self.pattern is not None):
            raise ValueError("say either levels or pattern")
        if not self.accepts(self.default):
            msg = f"the default {self.default!r} is not accepted: {self.domain()}"
            raise ValueError(msg)
        return self

    def accepts(self, value: str) -> bool:
        """Return whether the program accepts a value."""
        if self.pattern is not None:
            return compiled(self.pattern).fullmatch(value) is not None
        return value in self.levels

    def domain(self) -> str:
        """Return the accepted values in words."""
        return f"matching {self.pattern}" if self.pattern else ", ".join(self.levels)


class FixedWindow(Value):
    """A number of bytes that a program never has in flight, or never lets come, more of."""

    knob: KnobName | None = None
    """The knob that sets it; its value is then the number of bytes."""
    bytes: int | None = Field(default=None, gt=0)
    """The number, if no knob of the recipe sets it."""
    is_power: bool = False
    """Whether the knob is the exponent of two of a number that is one larger."""
    name: str = ""
    """Upstream's name of it, if no knob of the recipe has it."""
    holds: Literal["sender's buffer", "receiver's window", "congestion window"]
    """What it limits: what the program keeps until it is acknowledged, what it accepts, or what its
    congestion control allows."""
    roles: list[Literal["client", "server", "proxy"]] = Field(min_length=1)
    """The roles in which the program has it."""
    http_versions: list[HttpVersion] = Field(min_length=1)
    lifted: str = ""
    """A value of the knob at which it holds nothing in usual networks."""
    source: str = Field(min_length=1)
    """Where upstream's source or documentation says so."""

    @model_validator(mode="after")
    def _has_a_size(self) -> FixedWindow:
        if (self.knob is None) == (self.bytes is None):
            raise ValueError("say either knob or bytes")
        return self

    def size(self, values: Mapping[str, str]) -> int | None:
        """Return its bytes with these values of the knobs; None for a value without a number."""
        if self.bytes is not None:
            return self.bytes
        match = _SIZE.fullmatch(values.get(str(self.knob), ""))
        if match is None:
            return None
        number = int(match[1]) << 10 * " kmg".index(match[2].lower() or " ")
        return (1 << min(number, 62)) - 1 if self.is_power else number


_SIZE = re.compile(r"([0-9]{1,15})([kKmMgG]?)")


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
            raise ValueError("say either fixed or choices")
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


# What a program says about its version, and whether that is enough for its recipe.


ABILITIES: Mapping[str, str] = {
    "parallel": "fetching several files",
    "connections": "opening several connections",
    "rounds": "fetching in rounds",
    "intervals": "requests at intervals",
    "restart": 'retry = "restart"',
    "resume": 'retry = "resume"',
}
"""What a client may be asked for, as a sentence names it; further words stand for themselves."""
MAX_VERSION_CHARACTERS = 100
"""A longer text is no version, and would fill a report's columns."""


VersionNumber = Annotated[str, Field(pattern=spellings.VERSION_NUMBER)]


class VersionCommand(Value):
    """The command that reports the program's version."""

    argv: list[str] = Field(min_length=1)
    pattern: VersionPattern
    """Regular expression with a group ``version``; it is searched in the command's output."""
    least: VersionNumber | None = None
    """The oldest version that understands what the recipe writes, or the oldest that was tried."""
    least_for: dict[Literal[DownloadCapability, UploadCapability, RetryKind], VersionNumber] = (
        Field(default_factory=dict)
    )
    """What a client may be asked for -> the oldest version that can do it, if that is a later one
    than ``least``."""
    shows: dict[HttpVersion, Pattern] = Field(default_factory=dict)
    """Regular expression for each HTTP version that a build may lack; the command's output matches
    it if this build has that version."""

    def reported(self, output: str) -> str | None:
        """Return the version in the command's output; None if there is none.

        The program may print anything. What is long or has control characters is no version.
        """
        match = compiled(self.pattern).search(output)
        version = str(match["version"] or "") if match else ""
        is_version = version.isprintable() and len(version) <= MAX_VERSION_CHARACTERS
        return version if version and is_version else None

    def lacking(self, output: str, wanted: Collection[str]) -> Iterator[str]:
        """Yield what the program lacks for its recipe and for what is wanted of it.

        Wanted are HTTP versions, capabilities and retries.

        Output without a version, such as that of another program, shows nothing.
        """
        version = self.reported(output)
        if version is None:
            return
        if self.least and _is_older(version, self.least):
            yield f"is version {version}, and its recipe needs {self.least} or later"
        for ability, least in self.least_for.items():
            if ability in wanted and _is_older(version, least):
                what = ABILITIES.get(ability, ability)
                yield f"is version {version}, and {what} needs {least} or later"
        for http_version, shown in self.shows.items():
            if http_version in wanted and not compiled(shown).search(output):
                yield f"was built without HTTP/{http_version}"


def _is_older(version: str, least: str) -> bool:
    numbers, needed = (
        [int(number) for number in re.findall(r"\d+", text)] for text in (version, least)
    )
    missing = [0] * (len(needed) - len(numbers))
    return [*numbers, *missing][: len(needed)] < needed
