"""Checks of the protocols on every hop: HTTP version, connections, TLS, resumption, retries.

A client's options are no evidence. The server's log, the client's output and the packets are, and
they must agree. What none of them reports is "not observed" and rejects nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import get_args

from httpbed.experiment.check import (
    CONNECTION_COUNT,
    NOT_RESET,
    PASSED_ON,
    PROTOCOL,
    RESUMPTION,
    STATUS,
    TLS_VERSION,
)
from httpbed.experiment.roles import HttpVersion
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import FileTransfer
from httpbed.programs.part import LoggedRequest
from httpbed.trial import client_requests
from httpbed.trial.client_requests import RequestLog
from httpbed.trial.evidence import AttemptEvidence, JudgedAttempt
from httpbed.trial.hops import Chain, NetworkHop

TRANSPORTS = {"tcp": "tcp", "quic": "udp"}
"""The emulator's names of the transport protocols."""
NOT_REPORTED = "not observed: neither side reports it"
TLS = "1.3"


def checks(chain: Chain, attempt: JudgedAttempt, of: str, *, whole: bool) -> Iterator[Check]:
    """Check all hops of a client's requests.

    ``of`` names the client where there are several; ``whole`` says whether it received everything.
    """
    evidence = attempt.evidence
    yield from spoken(chain, evidence, of)
    for hop in chain.hops:
        yield _resets(hop, evidence, _where(hop, chain, of), whole=whole)
        yield _tls(client_requests.of_hop(hop, chain, evidence), _where(hop, chain, of))
    yield from _connections(chain, attempt, of)
    if isinstance(chain.workload, FileTransfer):
        yield _resumption(chain, evidence, of)
    for name in chain.proxies:
        yield _passed_on(name, chain, evidence)


def spoken(chain: Chain, evidence: AttemptEvidence, of: str) -> Iterator[Check]:
    """Check the HTTP version on all hops, also of requests that were cut off."""
    for hop in chain.hops:
        logs = client_requests.of_hop(hop, chain, evidence)
        yield _protocol(hop, chain, logs, evidence, _where(hop, chain, of))


def _where(hop: NetworkHop, chain: Chain, of: str) -> str:
    return hop.title if of or len(chain.hops) > 1 else ""


def _protocol(
    hop: NetworkHop, chain: Chain, logs: Sequence[RequestLog], evidence: AttemptEvidence, where: str
) -> Check:
    expected, cut_off = hop.http_version, evidence.is_cut_off(chain.client)
    carried = {str(one["protocol"]) for one in hop.near(evidence.connections)}
    known = {log.by: _versions(log, cut_off=cut_off) for log in logs}
    reporting = [log for log in logs if known[log.by]]
    otherwise = [log for log in reporting if known[log.by] != {expected}]
    passed: bool | None
    if otherwise:
        passed, figure = False, _spoken(otherwise[0])
    elif wrong := client_requests.complaints([hop.server], evidence):
        passed, figure = None if cut_off else False, wrong[0]
    elif cut_off and not carried:
        passed, figure = None, "cut off before any connection"
    elif carried - _transports(hop, chain) or not reporting:
        passed, figure = _by_packets(hop, chain, carried)
    else:
        passed, figure = True, _spoken(reporting[0])
    return PROTOCOL.result(where=where, passed=passed, figure=figure, limit=f"HTTP/{expected}")


def _transports(hop: NetworkHop, chain: Chain) -> set[str]:
    """Return the transports that may carry a hop; a client that discovers HTTP/3 began over TCP."""
    discovers = chain.discovers and hop == chain.hops[0]
    return {TRANSPORTS[hop.transport], *(["tcp"] if discovers else [])}


def _by_packets(hop: NetworkHop, chain: Chain, carried: Collection[str]) -> tuple[bool | None, str]:
    """Judge by the transport alone: it can contradict the HTTP version, but not prove it."""
    figure = f"{' and '.join(sorted(carried))}, by the packets"
    if set(carried) - _transports(hop, chain):
        return False, figure
    if carried:
        return None, f"{figure}; no log reports more"
    if len(chain.servers) > 1 and hop.server in chain.servers:
        return None, "it got no request"
    return False, "no connection was seen, no request logged"


def _versions(log: RequestLog, *, cut_off: bool) -> set[str]:
    """Return the HTTP versions in a log; an entry of a cut-off request may have none."""
    versions = {request.http_version for request in log.requests if request.http_version}
    return versions & set(get_args(HttpVersion)) if cut_off else versions


def _spoken(log: RequestLog) -> str:
    return f"{client_requests.versions_in_words(log.requests)}, by {log.by}"


def _resets(hop: NetworkHop, evidence: AttemptEvidence, where: str, *, whole: bool) -> Check:
    """Check that no connection was reset before all data had arrived.

    Some servers answer the close of TLS with a reset; nothing is missing then.
    """
    connections = hop.far(evidence.connections)
    resets = sum(bool(connection["server_reset"]) for connection in connections)
    figure = f"{len(connections)} connection(s), {resets} reset by the {hop.server}"
    figure += ", when all had arrived" if resets and whole else ""
    return NOT_RESET.result(
        where=where,
        passed=whole or not resets,
        figure=figure,
        limit="none before all has arrived",
        measured=resets,
    )


def _tls(logs: Sequence[RequestLog], where: str) -> Check:
    limit = f"TLS {TLS}"
    for log in logs:
        versions = Counter(_tls_words(request) for request in log.requests if request.tls_version)
        if versions:
            figure = f"{', '.join(sorted(versions))}, by {log.by}"
            passed = all(words.startswith(limit) for words in versions)
            return TLS_VERSION.result(where=where, passed=passed, figure=figure, limit=limit)
    return TLS_VERSION.result(where=where, passed=None, figure=NOT_REPORTED, limit=limit)


def _tls_words(request: LoggedRequest) -> str:
    version = request.tls_version.removeprefix("TLS").lstrip("v ")
    return f"TLS {version} {request.cipher}".rstrip()


def _connections(chain: Chain, attempt: JudgedAttempt, where: str) -> Iterator[Check]:
    count = len(chain.hops[0].opened(attempt.evidence.connections))
    if isinstance(chain.workload, FileTransfer):
        yield _transfer_connections(chain, chain.workload, attempt.evidence, count, where)
    added = (judgement.check_of_connections(chain, count, where) for judgement in attempt.added)
    yield from filter(None, added)


def _transfer_connections(
    chain: Chain, workload: FileTransfer, evidence: AttemptEvidence, count: int, where: str
) -> Check:
    """Check the number of the client's connections: six parallel files on one are another test."""
    if evidence.moves or (
        chain.roles.client.retry != "none" and least_requests(chain, evidence) > 1
    ):
        return retry_connections(chain, evidence, count, workload.connections, where)
    most = workload.connections
    exact = (
        chain.hops[0].http_version == "1.1"
    )  # each carries one request at a time, so all are needed
    return CONNECTION_COUNT.result(
        where=where,
        passed=count == most if exact else 1 <= count <= most,
        figure=f"{count}, by the packets",
        limit=f"{most}" if exact else f"at most {most}",
    )


def _resumption(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Compare resumed connections and early data with the workload."""
    expected = chain.workload.resumes
    for log in client_requests.of_hop(chain.hops[0], chain, evidence):
        resumed = [request.resumed for request in log.requests if request.resumed is not None]
        early = [request.early_data for request in log.requests if request.early_data is not None]
        if resumed or (early and expected != "resumed"):
            figure = (
                f"{sum(resumed)} of {len(log.requests)} request(s) on a resumed connection,"
                f" {sum(early)} in early data, by {log.by}"
            )
            passed = _as_expected(expected, resumed, early)
            return RESUMPTION.result(where=where, passed=passed, figure=figure, limit=expected)
    return RESUMPTION.result(where=where, passed=None, figure=NOT_REPORTED, limit=expected)


def _as_expected(expected: str, resumed: Sequence[bool], early: Sequence[bool]) -> bool | None:
    """Judge resumption; one request in the first flight is enough for early data."""
    if expected == "none":
        return not any(resumed) and not any(early)
    if expected == "resumed":
        return all(resumed) and not any(early)
    if not all(resumed):
        return False
    return any(early) if early else None


def _passed_on(name: str, chain: Chain, evidence: AttemptEvidence) -> Check:
    """Check that a proxy neither retried nor reports a reset stream."""
    requests = evidence.reports[name].requests
    # A browser says itself which responses it left: images that it cannot decode.
    paths = {
        request.path for request in evidence.reports[chain.client].requests if request.client_left
    }
    passed_on = tuple(request for request in requests if request.path not in paths)
    if chain.roles.client.retry != "none":
        passed_on = not_left(passed_on)
    flags = sorted({request.flags for request in passed_on if request.flags})
    attempts = [request.attempts for request in requests if request.attempts is not None]
    most = max(attempts, default=0)
    reports = bool(flags or attempts)
    figure = f"flags: {', '.join(flags) or 'none'}; at most {most} attempt(s) upstream"
    if left := len(requests) - len(passed_on):
        figure += f"; {left} response(s) that the client left"
    return PASSED_ON.result(
        item=name,
        passed=not flags and most <= 1 if reports else None,
        figure=figure if reports else "not observed: it logs neither flags nor attempts",
        limit="no flags, one attempt",
    )


# Checks of a download with retries: its responses, its range requests and its connections.
#
# An interrupted attempt is no fault of the server: the client left or lost its connection. The
# body's digest says whether the client assembled the whole file.


PARTIAL = HTTPStatus.PARTIAL_CONTENT
NOTHING_MISSING = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
STATUSES = {
    "restart": frozenset({HTTPStatus.OK}),
    "resume": frozenset({HTTPStatus.OK, PARTIAL, NOTHING_MISSING}),
}
"""Statuses that each kind of retry allows: the file, its rest, or that nothing is missing (RFC 9110
section 15.5.17)."""


def retry_statuses(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Check that there was a response, and the status of every one that a log lists.

    A server that has not noticed that its client left has not logged the request.
    """
    retry = chain.roles.client.retry
    accepted = STATUSES[retry]
    logs = [log for log in client_requests.of_chain(chain, evidence) if log.is_evidence]
    wrong = [log for log in logs if not _is_accepted(log, accepted)]
    unreadable = client_requests.complaints(chain.responders, evidence)
    fullest = sorted(wrong or logs, key=lambda log: len(log.requests), reverse=True)
    figure = fullest[0].statuses_in_words() if fullest else "none"
    passed: bool | None = bool(logs) and not wrong and not unreadable
    if passed and retry == "resume" and (besides := _not_resumed(logs)):
        passed, figure = None, f"{figure}; {besides}"
    limit = f"{', '.join(map(str, sorted(accepted)))}, of each attempt"
    return STATUS.result(where=where, passed=passed, figure=figure, limit=limit)


def _is_accepted(log: RequestLog, accepted: frozenset[int]) -> bool:
    """Whether a log has only accepted statuses, and not 416 alone."""
    answered = {request.status for request in not_left(log.requests)}
    return bool(answered) and answered <= accepted and answered != {NOTHING_MISSING}


def _not_resumed(logs: Sequence[RequestLog]) -> str:
    """Return why the logs do not show a resumed download; empty if they do.

    A server sends 206 only for a range request, and no client requests a range from the first byte.
    So a 206 is the rest of a file.
    """
    answered = [request for log in logs for request in log.requests]
    statuses = {request.status for request in answered}
    if PARTIAL in statuses and HTTPStatus.OK not in statuses:
        return "no log lists the response that it continues"
    begun = max(sum(bool(request.body_bytes) for request in log.requests) for log in logs)
    if begun > 1 and PARTIAL not in statuses:
        return f"{begun} responses from the first byte on, and none resumed"
    return ""


def least_requests(chain: Chain, evidence: AttemptEvidence) -> int:
    """Return the least number of requests: the client's runs, or the responses in a log."""
    if chain.roles.client.retry == "none":
        return 1
    answered = [len(log.requests) for log in client_requests.of_chain(chain, evidence)]
    runs = evidence.exits[chain.client].runs if chain.client in evidence.exits else 1
    return max(runs, *answered)


def retry_connections(
    chain: Chain, evidence: AttemptEvidence, count: int, most: int, where: str
) -> Check:
    """Check that the client opened a connection, and at most one more per retry and hand-over.

    Over HTTP/1.1 a program that retries by itself may open any number.
    """
    first = chain.hops[0]
    most *= (evidence.moves or 0) + least_requests(chain, evidence)
    is_bounded = first.http_version != "1.1"
    return CONNECTION_COUNT.result(
        where=where,
        passed=1 <= count <= most if is_bounded else count >= 1,
        figure=f"{count}, by the packets",
        limit=f"at most {most}" if is_bounded else "at least 1",
    )


def not_left(requests: Iterable[LoggedRequest]) -> tuple[LoggedRequest, ...]:
    """Leave out the requests whose client left; their end is no fault of a proxy."""
    return tuple(request for request in requests if not request.client_left)
