"""Checks of the bed: did the network and the machine do what the label says?

One that is broken makes the attempt invalid. Each limit has its reason beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scipy import special

from httpbed.design import seeds
from httpbed.model.scenario import Scenario
from httpbed.model.trial import Check, Trial
from httpbed.network import fates
from httpbed.trial.bed import expected_rtt_s
from httpbed.trial.seen import Seen

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
SHORTEST_JUDGED_S = 0.02
"""A client that is done sooner waits mostly for its own start, on any machine."""
CONFIDENCE = 0.95


def checks(trial: Trial, seen: Seen) -> Iterator[Check]:
    """Check one attempt at a trial."""
    scenario = trial.scenario()
    yield _rtt(scenario, seen)
    if seen.link:
        yield _lateness(seen.link)
        yield _frames(seen.link)
        yield _receive_drops(seen.link)
        yield _conservation(seen.link)
        yield from _losses(trial, scenario, seen.link)
        yield _pressure(seen)
        yield _congestion_control(scenario, seen)


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="bed", passed=passed, figure=figure, limit=limit)


def _rtt(scenario: Scenario, seen: Seen) -> Check:
    asked = expected_rtt_s(scenario)
    allowed = asked + max(RTT_LATE_S, RTT_LATE_SHARE * asked)
    limit = f"{asked * 1e3:.2f} .. {allowed * 1e3:.2f} ms"
    if not seen.pings_s:
        return _check("round-trip time", passed=False, figure="no echo came back", limit=limit)
    least = min(seen.pings_s)
    passed = asked - RTT_EARLY_S <= least <= allowed
    figure = f"{least * 1e3:.2f} ms, smallest of {len(seen.pings_s)}"
    return _check("round-trip time", passed=passed, figure=figure, limit=limit)


def _lateness(link: Any) -> Check:
    late = link["lateness_ns"]
    figure = (
        f"p99 {_us(late['p99'])} us, largest {_us(late['max'])} us,"
        f" {late['count']} packets, {link['scheduling']}"
    )
    passed = (late["p99"] or 0) <= LATENESS_P99_S * 1e9
    limit = f"p99 at most {LATENESS_P99_S * 1e6:.0f} us"
    return _check("emulator lateness", passed=passed, figure=figure, limit=limit)


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
    seen = {name: link[name] for name in names}
    figure = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in seen.items())
    passed = not any(seen.values())
    return _check("frames as on a wire", passed=passed, figure=figure, limit="none of each")


def _receive_drops(link: Any) -> Check:
    drops = link["socket_drops"]
    figure = f"{drops} dropped by the emulator's sockets"
    return _check("emulator receive drops", passed=drops == 0, figure=figure, limit="0")


def _conservation(link: Any) -> Check:
    kept = []
    for direction in link["directions"]:
        packets = direction["packets"]
        out = sum(packets[name] for name in ("delivered", "lost", "queue_dropped", "in_flight"))
        kept.append(packets["in"] == out)
    totals = [direction["packets"]["in"] for direction in link["directions"]]
    figure = f"{' + '.join(map(str, totals))} packets in, each accounted for"
    if not all(kept):
        figure = f"packets in and out differ: {[way['packets'] for way in link['directions']]}"
    return _check("conservation of packets", passed=all(kept), figure=figure)


def _losses(trial: Trial, scenario: Scenario, link: Any) -> Iterator[Check]:
    for direction, seen in zip(scenario.link.directions(), link["directions"], strict=True):
        name = f"{seen['from']}->{seen['to']}"
        key = seeds.stream_key(trial.seed, trial.block, scenario.link.name, name, "loss")
        count = seen["packets"]["in"]
        drawn = fates.lost_numbers(key, direction.loss, count) if direction.loss else []
        yield _check(
            f"losses as drawn, {name}",
            passed=drawn == seen["lost_numbers"],
            figure=_share(len(seen["lost_numbers"]), count),
            limit=f"the {len(drawn)} that the seed draws at {direction.loss:.4g}",
        )


def _share(lost: int, count: int) -> str:
    """Realised share with its interval (Clopper and Pearson 1934); it rejects nothing."""
    if count == 0:
        return "no packet passed"
    tail = (1 - CONFIDENCE) / 2
    low = special.betaincinv(lost, count - lost + 1, tail) if lost else 0.0
    high = special.betaincinv(lost + 1, count - lost, 1 - tail) if lost < count else 1.0
    return f"{lost} of {count} lost, {lost / count:.2%}, 95 % interval {low:.2%} .. {high:.2%}"


def _pressure(seen: Seen) -> Check:
    waited, lasted = seen.pressure["seconds"], max(seen.client_s, SHORTEST_JUDGED_S)
    share = waited / lasted
    figure = f"{share:.0%} of {lasted:.2f} s with someone waiting, by {seen.pressure['source']}"
    limit = f"at most {PRESSURE_SHARE:.0%}"
    return _check("CPU pressure", passed=share <= PRESSURE_SHARE, figure=figure, limit=limit)


def _congestion_control(scenario: Scenario, seen: Seen) -> Check:
    asked = scenario.roles.server.congestion_control
    name = "sender's congestion control"
    if scenario.roles.client.http_version == "3":
        figure = "QUIC: fixed by the server program, not visible to the kernel"
        return _check(name, passed=None, figure=figure, limit=asked)
    if not seen.algorithms:
        figure = f"not observed: over before it could be read; the route says {asked}"
        return _check(name, passed=None, figure=figure, limit=asked)
    figure = f"{', '.join(sorted(seen.algorithms))} on the accepted sockets"
    return _check(name, passed=seen.algorithms == {asked}, figure=figure, limit=asked)
