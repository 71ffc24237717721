"""The verdict on an attempt: its checks, outcome and observations, from its folder alone."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from httpbed.base.clock import NS
from httpbed.bed.sandbox.sandbox_spec import polled_s
from httpbed.experiment.check import CARRIED_OUT, ENDED_WELL, SENT, all_checks
from httpbed.experiment.metric import Observation
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import (
    Attempt,
    Check,
    HandoverEvent,
    Outcome,
    OutcomeKind,
    Record,
    Trial,
)
from httpbed.experiment.workload import FileTransfer
from httpbed.trial import client_requests, evidence
from httpbed.trial.addition import TRIAL_ADDITIONS
from httpbed.trial.attempt_plan import CampaignSetup, TrialPlan
from httpbed.trial.checks import bed, link, subject
from httpbed.trial.evidence import AttemptEvidence, JudgedAttempt
from httpbed.trial.fairness import jain
from httpbed.trial.hops import Chain, NetworkHop

# The registry of check families: every check on an attempt comes from here.
#
# A family observes checks that need the same evidence. Its checks' descriptors are in
# :mod:`httpbed.experiment.check`; to add a check, describe it there and observe it in its family.
# Addons observe theirs in an :class:`~httpbed.trial.evidence.AddedJudgement`.


def _link_checks(attempt: JudgedAttempt) -> Iterator[Check]:
    net, evidence = attempt.planned.network, attempt.evidence
    if evidence.link:
        yield from link.checks(net.emulator_config, evidence.link, evidence.client_s)


def _added_bed_checks(attempt: JudgedAttempt) -> Iterator[Check]:
    for judgement in attempt.added if attempt.evidence.link else ():
        yield from judgement.checks_of_bed()


def _added_subject_checks(attempt: JudgedAttempt) -> Iterator[Check]:
    for judgement in attempt.added:
        yield from judgement.checks_of_subject()


BED_FAMILIES: tuple[Callable[[JudgedAttempt], Iterable[Check]], ...] = (
    lambda attempt: bed.checks(attempt.planned, attempt.catalog, attempt.evidence),
    _link_checks,
    _added_bed_checks,
)
SUBJECT_FAMILIES: tuple[Callable[[JudgedAttempt], Iterable[Check]], ...] = (
    subject.checks,
    lambda attempt: subject.sent_checks(attempt.planned, attempt.evidence),
    _added_subject_checks,
)


def every_check(attempt: JudgedAttempt) -> list[Check]:
    """Observe every check that applies to an attempt, those of the bed first.

    A part that fills its folder, or sends what no HTTP program sends, can break checks of the bed.
    The bed is not judged then: otherwise the part would choose which attempts count.
    """
    of_subject = [check for family in SUBJECT_FAMILIES for check in family(attempt)]
    misuses = (check for check in of_subject if check.check == SENT.id and check.passed is False)
    if attempt.evidence.excess or any(misuses):
        return of_subject
    return [*(check for family in BED_FAMILIES for check in family(attempt)), *of_subject]


# The observations of an attempt: one value per metric that its evidence allows.
#
# Times, overheads and shares are of the client's own requests, as they were seen on its link;
# metrics of their own describe the traffic of competitors.


GB = 1e9


def observations(attempt: JudgedAttempt) -> list[Observation]:
    """Return every observation of an attempt, in a fixed order."""
    scenario, evidence = attempt.planned.scenario, attempt.evidence
    chain = attempt.planned.chains[0]
    return [
        *_wire(chain, evidence),
        *_link(scenario, evidence),
        *_bed(chain.hops[0], evidence),
        *_by_client(chain, evidence),
        *_runs(chain, evidence),
        *_files(chain, evidence),
        *_proxies(chain, evidence),
        *_cpu(chain, evidence),
        *_shares(attempt.planned.chains, evidence),
        *(observation for judgement in attempt.added for observation in judgement.observations()),
    ]


def _wire(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    hop, size = chain.hops[0], chain.workload.body_bytes()
    duration = client_requests.request_s(hop, evidence, chain.fetched_bytes)
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
    end, before_loss = ("client", near) if hop.sender == hop.client else ("server", far)
    if size:
        yield _on_wire("wire_overhead", _sum(before_loss, f"{end}_bytes") / size - 1)
    tcp = [connection for connection in before_loss if connection["protocol"] == "tcp"]
    if payload := _sum(tcp, f"{end}_payload_bytes"):
        again = _sum(tcp, f"{end}_retransmitted_bytes")
        yield _on_wire("retransmitted_share", again / payload)


def _sum(connections: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(sum(connection[key] for connection in connections))


def _link(scenario: Scenario, evidence: AttemptEvidence) -> Iterator[Observation]:
    if not evidence.link:
        return
    link, side = scenario.bottleneck()
    narrowest = evidence.link["directions"][2 * link + side]
    if narrowest["queue_delay_ns"]["p50"] is not None:
        yield _on_wire("queue_delay_p50", narrowest["queue_delay_ns"]["p50"] / NS)
    if narrowest["utilisation"] is not None:
        yield _on_wire("utilisation", narrowest["utilisation"])
    packets = narrowest["packets"]
    if sent := packets["in"] + packets["duplicated"]:
        lost = sent - packets["delivered"] - packets["in_flight"]
        yield _on_wire("packet_loss", lost / sent)


def _bed(hop: NetworkHop, evidence: AttemptEvidence) -> Iterator[Observation]:
    if pings_s := evidence.pings_s[hop.title_over(hop.paths[0])]:
        yield Observation(metric="rtt", value=min(pings_s), source="bed")


def _by_client(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    """Yield what the client reports.

    The first byte after an upload may be of 100 Continue, which HTTP/1.1 alone waits for.
    """
    for observation in evidence.reports[chain.client].observations:
        if observation.metric != "time_to_first_byte" or chain.workload.sender == "server":
            yield observation


def _runs(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    if chain.roles.client.retry != "none" and evidence.client:
        yield Observation(metric="client_runs", value=evidence.client.runs, source="bed")


def _files(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    """Yield the time of each file, where there are several, by the client's clock."""
    if not isinstance(chain.workload, FileTransfer):  # other kinds have metrics of their own
        return
    took, rounds = [], Counter[str]()
    for number, request in enumerate(evidence.reports[chain.client].requests, start=1):
        if request.began_s is None or request.ended_s is None:
            return
        name = request.path.lstrip("/") or f"{number}"
        rounds[name] += 1
        is_repeated = chain.workload.transfers_of_each > 1
        item = f"{name}, round {rounds[name]}" if is_repeated else name
        took.append((item, request.ended_s - request.began_s))
    if chain.workload.requests() == 1 or len(took) != chain.workload.requests():
        return
    for item, seconds in took:
        yield Observation(metric="file_time", value=seconds, source="client", item=item)
    seconds_all = sorted(seconds for _, seconds in took)
    yield Observation(metric="file_time_slowest", value=seconds_all[-1], source="client")
    yield Observation(
        metric="file_time_median", value=statistics.median(seconds_all), source="client"
    )
    for percent in (95, 99):
        rank = math.ceil(len(seconds_all) * percent / 100)
        value = seconds_all[rank - 1]
        yield Observation(metric=f"file_time_p{percent}", value=value, source="client")


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


def _shares(chains: Sequence[Chain], evidence: AttemptEvidence) -> Iterator[Observation]:
    """Yield how clients shared the network; an upload and a download share no direction of it."""
    if (shares := evidence.fairness) is None:
        return
    for client, rate in shares.rates_bit_s.items():
        yield Observation(metric="rate_while_shared", value=rate, source="wire", item=client)
    yield _on_wire("time_shared", shares.lasted_s)
    if len({chain.workload.sender for chain in chains}) == 1:
        yield _on_wire("share", shares.share(chains[0].client))
        yield _on_wire("jain_index", jain(shares.rates_bit_s.values()))


def _on_wire(metric: str, value: float) -> Observation:
    return Observation(metric=metric, value=value, source="wire")


@dataclass(frozen=True)
class AttemptId:
    """An attempt at a trial."""

    trial: Trial
    number: int
    """From 1."""
    started: datetime

    def record(  # noqa: PLR0913 - one parameter for each member
        self,
        outcome: Outcome,
        checks: Sequence[Check],
        phases_s: Mapping[str, float],
        observations: Sequence[Observation] = (),
        handovers: list[HandoverEvent] | None = None,
        *,
        cpus: float | None = None,
    ) -> Record:
        """Return the attempt's record."""
        attempt = Attempt(
            trial=self.trial,
            number=self.number,
            outcome=outcome,
            checks=list(checks),
            started=self.started.isoformat(timespec="milliseconds"),
            phases_s=dict(phases_s),
            cpus=cpus,
        )
        return Record(attempt=attempt, observations=list(observations), handovers=handovers)


def judge(
    attempt: AttemptId,
    planned: TrialPlan,
    setup: CampaignSetup,
    artifacts: Path,
    phases_s: Mapping[str, float],
) -> Record:
    """Judge an attempt of a planned trial by the files in ``artifacts``."""
    additions = TRIAL_ADDITIONS.provided(planned.scenario.words)
    observed = evidence.read(planned, setup.catalog, artifacts, [one.read for one in additions])
    judged = JudgedAttempt(planned, setup, observed, tuple(one.judgement for one in additions))
    checks = every_check(judged)
    return attempt.record(
        outcome(checks, judged.evidence, *(judgement.remark() for judgement in judged.added)),
        checks,
        phases_s,
        observations(judged),
        next(
            (events for judgement in judged.added if (events := judgement.handovers()) is not None),
            None,
        ),
        cpus=cpus_needed(judged.evidence),
    )


def cpus_needed(observed: AttemptEvidence) -> float | None:
    """Return how many CPUs a trial needed: what it used, without the emulator's polling.

    The emulator polls only while no other process needs the CPUs.
    """
    pressure = observed.pressure
    if "ran_s" not in pressure or pressure["over_s"] <= 0:
        return None
    needed_s = pressure["ran_s"] - polled_s(observed.link)
    return float(max(needed_s, 0.0) / pressure["over_s"])


def outcome(checks: Sequence[Check], observed: AttemptEvidence, *remarks: str) -> Outcome:
    """Return how an attempt ended; a failure of the bed comes first, as it makes the rest void.

    ``remarks`` explain a failure, or are empty.
    The outcome is "timed out" only where no other check failed: a client whose server died, or
    spoke another version, would have waited in any network.
    """
    broken = [check for check in checks if check.passed is False]
    of_bed = [check for check in broken if check.of == "bed"]
    if of_bed:
        return Outcome(kind="invalid", reason=_reasons(of_bed))
    late = {name for name, ended in observed.exits.items() if ended.timed_out}
    only_late = all(check.check == ENDED_WELL.id and check.item in late for check in broken)
    if observed.client is not None and observed.client.timed_out and only_late:
        reasons = filter(None, ["the client was still busy at the time limit", *remarks])
        return Outcome(kind="timed out", reason="; ".join(reasons))
    if broken:
        reasons = filter(None, [_reasons(broken), *remarks])
        kind: OutcomeKind = "unsupported" if observed.unsupported else "failed"
        return Outcome(kind=kind, reason="; ".join(reasons))
    return Outcome(kind="completed")


def is_strained(attempt: Attempt) -> bool:
    """Whether an attempt is invalid only because the machine was busy."""
    broken = [check for check in attempt.checks if check.passed is False and check.of == "bed"]
    strained = [check for check in broken if all_checks()[check.check].by_strain]
    return attempt.outcome.kind == "invalid" and bool(broken) and strained == broken


def broken_bed(attempt: AttemptId, reason: str) -> Record:
    """Return the record of an attempt that the bed could not finish."""
    check = CARRIED_OUT.result(passed=False, figure=reason)
    return attempt.record(Outcome(kind="invalid", reason=reason), [check], {})


def _reasons(broken: Sequence[Check]) -> str:
    return "; ".join(map(_reason, broken))


def _reason(check: Check) -> str:
    if all_checks()[check.check].is_explicit:
        return check.figure
    return f"{check.name}: {check.figure}"
