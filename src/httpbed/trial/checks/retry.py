"""Checks of a download with retries: its responses, its range requests and its connections.

An interrupted attempt is no fault of the server: the client left or lost its connection. The body's
digest says whether the client assembled the whole file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from http import HTTPStatus

from httpbed.experiment.check import CONNECTION_COUNT, STATUS
from httpbed.experiment.trial import Check
from httpbed.programs.protocol import LoggedRequest
from httpbed.trial import request_logs
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain
from httpbed.trial.request_logs import RequestLog

PARTIAL = HTTPStatus.PARTIAL_CONTENT
NOTHING_MISSING = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
STATUSES = {
    "restart": frozenset({HTTPStatus.OK}),
    "resume": frozenset({HTTPStatus.OK, PARTIAL, NOTHING_MISSING}),
}
"""Statuses that each kind of retry allows: the file, its rest, or that nothing is missing (RFC 9110
section 15.5.17)."""


def statuses(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Check that there was a response, and the status of every one that a log lists.

    A server that has not noticed that its client left has not logged the request.
    """
    retry = chain.roles.client.retry
    accepted = STATUSES[retry]
    logs = [log for log in request_logs.of_chain(chain, evidence) if log.is_evidence]
    wrong = [log for log in logs if not _is_right(log, accepted)]
    unreadable = request_logs.complaints(chain.responders, evidence)
    fullest = sorted(wrong or logs, key=lambda one: len(one.requests), reverse=True)
    figure = fullest[0].statuses_in_words() if fullest else "none"
    passed: bool | None = bool(logs) and not wrong and not unreadable
    if passed and retry == "resume" and (besides := _not_resumed(logs)):
        passed, figure = None, f"{figure}; {besides}"
    limit = f"{', '.join(map(str, sorted(accepted)))}, of each attempt"
    return STATUS.result(where=where, passed=passed, figure=figure, limit=limit)


def _is_right(log: RequestLog, accepted: frozenset[int]) -> bool:
    """Whether a log has only accepted statuses, and not 416 alone."""
    answered = {one.status for one in not_left(log.requests)}
    return bool(answered) and answered <= accepted and answered != {NOTHING_MISSING}


def _not_resumed(logs: Sequence[RequestLog]) -> str:
    """Return why the logs do not show a resumed download; empty if they do.

    A server sends 206 only for a range request, and no client requests a range from the first byte.
    So a 206 is the rest of a file.
    """
    answered = [one for log in logs for one in log.requests]
    statuses = {one.status for one in answered}
    if PARTIAL in statuses and HTTPStatus.OK not in statuses:
        return "no log lists the response that it continues"
    begun = max(sum(bool(one.body_bytes) for one in log.requests) for log in logs)
    if begun > 1 and PARTIAL not in statuses:
        return f"{begun} responses from the first byte on, and none resumed"
    return ""


def attempts(chain: Chain, evidence: AttemptEvidence) -> int:
    """Return the least number of requests: the client's runs, or the responses in a log."""
    if chain.roles.client.retry == "none":
        return 1
    answered = [len(log.requests) for log in request_logs.of_chain(chain, evidence)]
    runs = evidence.exits[chain.client].runs if chain.client in evidence.exits else 1
    return max(runs, *answered)


def connections(
    chain: Chain, evidence: AttemptEvidence, count: int, most: int, where: str
) -> Check:
    """Check that the client opened a connection, and at most one more per retry and hand-over.

    Over HTTP/1.1 a program that retries by itself may open any number.
    """
    first = chain.hops[0]
    most *= (evidence.moves or 0) + attempts(chain, evidence)
    is_bounded = first.http_version != "1.1"
    return CONNECTION_COUNT.result(
        where=where,
        passed=1 <= count <= most if is_bounded else count >= 1,
        figure=f"{count}, by the packets",
        limit=f"at most {most}" if is_bounded else "at least 1",
    )


def not_left(requests: Iterable[LoggedRequest]) -> tuple[LoggedRequest, ...]:
    """Leave out the requests whose client left; their end is no fault of a proxy."""
    return tuple(one for one in requests if not one.client_left)
