"""The descriptor of an impairment: everything about it that other rooms need to know.

Each module beside this one holds the values of one impairment and its descriptor;
:mod:`~httpbed.experiment.impairments.registry` lists the descriptors. The experiment's models, the
emulator's configuration, the report, the options of ``httpbed link``, the checks and the
calibration loop over that list and never name an impairment that needs nothing special from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Field

from httpbed.base import spellings

Table = Mapping[str, Any]
"""A table of an experiment file as its author wrote it, or a JSON object."""
DIRECTIONS = ("up", "down")
"""A link's directions by their indices: 0 is from its first host to its second."""
Place = tuple[str, ...]
"""Keys that lead from a link's table to a value."""


@dataclass(frozen=True)
class Option:
    """An option of ``httpbed link``, for both directions (``--loss``) or one (``--up-loss``)."""

    name: str
    path: Place
    """Where its value stands in the description of a link."""
    kind: str
    """What the user types: a kind of :data:`~httpbed.base.units.TC_UNITS`,
    ``count``, ``word`` or ``flag``."""
    example: str
    help: str
    alone: Place | None = None
    """A shorter place, used when no other option adds to it."""
    needs: str | None = None
    """The option that it adds to."""

    def flag(self, direction: str) -> str:
        """Return the flag for one direction (``up``, ``down``), or for both (``""``)."""
        return f"--{direction}-{self.name}" if direction else f"--{self.name}"


@dataclass(frozen=True)
class Cause:
    """Why the emulator dropped a packet."""

    counter: str
    """Name of the counter in the emulator's result; the packets are in ``COUNTER_numbers``."""
    fate: str
    """The packet's fate in the packet log."""
    words: str
    """Label in the table of counters."""
    draws_later: bool = True
    """Whether a packet dropped so has already met the draws of loss, damage and copies."""

    @property
    def numbers(self) -> str:
        """Key of the dropped packets' numbers in the emulator's result."""
        return f"{self.counter}_numbers"


@dataclass(frozen=True)
class Chance:
    """How packets are chosen, each independently of all others, by their own random draws."""

    counter: str
    """Name of the counter in the emulator's result; the packets are in ``COUNTER_numbers``."""
    noun: str
    """What happens to the chosen packets, as the checks name it."""
    draws: int = 1
    """Draws that each packet takes from the stream; the first one decides."""


@dataclass(frozen=True)
class Limit:
    """The most bytes that it lets pass in any window."""

    witness: str
    """Key of the tightest window in what the emulator's witness reports."""
    most_bytes: Callable[[Any, float], float]
    """Returns the bytes that may pass in a window of so many seconds, for a value."""


class Emulated(Protocol):
    """The direction of a link whose configuration for the emulator is being written."""

    @property
    def rtt_s(self) -> float:
        """Sum of both one-way delays in seconds."""

    @property
    def first_bit_s(self) -> int:
        """Rate at the start in bit/s; 0 without one."""

    @property
    def loss_may_change(self) -> bool:
        """Whether a schedule, an event or a command may set the probability of loss."""

    def key(self, stream: str) -> str:
        """Return the key of a random stream, in decimal: JSON numbers may not have 64 bits."""

    def replayed(self, file: str, sha256: str | None) -> list[int]:
        """Return the numbers of the packets that a recorded run lost in this direction."""

    def trace_path(self, trace: str, sha256: str | None) -> str:
        """Return the path, in the sandbox, of a packet-delivery trace from a file."""

    def cellular_path(self) -> str:
        """Return the path, in the sandbox, of the trace generated for this direction."""


class LinkFigures(NamedTuple):
    """Properties of a link that turn relative values into absolute ones."""

    first_bit_s: int
    """Rate of the direction at the start in bit/s; 0 without one."""
    rtt_s: float
    """Sum of both one-way delays in seconds."""


FeatureKind = Literal["number", "integer", "boolean", "string"]
Along = Literal["sum", "smallest", "any", "narrowest"]
"""How the values of a path's links become one. ``any``: the probability that at least one link
does it. ``narrowest``: the value of the link with the lowest rate, of equal ones the first from the
client."""


@dataclass(frozen=True)
class Feature:
    """One column of a dataset that describes a value of an impairment."""

    name: str
    """Last part of the column's name, with the unit."""
    kind: FeatureKind
    unit: str
    """Empty for texts and truth values, ``1`` for probabilities."""
    read: Callable[[Any, LinkFigures], float | str | bool | None]
    """Returns the column's value for the impairment's value; None if no such value describes it."""
    along: Along | None = None
    """None: a path has no such value."""
    addition: str = ""
    """A sentence that the description of the impairment's field lacks."""


@dataclass(frozen=True)
class Impairment:
    """What the rest of the program needs to know about one impairment of a direction."""

    field: str
    """Key in a link's table, and attribute of a :class:`~httpbed.experiment.topology.Direction`."""
    emulated: Callable[[Any, Emulated], Any]
    """Returns the emulator's JSON for a value; None does nothing."""
    text: str
    """Words for a value that the author wrote as text; ``{}`` stands for the text."""
    emulator_key: str = ""
    """Key in the emulator's JSON; by default the field."""
    table_words: Callable[[Table], str] | None = None
    """Words for a value that the author wrote as a table."""
    absent: str = ""
    """Words for a link without it; empty if that is not worth saying."""
    options: tuple[Option, ...] = ()
    """Options of ``httpbed link``, in the order of the help."""
    random: bool = False
    """Whether it draws for each packet from a stream of its own."""
    chance: Chance | None = None
    """How it chooses packets, if a probability alone decides."""
    causes: tuple[Cause, ...] = ()
    """Reasons for drops that it adds."""
    counters: tuple[str, ...] = ()
    """Counters of the emulator's result for what happens to packets that are not dropped."""
    limit: Limit | None = None
    """How many bytes it lets pass, if that is known whatever the traffic is."""
    loses_packets: bool = False
    """Whether packets of a sender do not arrive whole, whatever the queue does."""
    is_computed: bool = False
    """Whether the emulator's own tests compute what it does to whole flows, so that a link
    certificate covers it although no cell measures it."""
    changes_bytes: bool = False
    """Whether packets arrive with other bytes than were sent."""
    features: tuple[Feature, ...] = ()
    """Columns of a dataset that describe its values."""

    @property
    def key(self) -> str:
        """Key in the emulator's JSON."""
        return self.emulator_key or self.field

    def words(self, value: str | Table) -> str:
        """Return words for a value as its author wrote it: what stands in a table of the report."""
        if isinstance(value, Mapping):
            return self.table_words(value) if self.table_words else str(dict(value))
        return self.text.format(value)


def nanoseconds(seconds: float) -> int:
    """Round seconds to whole nanoseconds."""
    return round(seconds * 1e9)


def chance(stream: str) -> Callable[[float, Emulated], Table | None]:
    """Write a probability with the key of its stream; None for 0."""

    def emulated(probability: float, direction: Emulated) -> Table | None:
        return {"probability": probability, "key": direction.key(stream)} if probability else None

    return emulated


def share_feature(name: str) -> Feature:
    """Return the column of a probability."""
    return Feature(name, "number", "1", lambda probability, _: float(probability), along="any")


# Files that an experiment names; reading the experiment never looks for them.


LONGEST_NAME = 1000

FileName = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=spellings.FILE)]
"""Relative to the experiment's file, or absolute."""
Digest = Annotated[str, Field(pattern=spellings.SHA256)]
"""SHA-256 in hexadecimal."""


def is_file_name(value: object) -> bool:
    """Tell whether a value is taken for a name."""
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_NAME
        and re.fullmatch(spellings.FILE, value) is not None
    )
