"""Checks that the observed times and bytes are possible for the links of the experiment.

They detect a forged result and a faulty emulator. Two independent sources are compared:

* The emulator's *witness* of each direction (``crates/link-model/src/witness.rs``) compares each
  packet while it is delivered. A slack below 0 is impossible.
* :class:`Bounds` computes from the experiment alone what each direction can do.

Where a rate changes, the bounds take the highest one. When a change was in force, only the
emulator can say, and its witness follows each change exactly. An integral over the changes that
the emulator reports would repeat the witness and find nothing new. The bounds are for a link that
was configured with other rates, and the highest rate shows that. Right rates at wrong times are
left to the tests of the configuration.

Every valid trial keeps every bound, so tolerances cover only rounding and the difference of two
clocks. Uncertain bounds are left out: the witness alone judges a rate that follows a trace,
acknowledgements are not read where a link damages packets, and a client that changes links or loads
a page has no least request time.

Two kinds of bounds are the subject's. When a handshake is over, and when a request is, follows from
what the client and the server chose to send.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from httpbed.addons.bounds.bound_check_table import (
    POSSIBLE_ACKNOWLEDGEMENTS,
    POSSIBLE_BODIES,
    POSSIBLE_REQUESTS,
    POSSIBLE_TIMES,
    POSSIBLE_WINDOWS,
)
from httpbed.base import units
from httpbed.base.clock import NS
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.experiment.check import CheckDescriptor
from httpbed.experiment.impairments.delay import Distributed, Jitter, Samples
from httpbed.experiment.impairments.rate import Steps, TokenBucket
from httpbed.experiment.impairments.registry import ALL
from httpbed.experiment.topology import Direction, Link
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import FileTransfer
from httpbed.trial import client_requests
from httpbed.trial.addition import TrialAddition
from httpbed.trial.attempt_plan import TrialPlan
from httpbed.trial.evidence import AddedJudgement, AttemptEvidence
from httpbed.trial.hops import Chain, HopPath, NetworkHop

NORMAL_REACH = 8.573
"""The largest distance of a normal draw from the mean, in standard deviations: Box and Muller's
formula gives sqrt(-2 ln 2^-53) = 8.572 for a uniform draw of 53 bits."""
PARETO_LEAST = -0.5 / (0.75**0.5)
"""The least of a Pareto distribution of shape 3, shifted to mean 0 and scaled to deviation 1."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of one direction of a link: on bytes in a window, delay, transmission time.

    Each is computed from the topology alone, not from the emulator's configuration. A direction
    with a burst ``b`` and rates up to ``r`` lets at most ``b`` and ``r`` times the window pass
    (arrival curves: Cruz, IEEE Trans. Inf. Theory 37, 1991; Le Boudec and Thiran, *Network
    Calculus*, 2001, section 1.2). The window must begin no later than the packets' arrivals.
    """

    link: Link
    direction: int
    """0: from the link's first host to its second; 1: back."""

    @property
    def described(self) -> Direction:
        """The direction as the experiment describes it."""
        return self.link.directions()[self.direction]

    def highest_bit_s(self) -> int | None:
        """Return the highest rate of the direction; None without a rate or with a trace."""
        if not isinstance(self.described.rate, (int, TokenBucket, Steps)):
            return None
        return max(self.link.rates(self.direction))

    def burst_bytes(self) -> int:
        """Return the bytes that may pass beyond the rate."""
        return self.described.rate.burst if isinstance(self.described.rate, TokenBucket) else 0

    def least_delay_s(self) -> float:
        """Return the least seconds from transmission to arrival."""
        least = min(self.link.delays(self.direction)) + least_jitter_s(self.described.jitter)
        return max(0.0, least)

    def least_transmission_s(self, size: int) -> float:
        """Return the least transmission time of ``size`` bytes in seconds; 0 if it is unknown."""
        rate = self.highest_bit_s()
        return max(0, size - self.burst_bytes()) * 8 / rate if rate else 0.0

    def most_bytes(self, seconds: float) -> float | None:
        """Return the most bytes that can pass in a window; None without :meth:`highest_bit_s`."""
        highest = self.highest_bit_s()
        return None if highest is None else self.burst_bytes() + highest * max(0.0, seconds) / 8

    def rounding_bytes(self) -> float:
        """Return the tolerance for rounding: one byte, and 1 ns at the highest rate."""
        return 1 + (self.highest_bit_s() or 0) / NS / 8


def least_jitter_s(jitter: Jitter | None) -> float:
    """Return the least that jitter adds to a delay, in seconds; at most 0."""
    if isinstance(jitter, Samples):
        return min(0.0, *jitter.samples)
    if isinstance(jitter, Distributed):
        reach = {"uniform": -1.0, "normal": -NORMAL_REACH, "pareto": PARETO_LEAST}
        return reach[jitter.distribution] * jitter.spread
    return -(jitter or 0.0)


IMPOSSIBLE = "impossible for this link: "
"""Begins a broken check's figure, and so an invalid attempt's reason."""
ROUNDING_S = 2e-9
"""Times, delays and jitter are whole ns, so the last digit of each may be rounded."""
STAMPS_S = 1e-4
"""The emulator converts the kernel's time stamps to its own clock within tens of ns, and within 100
us on any machine."""
WITNESSED_SINCE = 3
"""First schema of the emulator's result with the witness's observations."""

Table = Mapping[str, Any]


@dataclass(frozen=True)
class BoundComparison:
    """A measured figure and its bound."""

    what: str
    measured: float
    bound: float
    is_most: bool
    """Whether the bound is an upper one."""
    unit: str
    """``s``, ``bytes`` or ``packets``."""
    tolerance: float = 0.0

    @property
    def is_possible(self) -> bool:
        """Whether the figure is within its bound."""
        beyond = self.measured - self.bound if self.is_most else self.bound - self.measured
        return beyond <= self.tolerance

    @property
    def nearness(self) -> float:
        """How near the figure is to its bound: 1 at the bound, less inside it.

        A bound of 0 has no scale, so it comes after all others.
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


def checks(planned: NetworkPlan, evidence: AttemptEvidence) -> Iterator[Check]:
    """Compare one attempt's packet times, bytes and acknowledgements with their bounds."""
    if not evidence.link:
        return
    directions = [
        _DirectionEvidence(planned, number, evidence.link)
        for number in range(2 * len(planned.ends))
    ]
    yield _check(POSSIBLE_WINDOWS, [window for side in directions for window in side.windows()])
    times = [
        *_never_early(evidence.link),
        *(one for side in directions for one in side.times()),
    ]
    yield _check(POSSIBLE_TIMES, times)
    yield _check(POSSIBLE_ACKNOWLEDGEMENTS, [*_acknowledged(planned, evidence)])


def of_subject(trial: TrialPlan, evidence: AttemptEvidence) -> Iterator[Check]:
    """Compare the times of handshakes and of the request, and the bodies, with their bounds.

    A client that has its bodies earlier than its links can carry them did not get them there.
    """
    if not evidence.link:
        return
    planned, chains = trial.network, trial.chains
    hops = [hop for chain in chains for hop in chain.hops]
    times = [
        *_handshakes(planned, hops, evidence),
        *(() if trial.scenario.handover else _request_time(planned, chains[0], evidence)),
    ]
    yield _check(POSSIBLE_REQUESTS, times)
    bodies = [body for chain in chains for body in _bodies(chain, evidence)]
    yield _check(POSSIBLE_BODIES, bodies)


def _check(descriptor: CheckDescriptor, compared: Sequence[BoundComparison]) -> Check:
    """Report the figure that is nearest to its bound, or all that are beyond."""
    impossible = [str(comparison) for comparison in compared if not comparison.is_possible]
    nearest = max(compared, key=lambda comparison: comparison.nearness, default=None)
    figure = "not judged: no certain bound" if nearest is None else str(nearest)
    if impossible:
        figure = IMPOSSIBLE + "; ".join(impossible)
    return descriptor.result(
        passed=None if nearest is None else not impossible,
        figure=figure,
        limit=f"none of {len(compared)} figures beyond its bound" if compared else "",
        measured=None if nearest is None else nearest.nearness,
    )


class _DirectionEvidence:
    """The result of one direction of a link, and its bounds."""

    def __init__(self, planned: NetworkPlan, number: int, link: Table) -> None:
        described = planned.topology.links[number // 2]
        self.bounds = Bounds(described, number % 2)
        self.result: Table = link["directions"][number]
        self.started_s = link["started_ns"] / NS
        self.witnessed: Table = self.result.get("witnessed") or {}
        self.is_witnessed = _has_witness(link)
        self.named = f"from {self.result['from']} to {self.result['to']} over {described.name}"

    def windows(self) -> Iterator[BoundComparison]:
        """Compare the bytes of the tightest window and of the whole time."""
        if window := self.witnessed.get("window"):
            size, lasted = window["bytes"], (window["to_ns"] - window["from_ns"]) / NS
            late = f"after the ideal transmitter for {_sent(size, lasted)}"
            yield self._least(window["slack_ns"], late)
            yield from self._window(size, lasted)
        for impairment in ALL:
            value, limit = getattr(self.bounds.described, impairment.field), impairment.limit
            if limit and value and (window := self.witnessed.get(limit.witness)):
                lasted = (window["to_ns"] - window["from_ns"]) / NS
                most = limit.most_bytes(value, lasted)
                yield self._least(window["slack_ns"], f"left of the {impairment.field}'s tokens")
                what = f"past the {impairment.field} in {_lasted(lasted)} {self.named}"
                yield BoundComparison(what, window["bytes"], most, True, "bytes", 1.0)
        if self.is_witnessed:
            delivered = self.result["packets"]["delivered"]
            unknown = abs(delivered - self.witnessed.get("packets", 0))
            what = f"of {delivered} delivered {self.named} unknown to the witness"
            yield BoundComparison(what, unknown, 0, True, "packets")
        if self.result["last_ns"] is None or self.result["first_ns"] is None:
            return
        first_s = self.result["first_ns"] / NS
        last_s = self.result["last_ns"] / NS - self.bounds.least_delay_s()
        overhead = self.bounds.described.overhead_bytes()
        sizes, packets = self.result["bytes"]["delivered"], self.result["packets"]["delivered"]
        yield from self._window(sizes + overhead * packets, last_s - first_s)

    def _window(self, size: int, lasted_s: float) -> Iterator[BoundComparison]:
        most = self.bounds.most_bytes(lasted_s)
        if most is not None:
            what = f"{self.named} in {_lasted(lasted_s)}"
            yield BoundComparison(what, size, most, True, "bytes", self.bounds.rounding_bytes())

    def times(self) -> Iterator[BoundComparison]:
        """Compare the least transit time and the time of the first packet."""
        slack_ns = self.witnessed.get("delay_slack_ns")
        if slack_ns is not None:
            yield self._least(slack_ns, "after transmission and least delay for each packet")
        if quickest := self.witnessed.get("quickest"):
            least = self.bounds.least_delay_s()
            least += self.bounds.least_transmission_s(quickest["bytes"])
            what = f"in transit for {quickest['bytes']} bytes {self.named}"
            yield BoundComparison(what, quickest["took_ns"] / NS, least, False, "s", ROUNDING_S)
        if self.result["first_ns"] is not None:
            what = f"after the start for the first packet {self.named}"
            since_s = self.result["first_ns"] / NS - self.started_s
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
    """Compare the earliest sending: a frame sent before it is due voids all bounds on due times."""
    what = "before it was due for a frame's sending"
    yield BoundComparison(what, link["early_ns"] / NS, 0.0, True, "s")


def _handshakes(
    planned: NetworkPlan, hops: Iterable[NetworkHop], evidence: AttemptEvidence
) -> Iterator[BoundComparison]:
    """Compare each handshake with one round trip, because its end needs the server's reply.

    Connections whose first packet was not seen are left out: the reply may be older.
    """
    for hop in hops:
        paths = {path.names[0]: path for path in hop.paths}
        for connection in hop.near(evidence.connections):
            is_opened = connection.get("opening") in {"initial", "0-rtt"}
            begun = is_opened or connection.get("acknowledged_ahead") is not None
            if begun and connection["handshake_ns"] is not None:
                took_s = (connection["handshake_ns"] - connection["client_first_ns"]) / NS
                least_s = _round_trip_s(planned, paths[connection["link"]])
                what = f"for the handshake {hop.title} over {connection['link']}"
                yield BoundComparison(what, took_s, least_s, False, "s", STAMPS_S)


def _round_trip_s(planned: NetworkPlan, path: HopPath) -> float:
    """Return the seconds of the least delays of all links, in both directions."""
    return sum(
        Bounds(planned.topology.links[link], side).least_delay_s()
        for link in path.links
        for side in (0, 1)
    )


def _request_time(
    planned: NetworkPlan, chain: Chain, evidence: AttemptEvidence
) -> Iterator[BoundComparison]:
    """Compare the request time with one round trip and the transmission of the bodies.

    A client that got fewer bytes is judged by those: :func:`_bodies` reports the difference.
    """
    hop = chain.hops[0]
    whole = _bodies_bytes(chain, evidence)
    fetches = hop.sender == hop.server
    took_s = client_requests.request_s(hop, evidence, whole if fetches else 0)
    if not whole or took_s is None:
        return
    size = min(whole, client_requests.received_bytes([hop], evidence))
    (path,) = hop.paths
    slowest_s = max(
        Bounds(planned.topology.links[link], way).least_transmission_s(size)
        for link, side in planned.route(hop.client_host, hop.server_host, path.over)
        for way in [1 - side if fetches else side]
    )
    least_s = _round_trip_s(planned, path) + slowest_s
    what = f"for {units.format_size(size)} {'to' if fetches else 'from'} the {chain.client}"
    yield BoundComparison(what, took_s, least_s, False, "s", STAMPS_S)


def _bodies(chain: Chain, evidence: AttemptEvidence) -> Iterator[BoundComparison]:
    """Compare the bodies with what was delivered on each hop before its requests ended."""
    if size := _bodies_bytes(chain, evidence):
        for client in dict.fromkeys(hop.client for hop in chain.hops):
            hops = [hop for hop in chain.hops if hop.client == client]
            what = f"of bodies at the {client if chain.fetched_bytes else hops[0].server}"
            received = client_requests.received_bytes(hops, evidence)
            yield BoundComparison(what, size, received, True, "bytes")


def _bodies_bytes(chain: Chain, evidence: AttemptEvidence) -> int:
    """Return the bytes of a transfer's bodies; 0 if its client did not end by itself.

    The links must carry them as they are, whatever logs say of a coding: a client could make the
    files, which depend on the seed alone, and a server could log any length. A server that stored
    less of an upload needed no more; that fails another check.
    """
    ended = evidence.exits.get(chain.client)
    if not isinstance(chain.workload, FileTransfer) or ended is None or not ended.clean:
        return 0
    if evidence.is_cut_off(chain.client):
        return 0
    stored = sum(int(body["bytes"]) for body in evidence.bodies.get(chain.client, ()) if body)
    return max(stored, chain.fetched_bytes)


def _acknowledged(planned: NetworkPlan, evidence: AttemptEvidence) -> Iterator[BoundComparison]:
    """Compare the acknowledgements of each TCP endpoint with the bytes delivered to it."""
    links = planned.topology.links
    damaging = [impairment.field for impairment in ALL if impairment.changes_bytes]
    directions = [side for link in links for side in link.directions()]
    if any(getattr(side, field) for side in directions for field in damaging):
        return
    for connection in evidence.connections:
        ahead = connection.get("acknowledged_ahead")
        if ahead is not None:
            what = (
                f"acknowledged beyond what {connection['link']} delivered, {connection['client']}"
            )
            yield BoundComparison(what, ahead, 0, True, "bytes")


class BoundsJudgement(AddedJudgement):
    """The checks of one attempt against its bounds."""

    def checks_of_bed(self) -> Iterator[Check]:
        """Check what the links did."""
        return checks(self.attempt.planned.network, self.attempt.evidence)

    def checks_of_subject(self) -> Iterator[Check]:
        """Check what follows from what client and server chose to send."""
        return of_subject(self.attempt.planned, self.attempt.evidence)


@dataclass(frozen=True)
class BoundsAddition(TrialAddition):
    """Bounds are checked in every attempt; they add nothing to it."""

    judgement: type[AddedJudgement] = field(default=BoundsJudgement, init=False)


ADDITION = BoundsAddition("bounds")
