"""Checks of the protocols on every hop: HTTP version, connections, TLS, resumption, retries.

A client's options are no evidence. The server's log, the client's output and the packets are, and
they must agree. What none of them reports is "not observed" and rejects nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from httpbed.experiment.check import (
    CONNECTION_COUNT,
    NOT_RESET,
    PASSED_ON,
    PROTOCOL,
    RESUMPTION,
    TLS_VERSION,
)
from httpbed.experiment.roles import HttpVersion
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import Download
from httpbed.programs.protocol import LoggedRequest
from httpbed.trial import request_logs
from httpbed.trial.checks import retry
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain, NetworkHop
from httpbed.trial.request_logs import RequestLog

if TYPE_CHECKING:  # it imports this module
    from httpbed.trial.checks.registry import JudgedAttempt

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
        yield _tls(request_logs.of_hop(hop, chain, evidence), _where(hop, chain, of))
    yield from _connections(chain, attempt, of)
    if isinstance(chain.workload, Download):
        yield _resumption(chain, evidence, of)
    for name in chain.proxies:
        yield _passed_on(name, chain, evidence)


def spoken(chain: Chain, evidence: AttemptEvidence, of: str) -> Iterator[Check]:
    """Check the HTTP version on all hops, also of requests that were cut off."""
    for hop in chain.hops:
        logs = request_logs.of_hop(hop, chain, evidence)
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
    elif wrong := request_logs.complaints([hop.server], evidence):
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
    return f"{request_logs.versions_in_words(log.requests)}, by {log.by}"


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
    if isinstance(chain.workload, Download):
        yield _download_connections(chain, chain.workload, attempt.evidence, count, where)
    added = (one.check_of_connections(chain, count, where) for one in attempt.added)
    yield from filter(None, added)


def _download_connections(
    chain: Chain, workload: Download, evidence: AttemptEvidence, count: int, where: str
) -> Check:
    """Check the number of the client's connections: six parallel files on one are another test."""
    if evidence.moves or (
        chain.roles.client.retry != "none" and retry.attempts(chain, evidence) > 1
    ):
        return retry.connections(chain, evidence, count, workload.connections, where)
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
    for log in request_logs.of_hop(chain.hops[0], chain, evidence):
        resumed = [one.resumed for one in log.requests if one.resumed is not None]
        early = [one.early_data for one in log.requests if one.early_data is not None]
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
    passed_on = requests
    if chain.roles.client.retry != "none":
        passed_on = retry.not_left(requests)
    flags = sorted({one.flags for one in passed_on if one.flags})
    attempts = [one.attempts for one in requests if one.attempts is not None]
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
