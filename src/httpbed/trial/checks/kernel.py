"""Checks of a link that the kernel carries: its counters against the emulator's observations.

The emulator counts between its orders to start and to stop. The kernel's counters are read before
and after each order. So the outer readings bound what the emulator counts from above, and the inner
ones from below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.bed.network.kernel import READINGS, LinkDisciplines
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.experiment.check import AS_DRAWN, KERNEL_CONSERVATION, KERNEL_LINK
from httpbed.experiment.topology import Direction, Link
from httpbed.experiment.trial import Check

Table = Mapping[str, Any]
Readings = Mapping[str, Iterable[Table]]
"""The kernel's counters by the time of reading."""


def checks(planned: NetworkPlan, result: Table, readings: Readings) -> Iterator[Check]:
    """Compare the kernel's counters with the emulator's result, on every link."""
    for index, link in enumerate(planned.topology.links):
        yield from _of_link(planned, index, link, result, readings)


def _of_link(
    planned: NetworkPlan, index: int, link: Link, result: Table, readings: Readings
) -> Iterator[Check]:
    shaped = planned.shaped[index]
    ports = [end.emulator_interface for end in reversed(planned.ends[index])]
    where = f"on {link.name}" if len(planned.ends) > 1 else ""
    yield _kinds(shaped, ports, readings, where)
    for side, (direction, port) in enumerate(zip(link.directions(), ports, strict=True)):
        observed = result["directions"][2 * index + side]
        roots = [_root(readings.get(when, ()), port) for when in READINGS]
        yield _conservation(direction, observed, [_Counted.of(root) for root in roots if root])
        if direction.loss:
            yield _losses(shaped, side, observed)


def unjudged_rtt(pings_s: Sequence[float]) -> str:
    """Describe the idle round-trip time of a path whose jitter and loss affect pings."""
    least = f"{min(pings_s) * 1e3:.2f} ms, smallest of {len(pings_s)}" if pings_s else "no echo"
    return f"{least}; netem's jitter and loss affect pings, so it is not judged"


@dataclass(frozen=True)
class _Counted:
    """The counters of one discipline."""

    sent: int
    dropped: int
    waiting: int

    @classmethod
    def of(cls, qdisc: Table) -> _Counted:
        return cls(qdisc["packets"], qdisc["drops"], qdisc["qlen"])

    @property
    def offered(self) -> int:
        """Packets that arrived, copies included."""
        return self.sent + self.dropped + self.waiting


def _root(qdiscs: Iterable[Table], port: str) -> Table | None:
    return next((one for one in qdiscs if one.get("dev") == port and one.get("root")), None)


def _kinds(shaped: LinkDisciplines, ports: Sequence[str], readings: Readings, where: str) -> Check:
    """Check that both ports have the chosen discipline."""
    last = readings.get(READINGS[-1], ())
    kinds = {port: (_root(last, port) or {}).get("kind", "none") for port in ports}
    return KERNEL_LINK.result(
        where=where,
        passed=all(kind == shaped.kind for kind in kinds.values()),
        figure=", ".join(f"{kind} at {port}" for port, kind in kinds.items()),
        limit=f"{shaped.kind} at each: {'; '.join(shaped.lines)}",
    )


def _conservation(direction: Direction, observed: Table, counted: Sequence[_Counted]) -> Check:
    where = f"{observed['from']}->{observed['to']}"
    if len(counted) != len(READINGS):
        figure = "the kernel's counters could not be read"
        return KERNEL_CONSERVATION.result(where=where, passed=False, figure=figure)
    first, started, stopping, last = counted
    came, left = observed["packets"]["in"], observed["packets"]["delivered"]
    passed = stopping.sent - started.sent <= left <= last.sent - first.sent
    passed = passed and came <= last.offered - first.offered
    if not direction.duplication:  # otherwise the counters include copies that never arrived
        passed = passed and stopping.offered - started.offered <= came
    dropped, waiting = last.dropped - first.dropped, last.waiting
    figure = f"{came} came, {left} were seen leaving"
    limit = f"sent {last.sent - first.sent}, dropped {dropped}, {waiting} waiting at the end"
    return KERNEL_CONSERVATION.result(
        where=where, passed=passed, figure=figure, limit=limit, measured=came
    )


def _losses(shaped: LinkDisciplines, side: int, observed: Table) -> Check:
    packets = observed["packets"]
    missing, came = packets["not_seen_leaving"], packets["in"]
    source = "not drawn by httpbed's seed"
    if shaped.seeds:
        source = f"by netem's own generator, seed {shaped.seeds[side]}: not drawn again here"
    return AS_DRAWN.result(
        item="losses",
        where=f"{observed['from']}->{observed['to']}",
        passed=None,
        figure=f"{missing} of {came} not seen leaving, lost or dropped by the queue",
        limit=source,
        measured=missing,
    )
