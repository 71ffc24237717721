"""The configuration of ``httpbed-link``.

Integers in ns, bytes and bit/s, a key for each random stream, and null where an impairment does
nothing. Each impairment's descriptor writes its own part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from httpbed.base import seeds
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import link_file
from httpbed.bed.network.link_file import Facts, LossRecord
from httpbed.bed.network.routes import End
from httpbed.bed.sandbox.sandbox_spec import LINK_FILES, TRIAL_FOLDER
from httpbed.experiment.impairments.descriptor import DIRECTIONS, nanoseconds
from httpbed.experiment.impairments.rate import MTU_BYTES, Cellular, CellularModel, Steps, Trace
from httpbed.experiment.impairments.registry import ALL
from httpbed.experiment.kept import CAPTURE
from httpbed.experiment.topology import Action, Delivered, Direction, Event, FirstPacket, Link

SCHEMA = 2
SPIN_US = 150
"""How long before a due time the emulator may wake up and poll, in microseconds."""

Table = dict[str, Any]


@dataclass(frozen=True)
class PacketRecords:
    """What the emulator records of packets."""

    capture: bool = False
    """Whether it writes every packet to :data:`~httpbed.experiment.kept.CAPTURE`."""
    log: str | None = None
    """The path inside the sandbox of a file with a line for each packet."""
    timelines: Mapping[tuple[int, int], float] = field(default_factory=dict)
    """Directions for which the result has a timeline, each with its link's index -> the round trip
    beyond the link, in seconds."""


@dataclass(frozen=True)
class Draws:
    """Everything that the random draws and traces of a link depend on."""

    seed: int
    block: int
    files: Mapping[str, Facts] = field(default_factory=dict)
    """What the readers found in the files that the experiment names, by their digests."""
    live: bool = False
    """Whether commands may change conditions while the link runs."""


def config(  # noqa: PLR0913 - optional arguments have names
    links: Sequence[Link],
    ends: Sequence[tuple[End, End]],
    draws: Draws,
    backend: Backend,
    records: PacketRecords,
    *,
    nat: Collection[int] = (),
    spin_us: int = SPIN_US,
) -> Table:
    """Write the emulator's configuration.

    ``nat`` are the indices of the links with a network address translator at their second end,
    which preserves ports until the change ``{"rebind": true}``. ``spin_us`` is how long the
    emulator may poll for a due time.
    """
    return {
        "schema": SCHEMA,
        "mtu": MTU_BYTES,
        "spin_us": spin_us,
        "backend": backend,
        "links": [
            _link(link, both, draws)
            | ({"nat": True} if place in nat else {})
            | _timelines(place, records.timelines)
            for place, (link, both) in enumerate(zip(links, ends, strict=True))
        ],
        "pcapng": f"{TRIAL_FOLDER}/{CAPTURE}" if records.capture else None,
        "log": records.log,
    }


def _link(link: Link, ends: tuple[End, End], draws: Draws) -> Table:
    ways = _ways(link, draws)
    return {
        "name": link.name,
        "hosts": list(link.between),
        "interfaces": [end.emulator_interface for end in ends],
        "directions": [way.table() for way in ways],
        "schedule": _schedule(link, ways),
        "triggers": [_trigger(link, event) for event in link.events],
    }


def _timelines(link: int, wanted: Mapping[tuple[int, int], float]) -> Table:
    beyond_s = [wanted.get((link, direction)) for direction in (0, 1)]
    if beyond_s == [None, None]:
        return {}
    return {"timelines": [None if one is None else nanoseconds(one) for one in beyond_s]}


def traces(links: Iterable[Link], draws: Draws) -> dict[str, str]:
    """Return the traces of cellular links as the trial's files: name -> content."""
    ways = [way for link in links for way in _ways(link, draws)]
    return {way.trace_name: text for way in ways if (text := way.cellular_trace())}


def waits_s(links: Iterable[Link], draws: Draws) -> tuple[float, ...]:
    """Return the longest seconds that a packet and its echo wait for a trace, for each link."""
    return tuple(sum(way.longest_gap_s() for way in _ways(link, draws)) for link in links)


@lru_cache(maxsize=4)
def _cellular(model: CellularModel, key: int) -> str:
    """Generate the trace of a cellular link; cached, because a plan needs it twice."""
    # scipy takes half as long to import as everything else.
    from httpbed.bed.network import fates  # noqa: PLC0415

    return fates.trace_text(fates.cellular_trace(model, key))


def _ways(link: Link, draws: Draws) -> list[_Emulated]:
    return [_Emulated(link, index, draws) for index in (0, 1)]


@dataclass(frozen=True)
class _Emulated:
    """One direction of a link; what the descriptors of impairments ask for."""

    link: Link
    index: int
    draws: Draws

    @property
    def described(self) -> Direction:
        """The direction as the experiment describes it."""
        return self.link.directions()[self.index]

    @property
    def rtt_s(self) -> float:
        return self.link.rtt_s()

    @property
    def first_bit_s(self) -> int:
        return self.described.first_bit_s() or 0

    @property
    def loss_may_change(self) -> bool:
        name = DIRECTIONS[self.index]
        changes: list[Action] = [*self.link.schedule, *self.link.events]
        return self.draws.live or any(
            change.loss is not None and change.direction in {None, name} for change in changes
        )

    def number(self, stream: str) -> int:
        """Return the key of a random stream."""
        first, second = self.link.between
        name = f"{first}->{second}" if self.index == 0 else f"{second}->{first}"
        draws = self.draws
        return seeds.stream_key(draws.seed, draws.block, self.link.name, name, stream)

    def key(self, stream: str) -> str:
        return str(self.number(stream))

    def replayed(self, file: str, sha256: str | None) -> list[int]:
        record = self.draws.files.get(sha256 or "")
        if not isinstance(record, LossRecord):
            msg = f"the file {file!r} was not read before the network was planned"
            raise ValueError(msg)  # noqa: TRY004 - a value was not given
        return list(record.lost[self.index])

    def trace_path(self, trace: str, sha256: str | None) -> str:
        return f"{LINK_FILES}/{sha256}" if sha256 else trace

    def cellular_path(self) -> str:
        return f"{TRIAL_FOLDER}/{self.trace_name}"

    @property
    def trace_name(self) -> str:
        """Name of the file with the trace that is generated for this direction."""
        return f"cellular-{self.link.name}-{('up', 'down')[self.index]}.trace"

    def cellular_trace(self) -> str:
        """Return the trace of a cellular rate; empty for another rate."""
        rate = self.described.rate
        if not isinstance(rate, Cellular):
            return ""
        return _cellular(rate.cellular, self.number("cellular"))

    def longest_gap_s(self) -> float:
        """Return the longest time between opportunities in seconds.

        It is 0 if the rate is no trace, or a trace that was not read yet.
        """
        if made := self.cellular_trace():
            return link_file.read_trace(made.encode()).longest_gap_s
        rate = self.described.rate
        known = self.draws.files.get(rate.sha256 or "") if isinstance(rate, Trace) else None
        return known.longest_gap_s if isinstance(known, link_file.TraceFacts) else 0.0

    def table(self) -> Table:
        """Write the direction's part of the emulator's configuration."""
        described = self.described
        return {
            impairment.key: impairment.emulated(getattr(described, impairment.field), self)
            for impairment in ALL
        }


def order(action: Action) -> Table:
    """Return the order to a running emulator to change a condition."""
    return {"direction": index(action.direction), "change": change(action)}


def change(action: Action) -> Table | None:
    """Return the JSON of a change; None if the action changes nothing."""
    if action.rate is not None:
        return {"rate_bit_s": action.rate}
    if action.delay is not None:
        return {"delay_ns": nanoseconds(action.delay)}
    if action.loss is not None:
        return {"loss": action.loss}
    return None if action.state is None else {"down": action.state == "down"}


def index(direction: str | None) -> int | None:
    """Return the emulator's number of a direction; None is both."""
    return None if direction is None else DIRECTIONS.index(direction)


def _schedule(link: Link, ways: Sequence[_Emulated]) -> list[Table]:
    entries = [{"at_ns": nanoseconds(entry.at), **order(entry)} for entry in link.schedule]
    return sorted([*_steps(ways), *entries], key=lambda entry: entry["at_ns"])


def _steps(ways: Sequence[_Emulated]) -> Iterator[Table]:
    for way in ways:
        rate = way.described.rate
        for at, bit_s in rate.steps[1:] if isinstance(rate, Steps) else ():
            yield {
                "at_ns": nanoseconds(at),
                "direction": way.index,
                "change": {"rate_bit_s": bit_s},
            }


def _trigger(link: Link, event: Event) -> Table:
    return {
        "name": event.name,
        "when": _when(link, event),
        "after_ns": nanoseconds(event.after),
        "direction": index(event.direction),
        "change": change(event),
    }


def _when(link: Link, event: Event) -> Table:
    when = event.when
    if isinstance(when, Delivered):
        towards = link.between.index(when.to)
        return {"delivered_bytes": when.delivered, "direction": 1 - towards}
    if isinstance(when, FirstPacket):
        return {"first_packet": True, "direction": link.between.index(when.first_packet_of)}
    return {"handshake": True}
