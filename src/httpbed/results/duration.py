"""Estimates how long a design takes, before any trial runs.

A transfer takes its bytes at the rate of the narrowest link, or, with loss, at the throughput that
a model of the sender's congestion control gives: Reno and CUBIC with timeouts over TCP (PFTK, RFC
9438), without timeouts over QUIC, which probes earlier (Mathis). BBR ignores loss. The round trips
of the handshake and the time around each trial are added. The estimate distinguishes minutes from
hours: a small file that meets a timeout takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable

from httpbed.experiment.impairments.loss import GilbertElliott
from httpbed.experiment.impairments.rate import MTU_BYTES
from httpbed.experiment.roles import Hop, Notices, Transport
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
    added_s = (
        scenario.handover.added_s(
            transfer_s, scenario.workload.body_bytes(), scenario.roles.client, notices
        )
        if scenario.handover
        else 0.0
    )
    return bed_s + handshakes_s + transfer_s + added_s


def _packets_s(hop: Hop, scenario: Scenario, controls: Controls, rtt_s: float) -> float:
    """Packets per second that the sender's congestion control lets through."""
    loss = _loss(hop, scenario)
    sender = scenario.client_groups[0].sender(hop)
    role = next(role for name, role, _ in scenario.parts() if name == sender)
    control = controls(role.implementation, hop.transport, role.congestion_control)
    if not 0 < loss < 1 or control in INDIFFERENT_TO_LOSS:
        return float("inf")
    if hop.transport == "quic":
        return models.mathis(loss, rtt_s)
    return (models.pftk if control == "reno" else models.cubic)(loss, rtt_s)


def _loss(hop: Hop, scenario: Scenario) -> float:
    """Share of the sender's packets that the links lose on the way; of listed ones nothing."""
    passed = 1.0
    for index, way in scenario.bodies_route(hop, scenario.workload):
        loss = scenario.topology.links[index].directions()[way].loss
        mean = loss.mean if isinstance(loss, GilbertElliott) else loss
        passed *= 1 - mean if isinstance(mean, float) else 1
    return 1 - passed
