"""Checks of paths, emulator, machine and senders: whether the bed did what the label says.

A broken one makes the attempt invalid. Each limit has its reason beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from httpbed.base import clock
from httpbed.base.units import format_share
from httpbed.bed.machine import machine_load
from httpbed.bed.network import network_plan
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.experiment.check import (
    BACKEND,
    CONGESTION_CONTROL,
    FRAMES,
    INITIAL_WINDOW,
    LATENESS,
    PRESSURE,
    PRESSURE_ALONE,
    RECEIVE_DROPS,
    ROUND_TRIP_TIME,
    SOCKET_DROPS,
    TCP_BUFFERS,
)
from httpbed.experiment.roles import TcpBuffers
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Check
from httpbed.programs.catalog import Catalog
from httpbed.trial.attempt_plan import TrialPlan
from httpbed.trial.checks import subject
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import HopPath, NetworkHop, quic_hosts

RTT_EARLY_S = 0.0002
"""An echo may be this much early: ping prints three digits, and the clocks differ."""
RTT_LATE_S = 0.002
RTT_LATE_SHARE = 0.05
"""An echo that is more than 2 ms and 5 % late came over another link than the configured one."""
MAX_PRESSURE_OF_MACHINE = 0.5
"""The limit where the kernel counts only the waits of all processes together. A third of the time
is ordinary on two cores with client, server and emulator awake at once."""
PRESSURE_OF_MACHINE_ALONE = 1 / 3
"""What is ordinary there (:data:`MAX_PRESSURE_OF_MACHINE`)."""
SHORTEST_JUDGED_S = 0.2
"""A shorter client is judged as if it had taken this long. A program's start and a handshake keep
client, server and emulator awake together for tens of ms on any machine, and one time slice of
another process takes a few. The emulator's lateness shows what that does to packets."""


def checks(planned: TrialPlan, catalog: Catalog, evidence: AttemptEvidence) -> Iterator[Check]:
    """Check paths, emulator, machine and senders in one attempt of a planned trial."""
    net, hops = planned.network, planned.hops
    paths = [(hop, path) for hop in hops for path in hop.paths]
    for hop, path in paths:
        where = hop.title_over(path) if len(paths) > 1 else ""
        yield _rtt(hop, path, net, evidence, where)
    if evidence.link:
        yield _lateness(evidence.link)
        yield _backend(net, evidence.link)
        yield _frames(planned, evidence.link)
        yield _receive_drops(evidence.link)
        is_real = planned.trial.clock == "real"
        yield _pressure(evidence) if is_real else _no_pressure()
        for host in quic_hosts(hops):
            yield _socket_drops(host, evidence, is_real=is_real)
        for hop in hops:
            where = hop.sender if len(hops) > 1 else ""
            yield _congestion_control(planned.scenario, hop, catalog, evidence, where)
        yield from _buffers(planned, evidence)
        yield from _initial_windows(planned, evidence)


def _initial_windows(planned: TrialPlan, evidence: AttemptEvidence) -> Iterator[Check]:
    """Compare the stated initial window of each part with the reading that says most of it."""
    for part, role, _ in planned.scenario.parts():
        stated = role.tcp_initial_window
        if stated is None:
            continue
        readings = evidence.initial_windows.get(part, ())
        nearest = min(readings, key=lambda one: one.high - one.low, default=None)
        yield INITIAL_WINDOW.result(
            passed=nearest.low <= stated <= nearest.high if nearest else None,
            figure=f"{nearest.low} .. {nearest.high} packets" if nearest else "no socket was read",
            limit=f"{stated} packets",
            where=part,
        )


def _buffers(planned: TrialPlan, evidence: AttemptEvidence) -> Iterator[Check]:
    """Compare the stated buffers of each part's TCP sockets with those that the kernel reports."""
    for part, role, _ in planned.scenario.parts():
        stated = role.tcp_buffers()
        if not any(stated):
            continue
        limit = _sizes(stated, stated)
        observed = {_sizes(stated, buffers) for buffers in evidence.buffers.get(part, ())}
        yield TCP_BUFFERS.result(
            passed=observed == {limit} if observed else None,
            figure="; ".join(sorted(observed)) or "no TCP socket was read",
            limit=limit,
            where=part,
        )


def _sizes(stated: TcpBuffers, buffers: TcpBuffers) -> str:
    """Write those buffers that are stated."""
    named = zip(TcpBuffers._fields, stated, buffers, strict=True)
    return ", ".join(f"{name} {size} bytes" for name, wanted, size in named if wanted)


def _rtt(
    hop: NetworkHop, path: HopPath, net: NetworkPlan, evidence: AttemptEvidence, where: str
) -> Check:
    pings_s = evidence.pings_s[hop.title_over(path)]
    expected, most = network_plan.idle_round_trip_s(
        net, hop.client_host, hop.server_host, path.over
    )
    allowed = most + max(RTT_LATE_S, RTT_LATE_SHARE * expected)
    limit = f"{expected * 1e3:.2f} .. {allowed * 1e3:.2f} ms"
    least = min(pings_s, default=None)
    if least is None:
        passed, figure = False, "no echo came back"
    else:
        passed = expected - RTT_EARLY_S <= least <= allowed
        figure = f"{least * 1e3:.2f} ms, smallest of {len(pings_s)}"
    return ROUND_TRIP_TIME.result(
        passed=passed, figure=figure, limit=limit, where=where, measured=least
    )


def _lateness(link: Any) -> Check:
    late = link["lateness_ns"]
    figure = (
        f"p99 {_us(late['p99'])} us, largest {_us(late['max'])} us,"
        f" {late['count']} packets, {link['scheduling']}"
    )
    p99_s = (late["p99"] or 0) / 1e9
    limit = f"p99 at most {LATENESS.limit * 1e6:.0f} us"
    return LATENESS.result(
        passed=p99_s <= LATENESS.limit, figure=figure, limit=limit, measured=p99_s
    )


def _backend(net: NetworkPlan, link: Any) -> Check:
    """Compare the backend in use with the planned one."""
    planned, used = net.emulator_config["backend"], link["backend"]
    return BACKEND.result(passed=used == planned, figure=used, limit=planned)


def _us(nanoseconds: int | None) -> int:
    return round((nanoseconds or 0) / 1e3)


def _frames(planned: TrialPlan, link: Any) -> Check:
    """Judge the frames for which no host with programs answers."""
    names = ("oversize_frames", "unstamped_frames", "send_failures", *subject.ASTRAY)
    of_programs = subject.astray(planned, link)
    counts = {name: link[name] - of_programs[name] for name in names}
    figure = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
    total = sum(counts.values())
    return FRAMES.result(passed=total == 0, figure=figure, limit="none of each", measured=total)


def _receive_drops(link: Any) -> Check:
    drops = link["socket_drops"]
    figure = f"{drops} dropped by the emulator's sockets"
    return RECEIVE_DROPS.result(passed=drops == 0, figure=figure, limit="0", measured=drops)


def _pressure(evidence: AttemptEvidence) -> Check:
    share, lasted = _pressed(evidence)
    source = evidence.pressure["source"]
    figure = f"{format_share(share, 0)} of {lasted:.2f} s with a task waiting, by {source}"
    most = PRESSURE.limit if source == machine_load.BY_TASK else MAX_PRESSURE_OF_MACHINE
    limit = f"at most {format_share(most, 0)}"
    return PRESSURE.result(passed=share <= most, figure=figure, limit=limit, measured=share)


def _pressed(evidence: AttemptEvidence) -> tuple[float, float]:
    """Return the share of the client's time with a task waiting, and that time in seconds."""
    lasted = max(evidence.pressure["over_s"], SHORTEST_JUDGED_S)
    return min(evidence.pressure["seconds"] / lasted, 1.0), lasted


def _socket_drops(host: str, evidence: AttemptEvidence, *, is_real: bool) -> Check:
    """Judge the datagrams that a host dropped at full sockets.

    The buffer of a socket holds some 20 ms at 50 Mbit/s. The kernel drops what arrives beyond it,
    and the sender takes that for a loss of the network. If the machine was busy, the program may
    have had no CPU, and the attempt says nothing about it. If not, the program was too slow, or the
    buffer that it chose too small: that is data, as in virtual time, where computing
    takes no time. A program cannot break the check on a machine that nothing else occupies.
    """
    counted = evidence.datagrams.get(host)
    if counted is None:
        return SOCKET_DROPS.result(passed=None, figure="not counted", where=host)
    figure = f"{counted.dropped} of {counted.received + counted.dropped} datagrams"
    passed, limit = True, ""
    if counted.dropped and is_real:
        share, _ = _pressed(evidence)
        by_task = evidence.pressure["source"] == machine_load.BY_TASK
        most = PRESSURE_ALONE if by_task else PRESSURE_OF_MACHINE_ALONE
        passed, limit = share <= most, f"0 with a CPU pressure above {format_share(most, 0)}"
        figure += f", CPU pressure {format_share(share, 0)}"
    return SOCKET_DROPS.result(
        passed=passed, figure=figure, limit=limit, where=host, measured=counted.dropped
    )


def _no_pressure() -> Check:
    """Return the check in a guest: a task that waits for its processor waits for no time."""
    return PRESSURE.result(
        passed=None, figure=clock.MEANING, limit=f"at most {format_share(PRESSURE.limit, 0)}"
    )


def _congestion_control(
    scenario: Scenario, hop: NetworkHop, catalog: Catalog, evidence: AttemptEvidence, where: str
) -> Check:
    """Compare a sender's congestion control with the kernel's report; QUIC's is in the program."""
    role = {part: role for part, role, _ in scenario.parts()}[hop.sender]
    choices = catalog[role.implementation].congestion_control
    configured = choices.resolved(hop.transport, role.congestion_control)
    algorithms = evidence.algorithms.get(hop.sender, frozenset())
    passed: bool | None = None
    if hop.transport == "quic":
        fixed = f"fixed by the program ({configured})" if configured else "fixed by the program"
        chosen = f"{configured}, chosen by the program's switch"
        how = fixed if choices.is_fixed(hop.transport) else chosen
        figure = f"QUIC: {how}, not visible to the kernel"
    elif not algorithms:
        figure = (
            f"not observed: the connection ended before it was read; the route has {configured}"
        )
    else:
        passed = algorithms == {configured}
        sockets = "accepted" if hop.sender == hop.server else "client's"
        figure = f"{', '.join(sorted(algorithms))} on the {sockets} sockets"
    return CONGESTION_CONTROL.result(passed=passed, figure=figure, limit=configured, where=where)
