"""Checks of the bed: did the network and the machine do what the label says?

One that is broken makes the attempt invalid. Each limit has its reason beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Check
from httpbed.network import idle_rtt
from httpbed.network.plan import NetworkPlan
from httpbed.programs.catalog import Catalog
from httpbed.trial.checks import handover, kernel, link_bounds, replay
from httpbed.trial.checks import link as link_checks
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import HopPath, NetworkHop
from httpbed.trial.plan import TrialPlan

RTT_EARLY_S = 0.0002
"""An echo may come this much early: ping prints three digits and the clocks tick apart."""
RTT_LATE_S = 0.002
RTT_LATE_SHARE = 0.05
"""Late by more than 2 ms and 5 %, the link is not the one that was asked for."""
LATENESS_P99_S = 0.005
"""Of a short transfer, p99 is its latest packet; without real-time priority 2 to 4 ms are
ordinary on two busy cores, and delay one packet, not the transfer: rates and losses are settled
by arrival times alone."""
PRESSURE_SHARE = 0.5
"""Half of the client's time with somebody waiting for a CPU: on two cores, with client,
server and emulator awake together, a third is ordinary."""
SHORTEST_JUDGED_S = 0.2
"""A client that is done sooner is judged as if it had taken so long: the start of a program and a
handshake keep client, server and emulator awake together for tens of ms on any machine, and one
turn of somebody else's takes a few. What that does to packets, the emulator's lateness shows."""
PRESSURE, LATENESS = "CPU pressure", "emulator lateness"
STRAIN = frozenset({PRESSURE, LATENESS, handover.PROMPT, handover.PACED, replay.PUNCTUAL})
"""Checks that a busy machine breaks, and nothing else does."""


def checks(planned: TrialPlan, catalog: Catalog, evidence: AttemptEvidence) -> Iterator[Check]:
    """Check the bed in one attempt at a planned trial."""
    scenario, net, hops = planned.scenario, planned.network, planned.hops
    paths = [(hop, path) for hop in hops for path in hop.paths]
    for hop, path in paths:
        where = f", {hop.title_over(path)}" if len(paths) > 1 else ""
        yield _rtt(hop, path, net, evidence, where)
    if evidence.link:
        if not net.shaped:  # else it sends nothing
            yield _lateness(evidence.link)
        yield from _backend(net, evidence.link)
        yield _frames(evidence.link)
        yield _receive_drops(evidence.link)
        if net.shaped:
            yield from kernel.checks(net, evidence.link, evidence.qdiscs)
        else:
            yield from link_checks.checks(net.emulator_config, evidence.link, evidence.client_s)
        yield from link_bounds.checks(scenario, net, hops, evidence)
        yield _pressure(evidence)
        if scenario.handover:
            yield from handover.of_bed(scenario.handover, hops[0], evidence)
        for hop in hops:
            where = _of(hop.server, hops)
            yield _congestion_control(scenario, hop, catalog, evidence, where)


def _of(name: str, hops: Sequence[NetworkHop]) -> str:
    """Say of which hop a check is, where there are several."""
    return f", {name}" if len(hops) > 1 else ""


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="bed", passed=passed, figure=figure, limit=limit)


def _rtt(
    hop: NetworkHop, crossing: HopPath, net: NetworkPlan, evidence: AttemptEvidence, where: str
) -> Check:
    name, pings_s = f"round-trip time{where}", evidence.pings_s[hop.title_over(crossing)]
    asked, most = idle_rtt.round_trip_s(net, hop.client_host, hop.server_host, crossing.over)
    allowed = most + max(RTT_LATE_S, RTT_LATE_SHARE * asked)
    limit = f"{asked * 1e3:.2f} .. {allowed * 1e3:.2f} ms"
    crossed = [way for link in crossing.links for way in net.topology.links[link].directions()]
    if net.backend == "netem" and any(way.jitter or way.loss for way in crossed):
        figure = kernel.unjudged_rtt(pings_s)
        return _check(name, passed=None, figure=figure, limit=limit)
    if not pings_s:
        return _check(name, passed=False, figure="no echo came back", limit=limit)
    least = min(pings_s)
    passed = asked - RTT_EARLY_S <= least <= allowed
    figure = f"{least * 1e3:.2f} ms, smallest of {len(pings_s)}"
    return _check(name, passed=passed, figure=figure, limit=limit)


def _lateness(link: Any) -> Check:
    late = link["lateness_ns"]
    figure = (
        f"p99 {_us(late['p99'])} us, largest {_us(late['max'])} us,"
        f" {late['count']} packets, {link['scheduling']}"
    )
    passed = (late["p99"] or 0) <= LATENESS_P99_S * 1e9
    limit = f"p99 at most {LATENESS_P99_S * 1e6:.0f} us"
    return _check(LATENESS, passed=passed, figure=figure, limit=limit)


def _backend(planned: NetworkPlan, link: Any) -> Iterator[Check]:
    """Check by what way packets went; an emulator of the first version had only one."""
    if "backend" in link:
        asked, used = planned.emulator_config["backend"], link["backend"]
        figure, limit = (
            f"{planned.backend}, with an {one}" if one == "observer" else one
            for one in (used, asked)
        )
        yield _check("link backend", passed=used == asked, figure=figure, limit=limit)


def _us(nanoseconds: int | None) -> int:
    return round((nanoseconds or 0) / 1e3)


def _frames(link: Any) -> Check:
    names = (
        "oversize_frames",
        "unstamped_frames",
        "send_failures",
        "stray_frames",
        "malformed_packets",
    )
    evidence = {name: link[name] for name in names}
    figure = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in evidence.items())
    passed = not any(evidence.values())
    return _check("frames as on a wire", passed=passed, figure=figure, limit="none of each")


def _receive_drops(link: Any) -> Check:
    drops = link["socket_drops"]
    figure = f"{drops} dropped by the emulator's sockets"
    return _check("emulator receive drops", passed=drops == 0, figure=figure, limit="0")


def _pressure(evidence: AttemptEvidence) -> Check:
    waited = evidence.pressure["seconds"]
    read_over_s = evidence.pressure.get(
        "over_s", evidence.client_s
    )  # an older record does not tell it
    lasted = max(read_over_s, SHORTEST_JUDGED_S)
    share = min(waited / lasted, 1.0)
    figure = f"{share:.0%} of {lasted:.2f} s with someone waiting, by {evidence.pressure['source']}"
    limit = f"at most {PRESSURE_SHARE:.0%}"
    return _check(PRESSURE, passed=share <= PRESSURE_SHARE, figure=figure, limit=limit)


def _congestion_control(
    scenario: Scenario, hop: NetworkHop, catalog: Catalog, evidence: AttemptEvidence, where: str
) -> Check:
    """Check who sends on a hop: by the kernel's word for TCP; QUIC's is in the program."""
    name, transport = f"sender's congestion control{where}", hop.transport
    role = {part: role for part, role, _ in scenario.parts()}[hop.server]
    can = catalog[role.implementation].congestion_control
    asked = can.resolved(transport, role.congestion_control)
    if transport == "quic":
        fixed = f"fixed by the program ({asked})" if asked else "fixed by the program"
        how = fixed if can.is_fixed(transport) else f"{asked}, chosen by the program's switch"
        figure = f"QUIC: {how}, not visible to the kernel"
        return _check(name, passed=None, figure=figure, limit=asked)
    found = evidence.algorithms.get(hop.server, frozenset())
    if not found:
        figure = f"not observed: over before it could be read; the route says {asked}"
        return _check(name, passed=None, figure=figure, limit=asked)
    figure = f"{', '.join(sorted(found))} on the accepted sockets"
    return _check(name, passed=found == {asked}, figure=figure, limit=asked)
