"""Many links through one emulator at once, and what a link costs when nothing passes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.link import bed
from bench.link.bed import MTU_BYTES, Wire
from bench.link.emulators import Conditions, Link, Rattan
from bench.link.figures import Goal, Section, quantile
from bench.link.subjects import Bench, Subject, doubts, result
from bench.link.timing import DATAGRAM_INTERVAL_MS, one_way_errors_us

RATE_BIT_S = 10**7
DELAY_MS = 10
QUEUE_PACKETS = 50
SIZES = (64, 128)
CORES = {64: Goal("at most", 0.8)}
P99_ERROR_US = {64: Goal("at most", 500), 128: Goal("at most", 1000)}
WARM_UP_S = 3.0
MIN_OFFERED = 0.98
"""Of the rate; with less, the hosts had no CPU left to load the links, which a note says."""

STARTS_PER_ROUND = 4
STARTUP_MS = Goal("at most", 5)
MEMORY_MB = Goal("at most", 4)
MANY_LINKS = 65
MB = 1e6


def measure(bench: Bench) -> Section:
    """Load many links both ways at once; one more, idle, carries only the probe."""
    section = bench.section(
        "capacity",
        f"Links of 10 Mbit/s and {DELAY_MS} ms in one process, each offered its rate both ways in"
        " 1500-byte datagrams, and a further idle link for the probe; the kernel's tbf, without"
        " delay, is the bound",
    )
    subjects = [*bench.best(bench.links), bench.tbf]
    for links in SIZES:

        def one(subject: Subject, _: int, links: int = links) -> None:
            _loaded(bench, section, subject, links)

        bench.turns(section, subjects, one)
    section.end()
    return section


def _loaded(bench: Bench, section: Section, subject: Subject, links: int) -> None:
    delay_ms = 0 if subject is bench.tbf else DELAY_MS
    asked = Conditions(RATE_BIT_S, delay_ms, queue_packets=QUEUE_PACKETS)
    goals, doubt = subject in bench.links, ""

    def note(what: str, unit: str, value: float, goal: Goal | None = None) -> None:
        named = f"{links} links, {what}"
        figure = section.figure(named, subject.label, unit, goal if goals else None)
        figure.values.append(value)
        if figure.goal or what == "offered":
            figure.note, figure.is_open = doubt or figure.note, figure.is_open or bool(doubt)

    with subject.wire(asked, links + 1) as wire:
        with _load(wire, links) as sending:
            began = time.monotonic()
            time.sleep(WARM_UP_S)
            seen = _observe(bench, wire, asked if goals else Conditions(), links)
            total = sum(bed.numbers(process)[0] for process in sending)
        offered = total * MTU_BYTES * 8 / (time.monotonic() - began) / RATE_BIT_S / links / 2
        if offered < MIN_OFFERED:
            doubt = f"only {offered:.0%} offered: the hosts had no CPU left"
        note("offered", "%", offered * 100)
        note("rate achieved", "%", sum(seen.shares) / len(seen.shares) * 100)
        note("slowest direction", "%", min(seen.shares) * 100)
        note("one-way error p50", "us", quantile(seen.errors_us, 0.5))
        note("one-way error p99", "us", quantile(seen.errors_us, 0.99), P99_ERROR_US[links])
        if wire.pid:
            note("emulator's CPU", "cores", seen.cores, CORES.get(links))
            note("memory per link", "MB", wire.memory_bytes("VmHWM") / MB / (links + 1))
            report = result(wire)
            doubt = doubts(report) or doubt
            note("own lateness p99", "us", (report["lateness_ns"]["p99"] or 0) / 1e3)


@contextmanager
def _load(wire: Wire, links: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Offer every link but the last its rate, both ways."""
    words = (RATE_BIT_S, MTU_BYTES)
    to_client, to_server = ([pair[side] for pair in wire.addresses[:links]] for side in (0, 1))
    with (
        bed.traffic(wire.client, "swallow"),
        bed.traffic(wire.server, "swallow"),
        bed.traffic(wire.client, "flood", *words, *to_server) as forth,
        bed.traffic(wire.server, "flood", *words, *to_client) as back,
    ):
        yield [forth, back]


@dataclass(frozen=True)
class LoadResult:
    """Measurements during the load."""

    shares: list[float]
    """Of the rate, achieved by each loaded direction."""
    errors_us: list[float]
    """Of the probe."""
    cores: float
    """CPU time of the emulator by time."""


def _observe(bench: Bench, wire: Wire, asked: Conditions, links: int) -> LoadResult:
    began, cpu_s, before = time.monotonic(), wire.cpu_s(), _ip_bytes(wire)
    samples = round(bench.scale.seconds * 1e3 / DATAGRAM_INTERVAL_MS)
    errors_us = one_way_errors_us(wire, asked, samples, link=links)
    lasted_s, after = time.monotonic() - began, _ip_bytes(wire)
    cores = (wire.cpu_s() - cpu_s) / lasted_s
    shares = [
        (now - then) * 8 / lasted_s / RATE_BIT_S
        for place, (then, now) in enumerate(zip(before, after, strict=True))
        if place % (links + 1) != links
    ]
    return LoadResult(shares, errors_us, cores)


def _ip_bytes(wire: Wire) -> list[int]:
    """What every link has brought to the server, then to the client."""
    received = (*wire.received(wire.server), *wire.received(wire.client))
    return [each.ip_bytes for each in received]


def measure_cost(bench: Bench) -> Section:
    """Measure a start until the link can be used, and memory without traffic."""
    section = bench.section(
        "cost",
        "Start of the process until the link is ready, and resident memory; a process that only"
        " begins and ends is the bound, and rattan makes its namespaces itself",
    )

    def one(subject: Subject, _: int) -> None:
        emulator = subject.emulator
        if isinstance(emulator, Link):
            _starts(section, emulator)
            _memory(section, emulator)
        elif isinstance(emulator, Rattan):
            with bed.namespace() as server:
                words = server.inside(*emulator.command(Conditions()))
                took_ms = _until(words, "client ")
            section.figure("start-up", emulator.name, "ms").values.append(took_ms)
            with emulator.wire(Conditions()) as wire:
                memory = section.figure("memory of one link", emulator.name, "MB")
                memory.values.append(wire.memory_bytes() / MB)

    plain = [subject for subject in (*bench.links, *bench.rattans) if not subject.fifo]
    bench.turns(section, plain, one)
    section.end()
    return section


def _starts(section: Section, emulator: Link) -> None:
    """Start it a few times, each next to a process that does nothing."""
    with emulator.ground() as middle:
        for _ in range(STARTS_PER_ROUND):
            took_ms = _until(middle.inside(*emulator.command(Conditions(), 1)), '{"event":"ready"')
            section.figure("start-up", emulator.name, "ms", STARTUP_MS).values.append(took_ms)
            began = time.monotonic()
            subprocess.run(middle.inside("true"), check=True)
            bound = section.figure("start-up", "a process that does nothing", "ms")
            bound.values.append((time.monotonic() - began) * 1e3)


def _until(argv: list[str], word: str) -> float:
    """Return the ms from starting a program to its saying a word."""
    began = time.monotonic()
    with bed.started(argv, quiet=True) as process:
        bed.awaited(process, word)
        return (time.monotonic() - began) * 1e3


def _memory(section: Section, emulator: Link) -> None:
    resident = {}
    for links in (1, MANY_LINKS):
        with emulator.wire(Conditions(), links) as wire:
            resident[links] = wire.memory_bytes() / MB
    figure = section.figure("memory of one link", emulator.name, "MB", MEMORY_MB)
    figure.values.append(resident[1])
    further = (resident[MANY_LINKS] - resident[1]) / (MANY_LINKS - 1)
    section.figure("memory of a further link", emulator.name, "MB", MEMORY_MB).values.append(
        further
    )
