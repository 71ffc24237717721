"""The observations of an attempt: one value per metric that its evidence allows.

Times, overheads and shares are of the client's own requests, as they were seen on its link; metrics
of their own describe the traffic of competitors.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from httpbed.base.clock import NS
from httpbed.experiment.metric import Observation
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.workload import Download
from httpbed.results.fairness import jain
from httpbed.trial import request_time
from httpbed.trial.checks.registry import JudgedAttempt
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain, NetworkHop

GB = 1e9


def observations(attempt: JudgedAttempt) -> list[Observation]:
    """Return every observation of an attempt, in a fixed order."""
    scenario, evidence = attempt.planned.scenario, attempt.evidence
    chain = attempt.planned.chains[0]
    return [
        *_wire(chain, evidence),
        *_link(scenario, evidence),
        *_bed(chain.hops[0], evidence),
        *evidence.reports[chain.client].observations,
        *_runs(chain, evidence),
        *_files(chain, evidence),
        *_proxies(chain, evidence),
        *_cpu(chain, evidence),
        *_shares(chain, evidence),
        *(observation for one in attempt.added for observation in one.observations()),
    ]


def _wire(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    hop, size = chain.hops[0], chain.workload.body_bytes()
    duration = request_time.seconds(hop, evidence, size or 0)
    if duration is None:
        return
    near, far = hop.near(evidence.connections), hop.far(evidence.connections)
    yield _on_wire("connections", len(hop.opened(evidence.connections)))
    first = min(near, key=lambda connection: connection["client_first_ns"])
    if first["handshake_ns"] is not None:
        yield _on_wire("handshake_time", (first["handshake_ns"] - first["client_first_ns"]) / NS)
    if evidence.client and not evidence.client.timed_out:  # otherwise the request has no end
        yield _on_wire("request_time", duration)
        if size and duration:
            yield _on_wire("goodput", size * 8 / duration)
    if size:
        yield _on_wire("wire_overhead", _sum(far, "server_bytes") / size - 1)
    tcp = [connection for connection in far if connection["protocol"] == "tcp"]
    if payload := _sum(tcp, "server_payload_bytes"):
        again = _sum(tcp, "server_retransmitted_bytes")
        yield _on_wire("retransmitted_share", again / payload)


def _sum(connections: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(sum(connection[key] for connection in connections))


def _link(scenario: Scenario, evidence: AttemptEvidence) -> Iterator[Observation]:
    if not evidence.link:
        return
    link, side = scenario.bottleneck()
    downstream = evidence.link["directions"][2 * link + side]
    if downstream["queue_delay_ns"]["p50"] is not None:
        yield _on_wire("queue_delay_p50", downstream["queue_delay_ns"]["p50"] / NS)
    if downstream["utilisation"] is not None:
        yield _on_wire("utilisation", downstream["utilisation"])
    packets = downstream["packets"]
    if "in_flight" not in packets:  # an observer of the kernel's link cannot tell loss from delay
        return
    if sent := packets["in"] + packets["duplicated"]:
        lost = sent - packets["delivered"] - packets["in_flight"]
        yield _on_wire("packet_loss", lost / sent)


def _bed(hop: NetworkHop, evidence: AttemptEvidence) -> Iterator[Observation]:
    if pings_s := evidence.pings_s[hop.title_over(hop.paths[0])]:
        yield Observation(metric="rtt", value=min(pings_s), source="bed")


def _runs(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    if chain.roles.client.retry != "none" and evidence.client:
        yield Observation(metric="client_runs", value=evidence.client.runs, source="bed")


def _files(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    """Yield the time of each file, where there are several, by the client's clock."""
    if not isinstance(chain.workload, Download):  # other kinds have metrics of their own
        return
    took, rounds = [], Counter[str]()
    for number, request in enumerate(evidence.reports[chain.client].requests, start=1):
        if request.began_s is None or request.ended_s is None:
            return
        name = request.path.lstrip("/") or f"{number}"
        rounds[name] += 1
        item = f"{name}, round {rounds[name]}" if chain.workload.rounds > 1 else name
        took.append((item, request.ended_s - request.began_s))
    if chain.workload.requests() == 1 or len(took) != chain.workload.requests():
        return
    for item, seconds in took:
        yield Observation(metric="file_time", value=seconds, source="client", item=item)
    seconds_all = [seconds for _, seconds in took]
    yield Observation(metric="file_time_slowest", value=max(seconds_all), source="client")
    yield Observation(
        metric="file_time_median", value=statistics.median(seconds_all), source="client"
    )


def _proxies(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    attempts = [
        request.attempts
        for name in chain.proxies
        for request in evidence.reports[name].requests
        if request.attempts is not None
    ]
    if attempts:
        yield Observation(metric="retries", value=sum(attempts) - len(attempts), source="proxy")
    if chain.proxies and evidence.link:
        upstream = [hop.near(evidence.connections) for hop in chain.hops[1:]]
        yield _on_wire("upstream_connections", sum(map(len, upstream)))


def _cpu(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    size = chain.workload.body_bytes()
    sides = {"client": [chain.client], "proxy": chain.proxies, "server": chain.servers}
    for side, names in sides.items():
        spent = [evidence.exits[name].cpu_s for name in names if name in evidence.exits]
        if size and names and len(spent) == len(names):
            value = sum(spent) / (size / GB)
            yield Observation(metric=f"{side}_cpu", value=value, source="bed")


def _shares(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    if (shares := evidence.fairness) is None:
        return
    for client, rate in shares.rates_bit_s.items():
        yield Observation(metric="rate_while_shared", value=rate, source="wire", item=client)
    yield _on_wire("time_shared", shares.lasted_s)
    yield _on_wire("share", shares.share(chain.client))
    yield _on_wire("jain_index", jain(shares.rates_bit_s.values()))


def _on_wire(metric: str, value: float) -> Observation:
    return Observation(metric=metric, value=value, source="wire")
