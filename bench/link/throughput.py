"""How fast an unshaped link is, and what its emulator's CPU time for it is."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass

from bench.link import bed
from bench.link.bed import MTU_BYTES, MeasurementError, Wire
from bench.link.emulators import Conditions
from bench.link.figures import Goal, Section
from bench.link.subjects import Bench, Subject, doubts, result

GOODPUT = "TCP goodput"
AGAINST_RATTAN = Goal("at least", 2.5)
AGAINST_BRIDGE = Goal("at least", 0.6)
PORT = 5201
RAMP_S = 1
"""Left out at the beginning of a transfer: slow start."""


@dataclass(frozen=True)
class Transfer:
    """What was seen of one."""

    goodput_gbit_s: float
    retransmissions: int | None


def measure(bench: Bench) -> Section:
    """Compare every emulator with the kernel's bridge."""
    load = "iperf3" if bench.iperf3 else "a plain TCP source, iperf3 being missing"
    section = bench.section(
        "throughput", f"Unshaped TCP, 1500-byte packets, no offloads, CUBIC; by {load}"
    )

    def one(subject: Subject, _: int) -> None:
        with subject.wire(Conditions()) as wire:
            cpu_s, ip_bytes = wire.cpu_s(), wire.ip_bytes(wire.server)
            seen = (_iperf3 if bench.iperf3 else _plain)(wire, bench.scale.seconds)
            cpu_s, ip_bytes = wire.cpu_s() - cpu_s, wire.ip_bytes(wire.server) - ip_bytes
            _refuse_large_frames(wire)
            goodput = section.figure(GOODPUT, subject.label, "Gbit/s")
            goodput.values.append(seen.goodput_gbit_s)
            goodput.note = doubts(result(wire)) or goodput.note
        if wire.pid:
            cost = section.figure("emulator's CPU", subject.label, "s/Gbit")
            cost.values.append(cpu_s / (ip_bytes * 8e-9))
        if seen.retransmissions is not None:
            again = section.figure("retransmissions", subject.label, "segments")
            again.values.append(seen.retransmissions)

    bench.turns(section, [*bench.links, *bench.rattans, bench.bridge], one)
    for own in bench.links:
        for other in bench.rattans:
            if own.fifo == other.fifo:
                section.against(GOODPUT, own.label, other.label, AGAINST_RATTAN)
        section.against(GOODPUT, own.label, bench.bridge.label, AGAINST_BRIDGE)
    section.end()
    return section


def _iperf3(wire: Wire, seconds: float) -> Transfer:
    server = wire.server.inside("iperf3", "--server", "--one-off", "--port", str(PORT))
    words = f"--port {PORT} --omit {RAMP_S} --time {round(seconds) or 1} --congestion cubic --json"
    client = wire.client.inside("iperf3", "--client", wire.addresses[0][1], *words.split())
    with bed.started(server):
        bed.await_port(wire.server, PORT)
        patience_s = RAMP_S + seconds + bed.PATIENCE_S
        done = subprocess.run(
            client, check=False, capture_output=True, text=True, timeout=patience_s
        )
        said = json.loads(done.stdout or '{"error": "it said nothing"}')
    if "error" in said:
        raise MeasurementError(f"iperf3: {said['error']}")
    received, sent = said["end"]["sum_received"], said["end"]["sum_sent"]
    return Transfer(received["bits_per_second"] / 1e9, sent["retransmits"])


def _plain(wire: Wire, seconds: float) -> Transfer:
    """Do without iperf3; the goodput is that of segments of full size, counted at the server."""
    with (
        bed.traffic(wire.server, "sink"),
        bed.traffic(wire.client, "source", wire.addresses[0][1]),
    ):
        time.sleep(RAMP_S)
        began, before = time.monotonic(), wire.ip_bytes(wire.server)
        time.sleep(seconds)
        ip_bytes, lasted_s = wire.ip_bytes(wire.server) - before, time.monotonic() - began
    payload = (MTU_BYTES - 52) / MTU_BYTES  # IPv4 and TCP headers with timestamps
    return Transfer(ip_bytes * payload * 8e-9 / lasted_s, None)


def _refuse_large_frames(wire: Wire) -> None:
    """Tell an offload that was left on: then the figure would be another one's."""
    for host in (wire.client, wire.server):
        for each in wire.received(host):
            mean = each.ip_bytes / max(1, each.packets)
            if mean > MTU_BYTES:
                raise MeasurementError(f"an offload is on: packets of {mean:.0f} bytes on average")
