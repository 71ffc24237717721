"""Honest request times by two definitions, from the same packets: to the close, and to the answer.

    make bench-request-time ARGS="--blocks 10"    or: python -m bench.request_time

A request lasts until the client closes, or until its answer has arrived, if that is later
(docs/concepts/evidence.md). An honest client closes when it has its answer, so both must be equal.
Each attempt is read twice. One that a busy machine made invalid counts too, if its client got the
file: the definitions differ in which packet is the last, and not in when it came.

The results are kept in ``--folder``; a second call runs the trials that are still missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.clocks.grid import Stack

from httpbed.base.clock import NS
from httpbed.bed.machine import backend
from httpbed.campaign import preparation, run, settings
from httpbed.campaign.run import OpenRun
from httpbed.campaign.settings import RunSettings
from httpbed.experiment.trial import Record
from httpbed.programs import catalog as catalogs
from httpbed.trial import client_requests, evidence
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import NetworkHop

FOLDER = Path("build/request-time")
EQUAL_S = 1e-9

_SHELL = "chromium-headless-shell"
STACKS: Mapping[str, Stack] = {
    "curl H1 < Caddy": Stack("curl", "1.1", "caddy"),
    "curl H2 < Caddy": Stack("curl", "2", "caddy"),
    "curl H3 < Caddy": Stack("curl", "3", "caddy"),
    "curl H3 < nginx": Stack("curl", "3", "nginx"),
    "quiche < nginx": Stack("httpbed-quiche", "3", "nginx"),
    "quiche < nginx 1.26": Stack("httpbed-quiche", "3", "nginx-1.26"),
    "quiche < Caddy": Stack("httpbed-quiche", "3", "caddy"),
    "quiche < quiche": Stack("httpbed-quiche", "3", "httpbed-quiche"),
    "quiche < aioquic": Stack("httpbed-quiche", "3", "aioquic"),
    "quiche < ngtcp2": Stack("httpbed-quiche", "3", "gtlsserver"),
    "quiche < Envoy": Stack("httpbed-quiche", "3", "envoy"),
    "Chromium H1 < nginx": Stack("chromium", "1.1", "nginx"),
    "Chromium H2 < nginx": Stack("chromium", "2", "nginx"),
    "Chromium H3 < nginx": Stack("chromium", "3", "nginx"),
    "Chromium H3 < Caddy": Stack("chromium", "3", "caddy"),
    "shell H2 < Caddy": Stack(_SHELL, "2", "caddy"),
    "shell H3 < Caddy": Stack(_SHELL, "3", "caddy"),
    "curl H1 < Envoy < nginx": Stack("curl", "1.1", "nginx", proxy="envoy"),
    "curl H2 < Envoy < nginx": Stack("curl", "2", "nginx", proxy="envoy"),
    "curl H3 < Envoy < nginx": Stack("curl", "3", "nginx", proxy="envoy"),
    "quiche < Envoy < nginx": Stack("httpbed-quiche", "3", "nginx", proxy="envoy"),
    "shell H3 < Envoy < nginx": Stack(_SHELL, "3", "nginx", proxy="envoy"),
    "curl H2 < HAProxy < nginx": Stack("curl", "2", "nginx", proxy="haproxy"),
    "curl H3 < HAProxy < nginx": Stack("curl", "3", "nginx", proxy="haproxy"),
    "quiche < HAProxy < nginx": Stack("httpbed-quiche", "3", "nginx", proxy="haproxy"),
    "shell H2 < HAProxy < nginx": Stack(_SHELL, "2", "nginx", proxy="haproxy"),
}
"""By name: a client, and what answers it."""
LAYOUTS: Mapping[bool, tuple[str, ...]] = {
    False: ("client", "server"),
    True: ("client", "proxy", "server"),
}
"""Hosts, by whether a proxy is between the others."""
EXPERIMENT = """
schema = 1
name = "request-time"
question = "Do both definitions of the request time agree for honest clients?"
replicates = {blocks}
seed = 20261124
time_limit = "60 s"
roles = {{ factor = "stack" }}

[factors]
loss = ["0 %", "4 %"]

[factors.stack]
{stacks}

[topology]
hosts = {hosts}

[[topology.links]]
between = ["client", "{neighbour}"]
rate = "10 Mbit/s"
delay = "20 ms"
loss = {{ factor = "loss" }}
{further}
[workload]
kind = "download"
size = "{size}"
"""


@dataclass(frozen=True)
class Timed:
    """A request, by both definitions."""

    closed_s: float
    answered_s: float
    is_valid: bool

    @property
    def longer_s(self) -> float:
        """By how much the request is longer than until its close."""
        return self.answered_s - self.closed_s


def main() -> None:
    """Run what is missing, and print a row for each stack."""
    words = _arguments()
    found = defaultdict[str, list[Timed]](list)
    print(f"load average {os.getloadavg()[0]:.1f} at the start", file=sys.stderr)
    with ExitStack() as stack:
        for is_proxied in LAYOUTS:
            campaign = stack.enter_context(_opened(words, is_proxied=is_proxied))
            campaign.finish(tell=lambda _: None, retries=0)
            for name, one in _read(campaign):
                found[name].append(one)
    _print(found)


def _opened(words: argparse.Namespace, *, is_proxied: bool) -> AbstractContextManager[OpenRun]:
    hosts = LAYOUTS[is_proxied]
    stacks = {name: one for name, one in STACKS.items() if bool(one.proxy) is is_proxied}
    text = EXPERIMENT.format(
        blocks=words.blocks,
        size=words.size,
        stacks="\n".join(f'"{name}" = {one.level()}' for name, one in stacks.items()),
        hosts=[*hosts],
        neighbour=hosts[1],
        further=f"\n[[topology.links]]\nbetween = {[*hosts[1:]]}\n" if is_proxied else "",
    )
    catalog = catalogs.load()
    loaded = preparation.load(text, catalog)
    options = RunSettings(backend.choose(None), "make bench-request-time")
    ready = run.prepare(loaded, catalog, options, say=_say)
    directory = words.folder / hosts[1]
    directory.parent.mkdir(parents=True, exist_ok=True)
    return run.opened(ready, directory, jobs=settings.adapted_parallelism(), say=_say)


def _read(campaign: OpenRun) -> Iterator[tuple[str, Timed]]:
    """Yield the requests of the attempts whose client got its file, by their stack."""
    for record in campaign.campaign.records():
        if one := _timed(campaign, record):
            yield record.attempt.trial.levels["stack"], one


def _timed(campaign: OpenRun, record: Record) -> Timed | None:
    planned = campaign.setup.plan(record.attempt.trial)
    artifacts = campaign.campaign.artifacts(record.attempt)
    read = evidence.read(planned, campaign.setup.catalog, artifacts)
    chain = planned.chains[0]
    hop, ended, size = chain.hops[0], read.exits.get(chain.client), chain.workload.body_bytes()
    stored = sum(int(body["bytes"]) for body in read.bodies.get(chain.client, ()) if body)
    if ended is None or not ended.clean or (stored or size) < size:
        return None
    answered_s = client_requests.request_s(hop, read, size)
    if answered_s is None:
        return None
    is_valid = record.attempt.outcome.kind != "invalid"
    return Timed(_closed_s(hop, read), answered_s, is_valid=is_valid)


def _closed_s(hop: NetworkHop, read: AttemptEvidence) -> float:
    """Return the seconds until the last close of the client, as Liu et al. (2024) define it."""
    near = hop.near(read.connections)
    closed = max(one["client_close_ns"] or one["client_last_ns"] for one in near)
    return float(closed - min(one["client_first_ns"] for one in near)) / NS


def _print(found: Mapping[str, Sequence[Timed]]) -> None:
    print("| client < servers | n | of invalid attempts | longer | by at most, ms |")
    print("| --- | --- | --- | --- | --- |")
    for name, timed in [*found.items(), ("all", [one for each in found.values() for one in each])]:
        longer = [one.longer_s for one in timed if one.longer_s > EQUAL_S]
        invalid = sum(not one.is_valid for one in timed)
        most = f"{1e3 * max(longer):.3f}" if longer else ""
        print(f"| {name} | {len(timed)} | {invalid} | {len(longer)} | {most} |")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.request_time", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--size", default="100 kB", help="of the file")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    return parser.parse_args()


if __name__ == "__main__":
    main()
