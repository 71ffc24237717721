"""What ``httpbed-link`` is told of its links.

Integers in ns, bytes and bit/s, a key for each random stream, and null where nothing is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from httpbed.experiment import seeds
from httpbed.experiment.changes import Action, Delivered, Event, FirstPacket
from httpbed.experiment.impairments.delay import Distributed, Samples
from httpbed.experiment.impairments.loss import GilbertElliott, Listed, Replay
from httpbed.experiment.impairments.queue import Queue
from httpbed.experiment.impairments.rate import (
    MTU_BYTES,
    Cellular,
    CellularModel,
    Steps,
    TokenBucket,
    Trace,
)
from httpbed.experiment.topology import Direction, Link
from httpbed.host.backend import Backend
from httpbed.host.sandbox.spec import TRIAL_FOLDER
from httpbed.network import files as link_files
from httpbed.network import kernel
from httpbed.network.addresses import End
from httpbed.network.files import Facts, Record

SCHEMA = 2
SPIN_US = 150
LINK_FILES = "/links"
"""Where the sandbox sees the files that an experiment names, each by its digest."""

Table = dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """What the emulator is asked to keep, as paths inside the sandbox."""

    pcapng: str | None = None
    log: str | None = None


@dataclass(frozen=True)
class Draws:
    """What decides everything random of a link."""

    seed: int
    block: int
    files: Mapping[str, Facts] = field(default_factory=dict)
    """What is known of the files that the experiment names, by their digests."""
    live: bool = False
    """Whether conditions may also change by command, of which the link says nothing."""


def config(  # noqa: PLR0913 - what is not always wanted is said by name
    links: Sequence[Link],
    ends: Sequence[tuple[End, End]],
    draws: Draws,
    backend: Backend,
    recording: Recording,
    *,
    nat: Collection[int] = (),
) -> Table:
    """Write the emulator's configuration; it observes where the kernel carries the packets.

    ``nat`` are the links, by their places, with a network address translator at their second end,
    which preserves ports until the change ``{"rebind": true}``. An observer cannot have one.
    """
    carried = backend in kernel.KINDS
    return {
        "schema": SCHEMA,
        "mtu": MTU_BYTES,
        "spin_us": SPIN_US,
        "backend": "observer" if carried else backend,
        "links": [
            _link(link, both, draws, carried=carried) | ({"nat": True} if place in nat else {})
            for place, (link, both) in enumerate(zip(links, ends, strict=True))
        ],
        "pcapng": recording.pcapng,
        "log": recording.log,
    }


def _link(link: Link, ends: tuple[End, End], draws: Draws, *, carried: bool) -> Table:
    ways = _ways(link, draws)
    return {
        "name": link.name,
        "hosts": list(link.between),
        "interfaces": [end.emulator_interface for end in ends],
        "directions": [{}, {}] if carried else [way.table() for way in ways],
        "schedule": [] if carried else _schedule(link, ways),
        "triggers": [_trigger(link, event) for event in link.events],
    }


def traces(links: Iterable[Link], draws: Draws) -> dict[str, str]:
    """Write the traces of cellular links, as files of the trial: name -> content."""
    ways = [way for link in links for way in _ways(link, draws)]
    return {way.trace_name: text for way in ways if (text := way.cellular_trace())}


def waits_s(links: Iterable[Link], draws: Draws, backend: Backend) -> tuple[float, ...]:
    """Seconds that a packet and its echo may wait for an opportunity, on links of traces."""
    carried = backend in kernel.KINDS
    return tuple(
        0.0 if carried else sum(way.longest_gap_s() for way in _ways(link, draws)) for link in links
    )


@lru_cache(maxsize=4)
def _cellular(model: CellularModel, key: int) -> str:
    """Make a trace once for all that a plan asks of it: its text, and how long one may wait."""
    # It needs scipy, half of what everything else takes to be imported.
    from httpbed.network import cellular  # noqa: PLC0415

    return cellular.text(cellular.trace(model, key))


def _ways(link: Link, draws: Draws) -> list[_Way]:
    return [_Way(link, index, draws) for index in (0, 1)]


@dataclass(frozen=True)
class _Way:
    """One direction of a link."""

    link: Link
    index: int
    draws: Draws

    @property
    def said(self) -> Direction:
        return self.link.directions()[self.index]

    @property
    def trace_name(self) -> str:
        return f"cellular-{self.link.name}-{('up', 'down')[self.index]}.trace"

    def number(self, impairment: str) -> int:
        """Key of an impairment's random stream."""
        first, second = self.link.between
        name = f"{first}->{second}" if self.index == 0 else f"{second}->{first}"
        draws = self.draws
        return seeds.stream_key(draws.seed, draws.block, self.link.name, name, impairment)

    def key(self, impairment: str) -> str:
        """The same in decimal: JSON numbers of other programs are not 64 bits wide."""
        return str(self.number(impairment))

    def cellular_trace(self) -> str:
        """The trace of a cellular link; empty when it is none."""
        rate = self.said.rate
        if not isinstance(rate, Cellular):
            return ""
        return _cellular(rate.cellular, self.number("cellular"))

    def longest_gap_s(self) -> float:
        """Seconds between opportunities at most; 0 when the rate is no trace, or not yet read."""
        if made := self.cellular_trace():
            return link_files.read_trace(made.encode()).longest_gap_s
        rate = self.said.rate
        known = self.draws.files.get(rate.sha256 or "") if isinstance(rate, Trace) else None
        return known.longest_gap_s if isinstance(known, link_files.Trace) else 0.0

    def table(self) -> Table:
        said = self.said
        return {
            "overhead_bytes": said.overhead_bytes(),
            "loss": self._loss(),
            "corruption": self._chance("corruption", said.corruption),
            "duplication": self._chance("duplication", said.duplication),
            "rate": self._rate(),
            "queue": self._queue(said.queue),
            "delay_ns": _ns(said.delay),
            "jitter": self._jitter(),
            "reordering": self._reordering(),
        }

    def _chance(self, name: str, probability: float) -> Table | None:
        return {"probability": probability, "key": self.key(name)} if probability else None

    def _loss(self) -> Table | None:
        loss = self.said.loss
        if isinstance(loss, GilbertElliott):
            return {
                "model": "gilbert_elliott",
                "to_bad": loss.to_bad,
                "to_good": loss.to_good,
                "loss_good": loss.good,
                "loss_bad": loss.bad,
                "key": self.key("loss"),
            }
        if isinstance(loss, Listed):
            return {"model": "listed", "numbers": sorted(set(loss.packets))}
        if isinstance(loss, Replay):
            return {"model": "listed", "numbers": self._replayed(loss)}
        if (
            loss or self.draws.live or self._loss_changes()
        ):  # the stream belongs to the link, whenever loss sets in
            return {"model": "bernoulli", "probability": loss, "key": self.key("loss")}
        return None

    def _loss_changes(self) -> bool:
        name = ("up", "down")[self.index]
        changes: list[Action] = [*self.link.schedule, *self.link.events]
        return any(
            change.loss is not None and change.direction in {None, name} for change in changes
        )

    def _replayed(self, loss: Replay) -> list[int]:
        record = self.draws.files.get(loss.sha256 or "")
        if not isinstance(record, Record):
            msg = f"the file {loss.replay!r} was not read before the network was planned"
            raise ValueError(msg)  # noqa: TRY004 - a value was not given
        return list(record.lost[self.index])

    def _rate(self) -> Table | None:
        rate = self.said.rate
        if isinstance(rate, TokenBucket):
            return {"model": "token_bucket", "bit_s": rate.bucket, "burst_bytes": rate.burst}
        if isinstance(rate, Trace):
            path = f"{LINK_FILES}/{rate.sha256}" if rate.sha256 else rate.trace
            return {"model": "trace", "path": path}
        if isinstance(rate, Cellular):
            return {"model": "trace", "path": f"{TRIAL_FOLDER}/{self.trace_name}"}
        if isinstance(rate, Steps):
            return {"model": "constant", "bit_s": rate.first_bit_s}
        return None if rate is None else {"model": "constant", "bit_s": rate}

    def _queue(self, queue: Queue) -> Table:
        unit, amount = queue.limit.resolved(self.said.first_bit_s() or 0, self.link.rtt_s())
        table: Table = {"discipline": queue.discipline, "limit": {unit: amount}}
        if queue.discipline == "droptail":
            return table
        table |= {"target_ns": _ns(queue.target_s), "ecn": queue.ecn}
        interval = _ns(queue.interval_s)
        if queue.discipline == "pie":
            return table | {"update_ns": interval, "key": self.key("pie")}
        table["interval_ns"] = interval
        if queue.discipline == "fq_codel":
            table |= {"flows": queue.flows_or_default, "quantum_bytes": queue.quantum_or_default}
        return table

    def _jitter(self) -> Table | None:
        jitter = self.said.jitter
        if isinstance(jitter, Samples):
            samples = [_ns(sample) for sample in jitter.samples]
            return {"distribution": "table", "samples_ns": samples, "key": self.key("jitter")}
        if isinstance(jitter, Distributed):
            shape, spread = jitter.distribution, jitter.spread
        else:
            shape, spread = "uniform", jitter or 0.0
        if not spread:
            return None
        return {"distribution": shape, "spread_ns": _ns(spread), "key": self.key("jitter")}

    def _reordering(self) -> Table | None:
        said = self.said.reordering
        if said is None or not said.share:
            return None
        chance = {"probability": said.share, "hold_ns": _ns(said.hold)}
        return {**chance, "key": self.key("reordering")}


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def change(action: Action) -> Table | None:
    """Write what an action changes; None when it changes nothing."""
    if action.rate is not None:
        return {"rate_bit_s": action.rate}
    if action.delay is not None:
        return {"delay_ns": _ns(action.delay)}
    if action.loss is not None:
        return {"loss": action.loss}
    return None if action.state is None else {"down": action.state == "down"}


def index(direction: str | None) -> int | None:
    """Number a direction as the emulator does; None is both."""
    return None if direction is None else ("up", "down").index(direction)


def _schedule(link: Link, ways: Sequence[_Way]) -> list[Table]:
    entries = [
        {"at_ns": _ns(entry.at), "direction": index(entry.direction), "change": change(entry)}
        for entry in link.schedule
    ]
    return sorted([*_steps(ways), *entries], key=lambda entry: entry["at_ns"])


def _steps(ways: Sequence[_Way]) -> Iterator[Table]:
    for way in ways:
        rate = way.said.rate
        for at, bit_s in rate.steps[1:] if isinstance(rate, Steps) else ():
            yield {"at_ns": _ns(at), "direction": way.index, "change": {"rate_bit_s": bit_s}}


def _trigger(link: Link, event: Event) -> Table:
    return {
        "name": event.name,
        "when": _when(link, event),
        "after_ns": _ns(event.after),
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
