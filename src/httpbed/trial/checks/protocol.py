"""Checks of what was spoken, hop by hop: HTTP version, connections, TLS, resumption, retries.

The flag that a client was given is no evidence. What counts is told by the log of who answered,
by the client's own output, and by the packets; where they differ, the trial was not what its
label says. What nobody tells is not observed, which is said and rejects nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import get_args

from httpbed.experiment.roles import HttpVersion
from httpbed.experiment.trial import Check
from httpbed.programs.protocol import LoggedRequest
from httpbed.trial import request_logs
from httpbed.trial.checks import page, retry, visit
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain, NetworkHop
from httpbed.trial.request_logs import RequestLog

TRANSPORTS = {"tcp": "tcp", "quic": "udp"}
"""As the emulator calls what carries a hop."""
NOT_TOLD = "not observed: neither side tells"
TLS = "1.3"


def checks(chain: Chain, evidence: AttemptEvidence, of: str, *, whole: bool) -> Iterator[Check]:
    """Check all hops of a client's requests.

    ``of`` names it where there are several clients, ``whole`` says whether it got all it asked for.
    """
    yield from spoken(chain, evidence, of)
    for hop in chain.hops:
        yield _resets(hop, evidence, _where(hop, chain, of), whole=whole)
        yield _tls(request_logs.of_hop(hop, chain, evidence), _where(hop, chain, of))
    yield _connections(chain, evidence, of)
    if chain.workload.kind == "download":
        yield _resumption(chain, evidence, of)
    for name in chain.proxies:
        yield _passed_on(name, chain, evidence)


def spoken(chain: Chain, evidence: AttemptEvidence, of: str) -> Iterator[Check]:
    """Check the HTTP version on all hops, which can be told of requests that were cut off, too."""
    for hop in chain.hops:
        told = request_logs.of_hop(hop, chain, evidence)
        yield _protocol(hop, chain, told, evidence, _where(hop, chain, of))


def _where(hop: NetworkHop, chain: Chain, of: str) -> str:
    return f", {hop.title}" if of or len(chain.hops) > 1 else ""


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="subject", passed=passed, figure=figure, limit=limit)


def _protocol(
    hop: NetworkHop, chain: Chain, told: Sequence[RequestLog], evidence: AttemptEvidence, where: str
) -> Check:
    asked, cut_off = hop.http_version, evidence.is_cut_off(chain.client)
    carried = {str(one["protocol"]) for one in hop.near(evidence.connections)}
    known = {account.by: _versions(account, cut_off=cut_off) for account in told}
    telling = [account for account in told if known[account.by]]
    otherwise = [account for account in telling if known[account.by] != {asked}]
    passed: bool | None
    if otherwise:
        passed, figure = False, _spoken(otherwise[0])
    elif wrong := request_logs.complaints([hop.server], evidence):
        passed, figure = None if cut_off else False, wrong[0]
    elif cut_off and not carried:
        passed, figure = None, "cut off before any connection"
    elif carried - _transports(hop, chain) or not telling:
        passed, figure = _by_packets(hop, chain, carried)
    else:
        passed, figure = True, _spoken(telling[0])
    return _check(f"protocol used{where}", passed=passed, figure=figure, limit=f"HTTP/{asked}")


def _transports(hop: NetworkHop, chain: Chain) -> set[str]:
    """Name what may carry a hop; who is to discover HTTP/3 came over TCP before."""
    discovers = visit.discovers(chain) and hop == chain.hops[0]
    return {TRANSPORTS[hop.transport], *(["tcp"] if discovers else [])}


def _by_packets(hop: NetworkHop, chain: Chain, carried: Collection[str]) -> tuple[bool | None, str]:
    """Judge by what carried a hop alone: it can be wrong, and is not enough to be right."""
    figure = f"{' and '.join(sorted(carried))}, by the packets"
    if set(carried) - _transports(hop, chain):
        return False, figure
    if carried:
        return None, f"{figure}; no more is told"
    if len(chain.servers) > 1 and hop.server in chain.servers:
        return None, "nothing was asked of it"
    return False, "no connection was evidence, no request logged"


def _versions(account: RequestLog, *, cut_off: bool) -> set[str]:
    """List the versions that a part tells; of a request that was cut off it may know none."""
    told = {request.http_version for request in account.requests if request.http_version}
    return told & set(get_args(HttpVersion)) if cut_off else told


def _spoken(account: RequestLog) -> str:
    counts = Counter(request.http_version for request in account.requests)
    said = [f"{count} request(s) HTTP/{version}" for version, count in sorted(counts.items())]
    return f"{', '.join(said)}, by {account.by}"


def _resets(hop: NetworkHop, evidence: AttemptEvidence, where: str, *, whole: bool) -> Check:
    """Check that nothing was broken off.

    Some answer a goodbye of TLS by a reset, for they have left by then: nothing is missing.
    """
    found = hop.far(evidence.connections)
    resets = sum(bool(connection["server_reset"]) for connection in found)
    figure = f"{len(found)} connection(s), {resets} reset by the {hop.server}"
    figure += ", when all had arrived" if resets and whole else ""
    return _check(
        f"connections not reset{where}",
        passed=whole or not resets,
        figure=figure,
        limit="none before all has arrived",
    )


def _tls(told: Sequence[RequestLog], where: str) -> Check:
    name, limit = f"TLS version{where}", f"TLS {TLS}"
    for account in told:
        found = Counter(_tls_words(request) for request in account.requests if request.tls_version)
        if found:
            figure = f"{', '.join(sorted(found))}, by {account.by}"
            passed = all(words.startswith(limit) for words in found)
            return _check(name, passed=passed, figure=figure, limit=limit)
    return _check(name, passed=None, figure=NOT_TOLD, limit=limit)


def _tls_words(request: LoggedRequest) -> str:
    version = request.tls_version.removeprefix("TLS").lstrip("v ")
    return f"TLS {version} {request.cipher}".rstrip()


def _connections(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Check over how many connections the client asked: files in parallel over one are not six."""
    first, workload = chain.hops[0], chain.workload
    count = len(first.opened(evidence.connections))
    if workload.kind == "page":
        return page.connections(chain, workload, count, where)
    moves = evidence.handover is not None and bool(evidence.handover.changes)
    if moves or (chain.roles.client.retry != "none" and retry.tries(chain, evidence) > 1):
        return retry.connections(chain, evidence, count, workload.connections, where)
    most = workload.connections
    exact = first.hop.http_version == "1.1"  # each carries a request at a time: all are needed
    return _check(
        f"connection count{where}",
        passed=count == most if exact else 1 <= count <= most,
        figure=f"{count}, by the packets",
        limit=f"{most}" if exact else f"at most {most}",
    )


def _resumption(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Check that what was asked came to pass, and that nothing was resumed unasked."""
    asked, name = chain.workload.resumption, f"resumption{where}"
    for account in request_logs.of_hop(chain.hops[0], chain, evidence):
        resumed = [one.resumed for one in account.requests if one.resumed is not None]
        early = [one.early_data for one in account.requests if one.early_data is not None]
        if resumed or (early and asked != "resumed"):
            figure = (
                f"{sum(resumed)} of {len(account.requests)} request(s) on a resumed connection,"
                f" {sum(early)} in early data, by {account.by}"
            )
            passed = _as_asked(asked, resumed, early)
            return _check(name, passed=passed, figure=figure, limit=asked)
    return _check(name, passed=None, figure=NOT_TOLD, limit=asked)


def _as_asked(asked: str, resumed: Sequence[bool], early: Sequence[bool]) -> bool | None:
    """Judge resumption; early data needs only one request in the first flight."""
    if asked == "none":
        return not any(resumed) and not any(early)
    if asked == "resumed":
        return all(resumed) and not any(early)
    if not all(resumed):
        return False
    return any(early) if early else None


def _passed_on(name: str, chain: Chain, evidence: AttemptEvidence) -> Check:
    """Check that a proxy met no difficulty: a retry or a reset stream is no clean completion."""
    requests = evidence.reports[name].requests
    passed_on = requests
    if chain.roles.client.retry != "none":
        passed_on = retry.not_left(requests)
    flags = sorted({one.flags for one in passed_on if one.flags})
    attempts = [one.attempts for one in requests if one.attempts is not None]
    most = max(attempts, default=0)
    tells = bool(flags or attempts)
    figure = f"flags: {', '.join(flags) or 'none'}; at most {most} attempt(s) upstream"
    if left := len(requests) - len(passed_on):
        figure += f"; {left} answer(s) that the client left"
    return _check(
        f"{name} passed on cleanly",
        passed=not flags and most <= 1 if tells else None,
        figure=figure if tells else "not observed: it tells neither flags nor attempts",
        limit="no flags, one attempt",
    )
