"""How exact a delay is: round trips by ICMP, one way by stamped datagrams."""

from __future__ import annotations

from bench.link import bed
from bench.link.bed import Wire
from bench.link.emulators import Conditions
from bench.link.figures import Goal, Section, quantile
from bench.link.subjects import Bench, Subject, doubts, result

DELAY_MS = 25
PING_INTERVAL_MS = 10
DATAGRAM_INTERVAL_MS = 5
DATAGRAM_BYTES = 128
DELAYS_MS = (25, 100)
MEDIAN_ERROR_US = Goal("within", 50)


def measure_round_trips(bench: Bench) -> Section:
    """Measure what a round trip takes beyond the delay that was asked for.

    Nothing else is taken off: the bridge, asked for no delay, shows how much of it the hosts'
    kernels and four interfaces are.
    """
    section = bench.section(
        "latency",
        f"Round trip beyond {2 * DELAY_MS} ms ({DELAY_MS} ms each way), ICMP every"
        f" {PING_INTERVAL_MS} ms, {bench.scale.samples} a round; the bridge is the floor",
    )

    def one(subject: Subject, _: int) -> None:
        delay_ms = 0 if subject is bench.bridge else DELAY_MS
        with subject.wire(Conditions(delay_ms=delay_ms)) as wire:
            took = _ping(wire, bench.scale.samples)
            note = doubts(result(wire))
        beyond = [ns / 1e3 - 2e3 * delay_ms for ns in took]
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            figure = section.figure(f"added, {name}", subject.label, "us", _goal(subject, share))
            figure.values.append(quantile(beyond, share))
            figure.note = note or figure.note
        lost = section.figure("unanswered", subject.label, "pings")
        lost.values.append(bench.scale.samples - len(took))

    bench.turns(section, [*bench.links, *bench.rattans, bench.bridge], one)
    section.end()
    return section


def _goal(subject: Subject, share: float) -> Goal | None:
    """Return the goals of httpbed-link itself: with SCHED_FIFO, and at p99 without."""
    if not subject.emulator.name.startswith("httpbed-link"):
        return None
    goals = {(True, 0.5): 40.0, (True, 0.99): 150.0, (False, 0.99): 1000.0}
    limit = goals.get((subject.fifo, share))
    return Goal("at most", limit) if limit else None


def measure_delay(bench: Bench) -> Section:
    """Measure how far the median one-way delay is from what was asked for."""
    section = bench.section(
        "delay",
        f"One-way delay, datagrams every {DATAGRAM_INTERVAL_MS} ms stamped by the sender and by"
        f" the receiver's kernel, {bench.scale.samples} a round; the bridge is the floor",
    )
    subjects = [*bench.best(bench.links), *bench.best(bench.rattans), bench.bridge]

    def one(subject: Subject, _: int) -> None:
        for delay_ms in (0,) if subject is bench.bridge else DELAYS_MS:
            asked = Conditions(delay_ms=delay_ms)
            with subject.wire(asked) as wire:
                error_us = quantile(one_way_errors_us(wire, asked, bench.scale.samples), 0.5)
            goal = MEDIAN_ERROR_US if subject in bench.links else None
            name = f"{delay_ms} ms, error of the median"
            section.figure(name, subject.label, "us", goal).values.append(error_us)

    bench.turns(section, subjects, one)
    section.end()
    return section


def one_way_errors_us(wire: Wire, asked: Conditions, samples: int, link: int = 0) -> list[float]:
    """Send datagrams to the server over a link; return time under way minus asked, in us."""
    with bed.traffic(wire.server, "arrivals") as arrivals:
        words = (wire.addresses[link][1], samples, DATAGRAM_INTERVAL_MS, DATAGRAM_BYTES)
        with bed.traffic(wire.client, "datagrams", *words) as sending:
            patience_s = samples * DATAGRAM_INTERVAL_MS / 1e3 + bed.PATIENCE_S
            sending.wait(patience_s)
        bed.pause(asked.delay_ms / 1e3 + 0.1)
        took = bed.numbers(arrivals)
    asked_ns = asked.delay_ms * 10**6
    if asked.rate_bit_s:
        asked_ns += round(DATAGRAM_BYTES * 8e9 / asked.rate_bit_s)
    if not took:
        raise bed.MeasurementError("no datagram came through")
    return [(ns - asked_ns) / 1e3 for ns in took]


def _ping(wire: Wire, samples: int) -> list[int]:
    words = (wire.addresses[0][1], samples, PING_INTERVAL_MS)
    with bed.traffic(wire.client, "ping", *words) as process:
        took = bed.numbers(process)
    if not took:
        raise bed.MeasurementError("no ping was answered")
    return took
