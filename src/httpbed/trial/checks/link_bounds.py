"""Checks that what was evidence is possible for the links of the experiment; pure.

They are the second line of the bed's defence. A forged result of the emulator, or a fault of the
emulator itself, gives times or bytes that no link of the description can have. There are two
independent sources:

* The emulator's *witness* of each direction (``crates/link-model/src/witness.rs``) compares each
  packet while it is delivered. A slack below 0 is impossible.
* :mod:`httpbed.network.bounds` computes from the experiment alone what each direction can do. The
  times and bytes of the result are compared with that.

Every bound holds for every valid trial, so the only tolerances are for rounding and for the
difference of two clocks. What is not certain is not asserted: a rate that follows a trace is left
to the witness, which knows the trace; acknowledgements are not read where a link damages packets; a
client that goes from link to link, or whose bodies are not known, has no least request time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.experiment import units
from httpbed.experiment.impairments.registry import ALL
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Check
from httpbed.experiment.units import NS
from httpbed.network.bounds import Bounds
from httpbed.network.plan import NetworkPlan
from httpbed.trial import request_logs
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain, HopPath, NetworkHop, chains

NAME = "possible for this link"
IMPOSSIBLE = "impossible for this link: "
"""How the figure of a broken check begins, and with it the reason of an invalid attempt."""
ROUNDING_S = 2e-9
"""Times are whole ns, and so are delays and jitter: of each the last may be rounded."""
STAMPS_S = 1e-4
"""Two stamps of the kernel are put on the emulator's clock by what it knows of the difference of
two clocks just then: within tens of ns, and within 100 us on any machine that runs it."""
KERNEL_SHARE = 0.01
"""The kernel counts a packet's time in whole ns, rounded down: 0.1 % of 1500 bytes at 10 Gbit/s,
1 % of a short packet at 1 Gbit/s."""
WITNESSED_SINCE = 3
"""Version of the emulator's result that has what the witness saw."""

Table = Mapping[str, Any]


@dataclass(frozen=True)
class BoundComparison:
    """A figure beside its bound."""

    what: str
    measured: float
    bound: float
    is_most: bool
    """Whether the bound is the most that is possible; else it is the least."""
    unit: str
    """``s``, ``bytes`` or ``packets``."""
    tolerance: float = 0.0

    @property
    def is_possible(self) -> bool:
        """Whether the bound is kept."""
        beyond = self.measured - self.bound if self.is_most else self.bound - self.measured
        return beyond <= self.tolerance

    @property
    def nearness(self) -> float:
        """How near the figure is to its bound: 1 at the bound, less where there is room.

        A bound of 0 is told only where no other is: it has no scale.
        """
        high, low = (self.bound, self.measured) if self.is_most else (self.measured, self.bound)
        return low / high if high and self.bound else -1.0

    def __str__(self) -> str:
        """Write ``1 MB from server to client in 100 ms; possible: at most 125 kB``."""
        measured, bound = (_FORMS[self.unit](value) for value in (self.measured, self.bound))
        word = "at most" if self.is_most else "at least"
        return f"{measured} {self.what}; possible: {word} {bound}"


_FORMS: Mapping[str, Callable[[float], str]] = {
    "s": units.format_duration,
    "bytes": units.format_size,
    "packets": "{:.0f} packets".format,
}


def checks(
    scenario: Scenario, planned: NetworkPlan, hops: Sequence[NetworkHop], evidence: AttemptEvidence
) -> Iterator[Check]:
    """Check one attempt's packet times, bytes and acknowledgements against what is possible."""
    ways = [
        _DirectionEvidence(planned, number, evidence.link)
        for number in range(2 * len(planned.ends))
    ]
    clients = chains(scenario, hops)
    yield _check("bytes in any window", [one for way in ways for one in way.windows()])
    times = [
        *_never_early(evidence.link),
        *(one for way in ways for one in way.times()),
        *_handshakes(planned, hops, evidence),
        *(() if scenario.handover else _request_time(planned, clients[0], evidence)),
    ]
    yield _check("times", times)
    yield _check("bytes received", [*_acknowledged(planned, evidence)])


def of_subject(clients: Iterable[Chain], evidence: AttemptEvidence) -> Iterator[Check]:
    """Check that each client stored no more than its links delivered to it.

    What a client stored is its own word, so a client that stores what it never received has failed:
    the bed is not to blame for it.
    """
    if evidence.link:
        stored = [one for chain in clients for one in _bodies(chain, evidence)]
        check = _check("bodies stored", stored)
        yield check.model_copy(update={"of": "subject"})


def _check(topic: str, compared: Sequence[BoundComparison]) -> Check:
    """Tell the figure that is nearest to its bound, or all that are beyond."""
    impossible = [str(one) for one in compared if not one.is_possible]
    nearest = max(compared, key=lambda one: one.nearness, default=None)
    figure = "not judged: nothing certain is known" if nearest is None else str(nearest)
    if impossible:
        figure = IMPOSSIBLE + "; ".join(impossible)
    return Check(
        name=f"{NAME}, {topic}",
        of="bed",
        passed=None if nearest is None else not impossible,
        figure=figure,
        limit=f"none of {len(compared)} figures beyond its bound" if compared else "",
    )


class _DirectionEvidence:
    """What one direction of a link has done, beside what it can do."""

    def __init__(self, planned: NetworkPlan, number: int, link: Table) -> None:
        described = planned.topology.links[number // 2]
        self.bounds = Bounds(described, number % 2, planned.backend)
        self.told: Table = link["directions"][number]
        self.started_s = link["started_ns"] / NS
        self.is_carried = not planned.shaped
        self.witnessed: Table = self.told.get("witnessed") or {}
        self.is_witnessed = self.is_carried and _has_witness(link)
        self.named = f"from {self.told['from']} to {self.told['to']} over {described.name}"
        self.changes = [
            (change["at_ns"] / NS, change["change"]["rate_bit_s"])
            for change in link.get("changes", ())
            if change["link"] == described.name
            and change["direction"] == number % 2
            and "rate_bit_s" in change["change"]
        ]

    def windows(self) -> Iterator[BoundComparison]:
        """Compare the bytes of the tightest window, and of all the time."""
        if window := self.witnessed.get("window"):
            size, lasted = window["bytes"], (window["to_ns"] - window["from_ns"]) / NS
            late = f"after the ideal transmitter for {_sent(size, lasted)}"
            yield self._least(window["slack_ns"], late)
            yield from self._window(window["bytes"], window["from_ns"] / NS, window["to_ns"] / NS)
        if self.is_witnessed:
            delivered = self.told["packets"]["delivered"]
            unknown = abs(delivered - self.witnessed.get("packets", 0))
            what = f"of {delivered} delivered {self.named} unknown to the witness"
            yield BoundComparison(what, unknown, 0, True, "packets")
        if self.told["last_ns"] is None or self.told["first_ns"] is None:
            return
        # What the kernel carries may have come before the start and left after it.
        first_s = self.told["first_ns"] / NS if self.is_carried else self.started_s
        last_s = self.told["last_ns"] / NS - self.bounds.least_delay_s()
        overhead = self.bounds.said.overhead_bytes()
        sizes, packets = self.told["bytes"]["delivered"], self.told["packets"]["delivered"]
        yield from self._window(sizes + overhead * packets, first_s, last_s)

    def _window(self, size: int, from_s: float, to_s: float) -> Iterator[BoundComparison]:
        since = self.started_s
        most = self.bounds.most_bytes(from_s - since, to_s - since, self.changes)
        if most is not None:
            tolerance = self.bounds.rounding_bytes()
            tolerance += 0.0 if self.is_carried else KERNEL_SHARE * most
            what = f"{self.named} in {_lasted(to_s - from_s)}"
            yield BoundComparison(what, size, most, True, "bytes", tolerance)

    def times(self) -> Iterator[BoundComparison]:
        """Compare the time under way, and when the first packet came."""
        slack_ns = self.witnessed.get("delay_slack_ns")
        if slack_ns is not None:
            yield self._least(slack_ns, "after transmission and least delay for each packet")
        if quickest := self.witnessed.get("quickest"):
            least = self.bounds.least_delay_s()
            least += self.bounds.least_transmission_s(quickest["bytes"])
            what = f"under way for {quickest['bytes']} bytes {self.named}"
            yield BoundComparison(what, quickest["took_ns"] / NS, least, False, "s", ROUNDING_S)
        if self.told["first_ns"] is not None:
            what = f"after the start for the first packet {self.named}"
            since_s = self.told["first_ns"] / NS - self.started_s
            yield BoundComparison(what, since_s, 0.0, False, "s")

    def _least(self, slack_ns: int, after: str) -> BoundComparison:
        return BoundComparison(f"{after} {self.named}", slack_ns / NS, 0.0, False, "s")


def _sent(size: int, lasted_s: float) -> str:
    return f"{units.format_size(size)} in {_lasted(lasted_s)}"


def _lasted(seconds: float) -> str:
    return units.format_duration(max(0.0, seconds), units.SHORT_DIGITS)


def _has_witness(link: Table) -> bool:
    return int(link.get("schema", WITNESSED_SINCE)) >= WITNESSED_SINCE


def _never_early(link: Table) -> Iterator[BoundComparison]:
    """A frame that is sent before it is due makes every bound on due times void."""
    if "early_ns" in link:
        what = "before it was due for a frame's sending"
        yield BoundComparison(what, link["early_ns"] / NS, 0.0, True, "s")


def _handshakes(
    planned: NetworkPlan, hops: Iterable[NetworkHop], evidence: AttemptEvidence
) -> Iterator[BoundComparison]:
    """Compare each handshake with a round trip: its end needs what the server sends in reply.

    Only of connections whose first packet was evidence; else the server's reply may be older.
    """
    for hop in hops:
        paths = {path.names[0]: path for path in hop.paths}
        for one in hop.near(evidence.connections):
            begun = one.get("acknowledged_ahead") is not None or one.get("opening") in {
                "initial",
                "0-rtt",
            }
            if begun and one["handshake_ns"] is not None:
                took_s = (one["handshake_ns"] - one["client_first_ns"]) / NS
                least_s = _round_trip_s(planned, paths[one["link"]])
                what = f"for the handshake {hop.title} over {one['link']}"
                yield BoundComparison(what, took_s, least_s, False, "s", STAMPS_S)


def _round_trip_s(planned: NetworkPlan, path: HopPath) -> float:
    """Seconds of the least delays of all links, there and back."""
    return sum(
        Bounds(planned.topology.links[link], side, planned.backend).least_delay_s()
        for link in path.links
        for side in (0, 1)
    )


def _request_time(
    planned: NetworkPlan, chain: Chain, evidence: AttemptEvidence
) -> Iterator[BoundComparison]:
    """Compare the request time with a round trip and the transmission of the bodies.

    The end is that of the client's last packet: one that closes its side early still acknowledges
    what comes. A client over UDP may end without a packet; then the last packet to it is the end.
    """
    hop, size = chain.hops[0], min(_transferred(chain, evidence), _delivered(chain, evidence))
    near = hop.near(evidence.connections)
    (path,) = hop.paths
    if not size or not near or not evidence.client or evidence.client.timed_out:
        return
    last_ns = max(one["client_last_ns"] for one in near)
    if any(one["protocol"] == "udp" for one in near):
        last_ns = max(last_ns, evidence.link["directions"][path.downstream]["last_ns"] or 0)
    took_s = (last_ns - min(one["client_first_ns"] for one in near)) / NS
    slowest_s = max(
        Bounds(planned.topology.links[link], 1 - side, planned.backend).least_transmission_s(size)
        for link, side in planned.route(hop.client_host, hop.server_host, path.over)
    )
    least_s = _round_trip_s(planned, path) + slowest_s * (1 - KERNEL_SHARE * bool(planned.shaped))
    what = f"for {units.format_size(size)} to the {chain.client}"
    yield BoundComparison(what, took_s, least_s, False, "s", STAMPS_S)


def _bodies(chain: Chain, evidence: AttemptEvidence) -> Iterator[BoundComparison]:
    """Compare the bodies that a client has with the bytes that its links have delivered to it."""
    if size := _transferred(chain, evidence):
        what = f"of bodies at the {chain.client}"
        yield BoundComparison(what, size, _delivered(chain, evidence), True, "bytes")


def _delivered(chain: Chain, evidence: AttemptEvidence) -> int:
    """Return the bytes that a client's links have delivered to it."""
    directions = [evidence.link["directions"][path.downstream] for path in chain.hops[0].paths]
    return sum(int(direction["bytes"]["delivered"]) for direction in directions)


def _transferred(chain: Chain, evidence: AttemptEvidence) -> int:
    """Return the bytes of bodies that certainly came to a client; 0 where nothing is certain.

    A client may have decoded what it stored: so never more than who answered it has logged.
    """
    logged = [
        one.body_bytes for one in request_logs.answered(chain.hops[0].hop.server, evidence).requests
    ]
    if not logged or None in logged:
        return 0
    stored = sum(int(body["bytes"]) for body in evidence.bodies.get(chain.client, ()) if body)
    return min(stored, sum(size for size in logged if size is not None))


def _acknowledged(planned: NetworkPlan, evidence: AttemptEvidence) -> Iterator[BoundComparison]:
    """Compare what each side of a TCP connection acknowledged with what was delivered to it."""
    links = planned.topology.links
    damaging = [impairment.field for impairment in ALL if impairment.changes_bytes]
    ways = [way for link in links for way in link.directions()]
    if any(getattr(way, field) for way in ways for field in damaging):
        return
    for one in evidence.connections:
        ahead = one.get("acknowledged_ahead")
        if ahead is not None:
            what = f"acknowledged beyond what {one['link']} delivered, {one['client']}"
            yield BoundComparison(what, ahead, 0, True, "bytes")
