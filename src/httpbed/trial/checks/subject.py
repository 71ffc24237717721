"""Checks of the programs under test: whether they ran, ended well and delivered what was asked.

A broken one makes the outcome failed. A failed trial counts and is never repeated.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from httpbed.bed.sandbox.sandbox_spec import Exit
from httpbed.experiment.check import (
    BODIES,
    BODY,
    ENDED_WELL,
    FOLDERS,
    LENGTHS,
    RAN,
    STATUS,
    STATUS_OF_ONE,
)
from httpbed.experiment.check_descriptor import CheckDescriptor
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import Download
from httpbed.trial import parts, request_logs
from httpbed.trial.checks import protocol, retry
from httpbed.trial.content import Content, targets
from httpbed.trial.evidence import AttemptEvidence, Body
from httpbed.trial.hops import Chain

if TYPE_CHECKING:  # it imports this module
    from httpbed.trial.checks.registry import JudgedAttempt


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
    visits = {parts.prior_visit_name(chain.client) for chain in chains}
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
    if isinstance(chain.workload, Download):
        yield from _files(chain, chain.workload, attempt, where)
    for one in attempt.added:
        yield from one.checks_of_fetched(chain, where)


def _files(chain: Chain, workload: Download, attempt: JudgedAttempt, where: str) -> Iterator[Check]:
    evidence, stores = attempt.evidence, attempt.stores_bodies(chain.client)
    retried = chain.roles.client.retry != "none"
    yield (retry.statuses if retried else _statuses)(chain, evidence, where)
    contents = [attempt.setup.contents[target.path] for target in targets(workload)]
    if workload.rounds > 1 or not stores:
        yield _lengths(chain, workload.size, evidence, where)
    if stores:
        stored = evidence.bodies.get(chain.client, [])
        yield _bodies(contents, stored, workload.rounds, where)


def _statuses(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Check the status of every response: each log has exactly one 200 per request.

    An empty log of a program that keeps one is wrong, too: its records, perhaps of retries and
    resets, were lost.
    """
    requests = chain.workload.requests()
    descriptor = STATUS_OF_ONE if requests == 1 else STATUS
    limit = f"{HTTPStatus.OK}" if requests == 1 else f"{requests} of {HTTPStatus.OK}"
    every = request_logs.of_chain(chain, evidence)
    logs = [log for log in every if log.is_evidence]
    wrong = [log for log in logs if log.statuses() != {HTTPStatus.OK: requests}]
    unreadable = request_logs.complaints(chain.responders, evidence)
    return descriptor.result(
        where=where,
        passed=bool(logs) and not wrong and not unreadable,
        figure=(wrong or logs)[0].statuses_in_words() if logs else "none",
        limit=limit,
    )


def _lengths(chain: Chain, size: int, evidence: AttemptEvidence, where: str) -> Check:
    """Check every round by the length of its bodies, because later bodies replace earlier ones."""
    limit = f"{size} bytes each"
    for log in request_logs.of_chain(chain, evidence):
        lengths = [one.body_bytes for one in log.requests if one.body_bytes is not None]
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
    contents: Sequence[Content], stored: Sequence[Body | None], rounds: int, where: str
) -> Check:
    descriptor: CheckDescriptor = BODY if len(contents) == 1 else BODIES
    if len(contents) == 1:
        limit = f"{contents[0].size} bytes, SHA-256 {contents[0].sha256[:12]}"
    else:
        limit = f"{len(contents)} files of {contents[0].size} bytes, by SHA-256"
    limit += " (of the last round)" if rounds > 1 else ""
    pairs = list(zip(contents, [*stored, *[None] * len(contents)], strict=False))
    wrong = [body for content, body in pairs if not _is(content, body)]
    if len(contents) > 1:
        figure = f"{len(contents) - len(wrong)} files as served"
        figure += f"; {_in_words(wrong[0])}" if wrong else ""
    else:
        figure = _in_words(pairs[0][1])
    return descriptor.result(where=where, passed=not wrong, figure=figure, limit=limit)


def _is(content: Content, body: Body | None) -> bool:
    """Whether a client stored a file unchanged; some clients store no empty file."""
    if body is None:
        return content.size == 0
    return bool(body["sha256"] == content.sha256 and body["bytes"] == content.size)


def _in_words(body: Body | None) -> str:
    if body is None:
        return "the client stored nothing"
    return f"{body['bytes']} bytes, SHA-256 {body['sha256'][:12]}"
