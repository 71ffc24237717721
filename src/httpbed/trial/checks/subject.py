"""Checks of the programs under test: whether they ran, ended well and delivered what was asked.

A broken one makes the outcome failed. A failed trial counts and is never repeated.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from httpbed.base import units
from httpbed.base.clock import NS
from httpbed.bed.sandbox.sandbox_spec import Exit
from httpbed.experiment.check import (
    BODIES,
    BODIES_SENT,
    BODY,
    ENDED_WELL,
    FOLDERS,
    INTERVALS,
    LENGTHS,
    METHOD,
    RAN,
    SENT,
    STATUS,
    STATUS_OF_ONE,
    CheckDescriptor,
)
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import FileTransfer, Upload
from httpbed.trial import client_requests, plan
from httpbed.trial.attempt_plan import TrialPlan
from httpbed.trial.checks import protocol
from httpbed.trial.content import Content, targets
from httpbed.trial.evidence import AttemptEvidence, Body, JudgedAttempt
from httpbed.trial.hops import Chain, address

STORED = (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT)
"""Statuses of an upload that succeeded (RFC 9110 sections 9.3.3 and 9.3.4)."""


def checks(attempt: JudgedAttempt) -> Iterator[Check]:
    """Check the programs in one attempt."""
    chains, evidence = attempt.planned.chains, attempt.evidence
    yield from _servers(chains, evidence)
    yield _folders(evidence)
    yield from _visits(chains, evidence)
    for chain in chains if evidence.client else ():
        ended_well = _client(chain, evidence)
        yield ended_well
        of = chain.client if len(chains) > 1 else ""
        if evidence.is_cut_off(chain.client):
            if chain.client not in evidence.stopped:
                yield from map(_excused, _fetched(chain, attempt, of))
            yield from protocol.spoken(chain, evidence, of)
        elif chain.client in evidence.exits:
            fetched = [*_fetched(chain, attempt, of)]
            yield from fetched
            whole = all(check.passed is not False for check in (ended_well, *fetched))
            yield from protocol.checks(chain, attempt, of, whole=whole)


def _excused(check: Check) -> Check:
    """Return a check of a client that was cut off, with a failure turned into "not observed"."""
    return check if check.passed else check.model_copy(update={"passed": None})


def _servers(chains: Sequence[Chain], evidence: AttemptEvidence) -> Iterator[Check]:
    """Check that servers and proxies ran; where one did not start, only those are listed."""
    names = [name for chain in chains for name in reversed(chain.responders)]
    for name in evidence.failures or (names if evidence.client else ()):
        ran = name in evidence.survivors and name not in evidence.failures
        figure = "ran until the client was done" if ran else _early(name, evidence)
        figure = evidence.failures.get(name, figure)
        yield RAN.result(item=name, passed=ran, figure=figure)


def _early(name: str, evidence: AttemptEvidence) -> str:
    """Describe how a server or proxy ended too early."""
    ended = evidence.exits.get(name)
    how = f" ({_end(ended, evidence)})" if ended and not ended.clean else ""
    return f"ended before the client did{how}{_quoted(name, evidence)}"


def _quoted(name: str, evidence: AttemptEvidence) -> str:
    """Return what a failed program printed at last, if nothing else tells why it failed.

    A program that answered or sent requests has a log, which tells more. At a time limit it was
    killed, and what it had printed is no reason.
    """
    ended, report = evidence.exits.get(name), evidence.reports[name]
    if ended is None or ended.clean or ended.timed_out or report.requests:
        return ""
    words = report.last_words
    return f"; it printed: {words}" if words and words not in report.complaint else ""


def _end(ended: Exit, evidence: AttemptEvidence) -> str:
    """Describe how a program ended; the kernel only counts the processes that it kills."""
    if ended.signal == signal.SIGKILL and evidence.killed_for_memory and not ended.ended_for:
        return f"{ended}, when the kernel killed {evidence.killed_for_memory} for lack of memory"
    return str(ended)


def _folders(evidence: AttemptEvidence) -> Check:
    """Check that each part left readable, plain files in its folder."""
    wrong = [f"{name} {what}" for name, what in evidence.disorder.items()]
    figure = "; ".join(wrong) or "plain files in each"
    return FOLDERS.result(passed=not wrong, figure=figure)


def _visits(chains: Sequence[Chain], evidence: AttemptEvidence) -> Iterator[Check]:
    visits = {plan.prior_visit_name(chain.client) for chain in chains}
    for name, ended in evidence.exits.items():
        if name in visits:
            yield ENDED_WELL.result(
                item=name, passed=ended.clean, figure=str(ended), limit="exit status 0"
            )


def _client(chain: Chain, evidence: AttemptEvidence) -> Check:
    name, ended = chain.client, evidence.exits.get(chain.client)
    if chain.client in evidence.stopped:
        return ENDED_WELL.result(
            item=name, passed=None, figure="was stopped at work when the client was done"
        )
    if ended is None:
        return ENDED_WELL.result(
            item=name, passed=None, figure="had not begun when the client was done"
        )
    complaint = evidence.reports[chain.client].complaint
    figure = _end(ended, evidence) + (f": {complaint}" if complaint else "")
    figure += _quoted(name, evidence)
    passed = ended.clean and not complaint
    check = ENDED_WELL.result(item=name, passed=passed, figure=figure, limit="exit status 0")
    return check.model_copy(update={"by_time_limit": ended.timed_out})


def _fetched(chain: Chain, attempt: JudgedAttempt, where: str) -> Iterator[Check]:
    if isinstance(chain.workload, FileTransfer):
        yield from _files(chain, chain.workload, attempt, where)
    for judgement in attempt.added:
        yield from judgement.checks_of_fetched(chain, where)


def _files(
    chain: Chain, workload: FileTransfer, attempt: JudgedAttempt, where: str
) -> Iterator[Check]:
    evidence, stores = attempt.evidence, attempt.stores_bodies(chain)
    retried = chain.roles.client.retry != "none"
    proving = stores and workload.transfers_of_each == 1
    yield (
        protocol.retry_statuses(chain, evidence, where)
        if retried
        else _statuses(chain, evidence, where, proving=proving)
    )
    if isinstance(workload, Upload):
        yield _method(chain, workload, evidence, where)
    if workload.last_request_s:
        yield _intervals(chain, evidence, where)
    contents = [attempt.setup.contents[target.path] for target in targets(workload)]
    if workload.transfers_of_each > 1 or not stores:
        yield _lengths(chain, workload.size, evidence, where)
    if stores:
        stored = evidence.bodies.get(chain.client, [])
        yield _bodies(contents, stored, workload, where)


def _intervals(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Compare how long the client sent with when its last request was due.

    Times of requests are the client's own; its packets are not. The first leaves when the client
    connects, a little after the first request was due.
    """
    near = chain.hops[0].near(evidence.connections)
    spans = [(one["client_first_ns"], one["client_last_ns"]) for one in near]
    times = [time_ns for span in spans for time_ns in span if time_ns is not None]
    sent_s = (max(times) - min(times)) / NS if times else 0.0
    due_s = chain.workload.last_request_s
    return INTERVALS.result(
        passed=sent_s >= due_s - INTERVALS.limit,
        figure=f"sent for {units.format_duration(sent_s)}",
        limit=f"the last request was due at {units.format_duration(due_s)}",
        where=where,
    )


def _statuses(chain: Chain, evidence: AttemptEvidence, where: str, *, proving: bool) -> Check:
    """Check the status of every response: each log has exactly one 200 per request.

    An upload may have another status of success. It proves nothing of the body: a server may answer
    before it has read it.
    An empty log of a program that keeps one is wrong, too: its records, perhaps of retries and
    resets, were lost.
    ``proving``: every body is stored, which proves the answers where neither end logs requests.
    """
    requests = chain.workload.requests()
    descriptor = STATUS_OF_ONE if requests == 1 else STATUS
    accepted = STORED if chain.workload.sender == "client" else (HTTPStatus.OK,)
    limit = " or ".join(map(str, accepted))
    limit = limit if requests == 1 else f"{requests} of {limit}"
    every = client_requests.of_chain(chain, evidence)
    logs = [log for log in every if log.is_evidence]
    wrong = [
        log
        for log in logs
        if log.statuses().total() != requests or not log.statuses().keys() <= {*accepted}
    ]
    unreadable = client_requests.complaints(chain.responders, evidence)
    if not logs and proving and chain.client in evidence.silent and not unreadable:
        return descriptor.result(
            where=where, passed=None, figure=protocol.NOT_REPORTED, limit=limit
        )
    return descriptor.result(
        where=where,
        passed=bool(logs) and not wrong and not unreadable,
        # A server that refuses a body may end before it has logged that; its client tells more.
        figure=max(wrong or logs, key=lambda log: bool(log.requests)).statuses_in_words()
        if logs
        else "none",
        limit=limit,
    )


def _method(chain: Chain, upload: Upload, evidence: AttemptEvidence, where: str) -> Check:
    """Compare the method of each request in the server's log with the experiment's."""
    log = client_requests.of_server(chain.servers[0], evidence)
    methods = Counter(request.method for request in log.requests if request.method)
    counts = [f"{count} of {method}" for method, count in sorted(methods.items())]
    return METHOD.result(
        where=where,
        passed=methods.keys() == {upload.method} if methods else None,
        figure=f"{', '.join(counts)}, by {log.by}" if methods else protocol.NOT_REPORTED,
        limit=upload.method,
    )


def _lengths(chain: Chain, size: int, evidence: AttemptEvidence, where: str) -> Check:
    """Check every round by the length of its bodies, because later bodies replace earlier ones."""
    limit = f"{size} bytes each"
    for log in client_requests.of_chain(chain, evidence):
        lengths = [request.body_bytes for request in log.requests if request.body_bytes is not None]
        if lengths:
            break
    else:
        return LENGTHS.result(where=where, passed=None, figure=protocol.NOT_REPORTED, limit=limit)
    others = sum(length != size for length in lengths)
    figure = f"{others} of {len(lengths)} of another length, by {log.by}"
    return LENGTHS.result(
        where=where, passed=not others, figure=figure, limit=limit, measured=others
    )


def _bodies(
    contents: Sequence[Content],
    stored: Sequence[Body | None],
    workload: FileTransfer,
    where: str,
) -> Check:
    is_upload = workload.sender == "client"
    descriptor: CheckDescriptor = BODY if len(contents) == 1 else BODIES
    descriptor = BODIES_SENT if is_upload else descriptor
    receiver, word = ("server", "sent") if is_upload else ("client", "served")
    if len(contents) == 1:
        limit = f"{contents[0].size} bytes, SHA-256 {contents[0].sha256[:12]}"
    else:
        limit = f"{len(contents)} files of {contents[0].size} bytes, by SHA-256"
    limit += " (of the last round)" if workload.transfers_of_each > 1 else ""
    pairs = list(zip(contents, [*stored, *[None] * len(contents)], strict=False))
    wrong = [body for content, body in pairs if not _is(content, body)]
    if len(contents) > 1:
        figure = f"{len(contents) - len(wrong)} files as {word}"
        figure += f"; {_in_words(wrong[0], receiver)}" if wrong else ""
    else:
        figure = _in_words(pairs[0][1], receiver)
    return descriptor.result(where=where, passed=not wrong, figure=figure, limit=limit)


def _is(content: Content, body: Body | None) -> bool:
    """Whether a receiver stored a file unchanged; some clients store no empty file."""
    if body is None:
        return content.size == 0
    return bool(body["sha256"] == content.sha256 and body["bytes"] == content.size)


def _in_words(body: Body | None, receiver: str) -> str:
    if body is None:
        return f"the {receiver} stored nothing"
    return f"{body['bytes']} bytes, SHA-256 {body['sha256'][:12]}"


# Checks of what the hosts with programs sent, beside the packets of the experiment's connections.
#
# A program may send what it likes. What it sends must not decide whether an attempt counts: one
# packet to an address that no host has would void an attempt that the program dislikes, and the
# next might be better. So the host that sent it answers for it, and the bed is not judged then. The
# bed answers for frames that no host with programs sent (:func:`astray`).


MAX_FOREIGN_BYTES = 1 << 16
"""A kernel's own packets are far less: ICMP errors are limited to one per second and receiver
(icmp(7)), at most 576 bytes each, and a join of a group is some 50 bytes."""
ASTRAY = ("stray_frames", "malformed_packets")
"""Fields of frames that are no packets."""
FLOOD_PACKETS = 20_000
"""A congestion control loses less than half of its packets in a full queue, for some round trips
at the most. A program that lost more than half of so many packets has none."""

Table = Mapping[str, Any]


def sent_checks(planned: TrialPlan, evidence: AttemptEvidence) -> Iterator[Check]:
    """Check each host with programs; results of older emulators do not say what hosts sent."""
    directions = evidence.link.get("directions", ())
    if not directions or "sent" not in directions[0]:
        return
    foreign = _foreign(planned, evidence)
    most_flows = (
        max(direction["sent"]["flows"] for direction in directions)
        if _crowded(directions)
        else None
    )
    for host in _hosts(planned):
        wrong = [
            what
            for direction in directions
            if direction["from"] == host
            for what in _wrongly_sent(direction, foreign[direction["link"], host], most_flows)
        ]
        figure = "; ".join(wrong) or "nothing beside the experiment's connections"
        yield SENT.result(
            where=host,
            passed=not wrong,
            figure=figure,
            limit=f"at most {units.format_size(MAX_FOREIGN_BYTES)} beside its connections",
        )


def astray(planned: TrialPlan, link: Table) -> Counter[str]:
    """Count the frames that hosts with programs sent and that are no packets, by their field."""
    directions = [one for one in link["directions"] if one["from"] in _hosts(planned)]
    return Counter(
        {
            field: sum(direction.get("sent", {}).get(field, 0) for direction in directions)
            for field in ASTRAY
        }
    )


def _hosts(planned: TrialPlan) -> Sequence[str]:
    """Name the hosts with programs."""
    return sorted(set(planned.scenario.hosts.values()))


def _crowded(directions: Sequence[Table]) -> bool:
    """Whether the emulator did not follow some connections, because there were too many."""
    return any(direction["sent"]["untracked_packets"] for direction in directions)


def _wrongly_sent(direction: Table, foreign: int, most_flows: int | None) -> Iterator[str]:
    """List what is wrong with the packets that a host sent into a direction."""
    sent, packets = direction["sent"], direction["packets"]
    if stray := sent["stray_frames"]:
        yield f"{stray} frame(s) that are not IP, as for an address that no host has"
    if malformed := sent["malformed_packets"]:
        yield f"{malformed} malformed packet(s)"
    if (size := sent["other_bytes"] + foreign) > MAX_FOREIGN_BYTES:
        yield f"{units.format_size(size)} that belong to no connection of the experiment"
    if sent["flows"] == most_flows:
        yield f"{sent['flows']} connections, and more than the emulator follows"
    came = packets["in"] + direction["receive_drops"]
    refused = packets.get("queue_dropped", 0) + direction["receive_drops"]
    if came >= FLOOD_PACKETS and refused > came / 2:
        yield f"a flood: {refused} of {came} packets did not fit"


def _foreign(planned: TrialPlan, evidence: AttemptEvidence) -> Counter[tuple[str, str]]:
    """Count the bytes of connections outside all hops, by link and by the host that opened them."""
    hosts = {end.address: end.host for ends in planned.network.ends for end in ends}
    counted: Counter[tuple[str, str]] = Counter()
    for connection in evidence.connections:
        if not any(hop.is_between(connection) for hop in planned.hops):
            host = hosts.get(address(connection["client"]), "")
            counted[connection["link"], host] += (
                connection["client_bytes"] + connection["server_bytes"]
            )
    return counted
