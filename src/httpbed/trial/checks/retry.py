"""What is to be found of a download that was tried again: several answers, and who resumed.

A try that broke off is no fault of who answered: the client left, or was cut off. Whether what it
put together is the file, whole, is told by the body's digest, as always.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from httpbed.experiment.trial import Check
from httpbed.programs.protocol import LoggedRequest
from httpbed.trial import request_logs
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain
from httpbed.trial.request_logs import RequestLog

HTTP_OK, PARTIAL, NOTHING_MISSING = 200, 206, 416
STATUSES = {
    "restart": frozenset({HTTP_OK}),
    "resume": frozenset({HTTP_OK, PARTIAL, NOTHING_MISSING}),
}
"""What may be answered: a file, the rest of one, or that nothing is missing (RFC 9110 section
15.5.17), by what is done about a failure."""


def answers(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Check the status of every answer, by whoever tells, and that there was one.

    Who answered may not have noticed by the end that its client left, and has not logged it then.
    """
    retry = chain.roles.client.retry
    accepted = STATUSES[retry]
    told = [one for one in request_logs.of_chain(chain, evidence) if one.requests or one.is_owed]
    wrong = [account for account in told if not _is_right(account, accepted)]
    unreadable = request_logs.complaints(chain.responders, evidence)
    fullest = sorted(wrong or told, key=lambda one: len(one.requests), reverse=True)
    figure = fullest[0].statuses_told() if fullest else "none"
    passed: bool | None = bool(told) and not wrong and not unreadable
    if passed and retry == "resume" and (besides := _not_resumed(told)):
        passed, figure = None, f"{figure}; {besides}"
    return Check(
        name=f"status of the answers{where}",
        of="subject",
        passed=passed,
        figure=figure,
        limit=f"{', '.join(map(str, sorted(accepted)))}, of each try",
    )


def _is_right(account: RequestLog, accepted: frozenset[int]) -> bool:
    """Whether its answers are such; that nothing is missing is said to who has something."""
    answered = {one.status for one in not_left(account.requests)}
    return bool(answered) and answered <= accepted and answered != {NOTHING_MISSING}


def _not_resumed(told: Sequence[RequestLog]) -> str:
    """Say why it cannot be told that a client resumed, or began; empty if it did.

    A range is only answered where it was asked for, and to ask for one from the first byte on no
    client needs: a 206 is the rest of a file.
    """
    answered = [one for account in told for one in account.requests]
    statuses = {one.status for one in answered}
    if PARTIAL in statuses and HTTP_OK not in statuses:
        return "nobody tells of the answer that it goes on from"
    begun = max(sum(bool(one.body_bytes) for one in account.requests) for account in told)
    if begun > 1 and PARTIAL not in statuses:
        return f"{begun} answers from the first byte on, and none resumed"
    return ""


def tries(chain: Chain, evidence: AttemptEvidence) -> int:
    """Count how often the client asked, at least: its runs, or the answers that anybody tells."""
    if chain.roles.client.retry == "none":
        return 1
    answered = [len(account.requests) for account in request_logs.of_chain(chain, evidence)]
    runs = evidence.exits[chain.client].runs if chain.client in evidence.exits else 1
    return max(runs, *answered)


def connections(
    chain: Chain, evidence: AttemptEvidence, count: int, most: int, where: str
) -> Check:
    """Check that the client opened a connection, and no more than it may have had to.

    A new one for each later try, and for each hand-over; over HTTP/1.1 a program that tries again
    by itself may have opened any number.
    """
    first = chain.hops[0]
    changes = len(evidence.handover.changes) if evidence.handover is not None else 0
    most *= changes + tries(chain, evidence)
    is_bounded = first.hop.http_version != "1.1"
    return Check(
        name=f"connection count{where}",
        of="subject",
        passed=1 <= count <= most if is_bounded else count >= 1,
        figure=f"{count}, by the packets",
        limit=f"at most {most}" if is_bounded else "at least 1",
    )


def not_left(requests: Iterable[LoggedRequest]) -> tuple[LoggedRequest, ...]:
    """Leave out the requests whose client left: what became of them is no fault of a proxy."""
    return tuple(one for one in requests if not one.client_left)
