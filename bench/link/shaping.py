"""How exact rate and loss are."""

from __future__ import annotations

import math
import time
from typing import Any

from bench.link import bed
from bench.link.bed import MeasurementError, Wire
from bench.link.emulators import Conditions
from bench.link.figures import Goal, Section
from bench.link.subjects import Bench, Subject, doubts, result

RATES = {50_000: 0.5, 10**6: 0.2, 10**7: 0.2, 10**8: 0.2, 10**9: 1.0}
"""bit/s -> how many per cent off it may be."""
DURATION, SLOWEST_DURATION = 0.6, 2.0
"""Of one measurement, in a transfer's; the slowest rate brings four packets a second."""
SLOW_BIT_S = 10**6
SLOW_QUEUE_PACKETS = 100
WARM_UP_S = 1.0
LOOK_S = 0.001
BUSY = 0.998

LOSSES = (0.01, 0.1)
DATAGRAMS_PER_SAMPLE = 40
DATAGRAM_BYTES = 128
AT_ONCE, EVERY_MS = 10, 1
SIGMA = Goal("within", 3.0)


def measure_rate(bench: Bench) -> Section:
    """Compare rates under a TCP transfer with what was asked for."""
    section = bench.section(
        "rate",
        "Rate of IP bytes under one TCP transfer (CUBIC, droptail of 1000 packets, 100 up to"
        " 1 Mbit/s), between arrivals at the server",
    )
    subjects = [*bench.best(bench.links), *bench.best(bench.rattans), bench.tbf]
    for rate_bit_s, tolerance in RATES.items():

        def one(subject: Subject, _: int, asked: int = rate_bit_s, off: float = tolerance) -> None:
            achieved, report = _rate(bench, subject, asked)
            goal = Goal("within", off) if subject in bench.links else None
            error = section.figure(f"{_named(asked)}, off by", subject.label, "%", goal)
            error.values.append((achieved / asked - 1) * 100)
            short = error.values[-1] < -off
            if note := doubts(report) or (_idleness(report) if short else ""):
                error.note, error.is_open = note, True

        bench.turns(section, subjects, one)
    section.end()
    return section


def _rate(bench: Bench, subject: Subject, asked: int) -> tuple[float, dict[str, Any]]:
    """Return the achieved rate in bit/s, and httpbed-link's report."""
    slow = asked <= SLOW_BIT_S
    conditions = Conditions(rate_bit_s=asked, queue_packets=SLOW_QUEUE_PACKETS if slow else 1000)
    share = SLOWEST_DURATION if asked == min(RATES) else DURATION
    with subject.wire(conditions) as wire:
        with (
            bed.traffic(wire.server, "sink"),
            bed.traffic(wire.client, "source", wire.addresses[0][1]),
        ):
            time.sleep(WARM_UP_S * max(1.0, share))
            achieved = _between_arrivals(wire, bench.scale.seconds * share)
        return achieved, result(wire)


def _idleness(report: dict[str, Any]) -> str:
    """Say where the transfer, not the link, was what limited the rate."""
    busy = report["directions"][0]["utilisation"] if report else None
    if busy is None or busy > BUSY:
        return ""
    return f"TCP kept the link busy for only {busy * 100:.1f} % of the time"


def _between_arrivals(wire: Wire, seconds: float) -> float:
    """Return bit/s from one arrival at the server to another.

    The server's counter is looked at every millisecond, and the time noted when it has moved;
    both ends are late alike, so that the error is a millisecond of the whole at the most.
    """
    first = _next_arrival(wire, wire.ip_bytes(wire.server))
    last = first
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        last = _next_arrival(wire, last[1])
    return (last[1] - first[1]) * 8 / (last[0] - first[0])


def _next_arrival(wire: Wire, before: int) -> tuple[float, int]:
    patience = time.monotonic() + bed.PATIENCE_S
    while (now := time.monotonic()) < patience:
        if (count := wire.ip_bytes(wire.server)) != before:
            return now, count
        time.sleep(LOOK_S)
    raise MeasurementError("nothing arrives")


def _named(rate_bit_s: int) -> str:
    for unit, size in (("Gbit/s", 10**9), ("Mbit/s", 10**6)):
        if rate_bit_s >= size:
            return f"{rate_bit_s / size:g} {unit}"
    return f"{rate_bit_s / 1e3:g} kbit/s"


def measure_loss(bench: Bench) -> Section:
    """Compare losses with what was asked for, in standard deviations of the binomial."""
    count = bench.scale.samples * DATAGRAMS_PER_SAMPLE
    section = bench.section(
        "loss", f"Losses of {count} datagrams a round; httpbed-link's key differs by round"
    )
    subjects = [*bench.best(bench.links), *bench.best(bench.rattans)]
    for loss in LOSSES:

        def one(subject: Subject, turn: int, loss: float = loss) -> None:
            with subject.wire(Conditions(loss=loss, key=turn + 1)) as wire:
                lost = count - _arrived(wire, count)
                note = doubts(result(wire))
            sigma = math.sqrt(count * loss * (1 - loss))
            goal = SIGMA if subject in bench.links else None
            named = f"{loss * 100:g} %, off by"
            figure = section.figure(named, subject.label, "sigma", goal)
            figure.values.append((lost - count * loss) / sigma)
            figure.note = note or figure.note
            achieved = section.figure(f"{loss * 100:g} %, lost", subject.label, "%")
            achieved.values.append(lost / count * 100)

        bench.turns(section, subjects, one)
    section.end()
    return section


def _arrived(wire: Wire, count: int) -> int:
    """Send datagrams and count, at the server's interface, those that came."""
    words = (wire.addresses[0][1], count, EVERY_MS, DATAGRAM_BYTES, AT_ONCE)
    before = wire.received(wire.server)[0].packets
    # Somebody must take them: refusals would be traffic, too.
    with bed.traffic(wire.server, "arrivals"):
        with bed.traffic(wire.client, "datagrams", *words) as sending:
            sending.wait(count / AT_ONCE * EVERY_MS / 1e3 + bed.PATIENCE_S)
        bed.pause(0.2)
    return wire.received(wire.server)[0].packets - before
