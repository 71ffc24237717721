"""Estimates how long a design takes, before any trial runs.

A transfer takes its bytes at the rate of the narrowest link, or, with loss, at the throughput that
a model of the sender's congestion control gives: Reno and CUBIC with timeouts over TCP (PFTK, RFC
9438), without timeouts over QUIC, which probes earlier (Mathis). BBR ignores loss. The round trips
of the handshake and the time around each trial are added. The estimate distinguishes minutes from
hours: a small file that meets a timeout takes several times as long.

A client that restarts when its address goes fetches again what it had by then. A client whose
sockets get no error waits for its own timeout or the trial's limit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from httpbed.experiment.handover import AfterBytes, At, Handover
from httpbed.experiment.impairments.loss import GilbertElliott
from httpbed.experiment.impairments.rate import MTU_BYTES
from httpbed.experiment.roles import ClientRole, Hop, Transport
from httpbed.experiment.scenario import Scenario
from httpbed.results import throughput_models as models

BED_S, PROXY_S = 0.5, 0.3
"""Seconds around each trial, and to start a proxy, on a machine with two cores."""
BROWSER_S = 3.0
"""Seconds to start a browser, for its own work, and until it requests nothing more."""
HANDSHAKE_ROUND_TRIPS = {"tcp": 3, "quic": 2}
"""Until the first byte: TCP, TLS 1.3 and the request; QUIC combines the first two."""
SEGMENT_BYTES = 1400
"""Bytes of the body in a full packet."""
MIN_RTT_S = 1e-3
INDIFFERENT_TO_LOSS = ("bbr", "bbr2")

Controls = Callable[[str, Transport, str | None], str]
"""Returns the congestion control of an implementation, a transport and the experiment's choice."""
Notices = Callable[[ClientRole, Transport], float]
"""Returns the seconds after which a client recovers whose address is gone and whose sockets get no
error; infinity if it never does."""


def expected_s(scenario: Scenario, controls: Controls, notices: Notices) -> float:
    """Return a trial's estimated seconds; infinity if only its time limit ends it."""
    hop = scenario.hops()[0]
    route = scenario.route(hop.client, hop.server)
    rtt_s = max(scenario.rtt_s(route), MIN_RTT_S)
    visits = 1 + scenario.workload.comes_twice
    handshakes_s = visits * HANDSHAKE_ROUND_TRIPS[hop.transport] * rtt_s
    packets = scenario.workload.body_bytes() / SEGMENT_BYTES
    through_s = packets / _packets_s(hop, scenario, controls, rtt_s)
    ideal_s = scenario.ideal_s() * MTU_BYTES / SEGMENT_BYTES
    bed_s = BED_S + PROXY_S * len(scenario.roles.proxies)
    transfer_s = max(ideal_s, through_s)
    if scenario.workload.kind == "page":
        bed_s += visits * BROWSER_S
    transfer_s *= 1 + scenario.workload.fetches_twice
    return bed_s + handshakes_s + transfer_s + _handovers_s(scenario, transfer_s, notices)


def _handovers_s(scenario: Scenario, transfer_s: float, notices: Notices) -> float:
    """Seconds that the changes of the client's address add."""
    change, transport = scenario.handover, scenario.hops()[0].transport
    if change is None or change.kind in {"none", "route"}:
        return 0.0
    had_s = _first_s(change, transfer_s, scenario.workload.body_bytes())
    if had_s >= transfer_s:
        return 0.0
    if change.kind == "blackhole":
        return 0.0 if change.repeats_s else inf
    forgets = change.kind == "NAT rebinding"
    if forgets and transport == "quic":
        return 0.0
    is_notified = forgets or (transport == "tcp" and change.sockets == "destroyed")
    waits_s = 0.0 if is_notified else notices(scenario.roles.client, transport)
    if scenario.roles.client.retry != "restart":
        return waits_s
    return waits_s + (inf if change.repeats_s else had_s)


def _first_s(change: Handover, transfer_s: float, whole_bytes: int) -> float:
    """Seconds of the transfer until the first change."""
    if isinstance(change.when, AfterBytes):
        return transfer_s * change.when.delivered / whole_bytes
    return change.when.at if isinstance(change.when, At) else change.repeats_s or 0.0


def _packets_s(hop: Hop, scenario: Scenario, controls: Controls, rtt_s: float) -> float:
    """Packets per second that the sender's congestion control lets through."""
    loss = _loss(hop, scenario)
    role = next(role for name, role, _ in scenario.parts() if name == hop.server)
    control = controls(role.implementation, hop.transport, role.congestion_control)
    if not 0 < loss < 1 or control in INDIFFERENT_TO_LOSS:
        return float("inf")
    if hop.transport == "quic":
        return models.mathis(loss, rtt_s)
    return (models.pftk if control == "reno" else models.cubic)(loss, rtt_s)


def _loss(hop: Hop, scenario: Scenario) -> float:
    """Share of the sender's packets that the links lose on the way; of listed ones nothing."""
    passed = 1.0
    for index, way in scenario.route(hop.client, hop.server):
        loss = scenario.topology.links[index].directions()[1 - way].loss
        mean = loss.mean if isinstance(loss, GilbertElliott) else loss
        passed *= 1 - mean if isinstance(mean, float) else 1
    return 1 - passed
