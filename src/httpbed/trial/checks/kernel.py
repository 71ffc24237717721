"""Checks of a link that the kernel carries: its own counters against what was seen on the hop.

The observer counts between its orders to start and to stop; the kernel is asked before and after
each. So what it says for the time between encloses what was seen, and when nothing passes
meanwhile it is equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.experiment.topology import Direction, Link
from httpbed.experiment.trial import Check
from httpbed.network.kernel import Shaped
from httpbed.network.plan import NetworkPlan

TIMES = ("before-start", "after-start", "before-stop", "after-stop")

Table = Mapping[str, Any]
Readings = Mapping[str, Iterable[Table]]
"""Of the kernel's counters, by the time of each."""


def checks(planned: NetworkPlan, result: Table, readings: Readings) -> Iterator[Check]:
    """Check what the kernel did in one attempt by the observer's result, on every link."""
    for index, link in enumerate(planned.topology.links):
        yield from _of_link(planned, index, link, result, readings)


def _of_link(
    planned: NetworkPlan, index: int, link: Link, result: Table, readings: Readings
) -> Iterator[Check]:
    shaped = planned.shaped[index]
    ports = [end.emulator_interface for end in reversed(planned.ends[index])]
    where = f", on {link.name}" if len(planned.ends) > 1 else ""
    yield _kinds(shaped, ports, readings, where)
    for side, (way, port) in enumerate(zip(link.directions(), ports, strict=True)):
        told = result["directions"][2 * index + side]
        roots = [_root(readings.get(when, ()), port) for when in TIMES]
        yield _conservation(way, told, [_Counted.of(root) for root in roots if root])
        if way.loss:
            yield _losses(shaped, side, told)


def unjudged_rtt(pings_s: Sequence[float]) -> str:
    """Tell the idle round-trip time of a way whose jitter and loss meet echoes, too."""
    least = f"{min(pings_s) * 1e3:.2f} ms, smallest of {len(pings_s)}" if pings_s else "no echo"
    return f"{least}; netem's jitter and loss meet pings, so it proves nothing"


@dataclass(frozen=True)
class _Counted:
    """What a discipline has counted."""

    sent: int
    dropped: int
    waiting: int

    @classmethod
    def of(cls, qdisc: Table) -> _Counted:
        return cls(qdisc["packets"], qdisc["drops"], qdisc["qlen"])

    @property
    def offered(self) -> int:
        """What came to it, copies included."""
        return self.sent + self.dropped + self.waiting


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="bed", passed=passed, figure=figure, limit=limit)


def _root(qdiscs: Iterable[Table], port: str) -> Table | None:
    return next((one for one in qdiscs if one.get("dev") == port and one.get("root")), None)


def _kinds(shaped: Shaped, ports: Sequence[str], readings: Readings, where: str) -> Check:
    """Check that the kernel has the disciplines: shaping that does nothing is the usual fault."""
    last = readings.get(TIMES[-1], ())
    kinds = {port: (_root(last, port) or {}).get("kind", "none") for port in ports}
    return _check(
        f"kernel's link{where}",
        passed=all(kind == shaped.kind for kind in kinds.values()),
        figure=", ".join(f"{kind} at {port}" for port, kind in kinds.items()),
        limit=f"{shaped.kind} at each: {'; '.join(shaped.lines)}",
    )


def _conservation(way: Direction, told: Table, counted: Sequence[_Counted]) -> Check:
    name = f"conservation by the kernel's counters, {told['from']}->{told['to']}"
    if len(counted) != len(TIMES):
        return _check(name, passed=False, figure="the kernel's counters could not be read")
    first, started, stopping, last = counted
    came, left = told["packets"]["in"], told["packets"]["delivered"]
    passed = stopping.sent - started.sent <= left <= last.sent - first.sent
    passed = passed and came <= last.offered - first.offered
    if not way.duplication:  # else copies were offered that never came
        passed = passed and stopping.offered - started.offered <= came
    dropped, waiting = last.dropped - first.dropped, last.waiting
    figure = f"{came} came, {left} were seen leaving"
    limit = f"sent {last.sent - first.sent}, dropped {dropped}, {waiting} waiting at the end"
    return _check(name, passed=passed, figure=figure, limit=limit)


def _losses(shaped: Shaped, side: int, told: Table) -> Check:
    missing, came = told["packets"]["not_seen_leaving"], told["packets"]["in"]
    word = "not by our seed"
    if shaped.seeds:
        word = f"by netem's own generator, seed {shaped.seeds[side]}: not drawn again here"
    return _check(
        f"losses as drawn, {told['from']}->{told['to']}",
        passed=None,
        figure=f"{missing} of {came} not seen leaving, lost or dropped by the queue",
        limit=word,
    )
