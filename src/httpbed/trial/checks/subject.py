"""Checks of the subject: did those who take part do what the trial asked of them?

One that is broken makes the outcome failed. It is counted, and never tried again.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.experiment.trial import Check
from httpbed.experiment.workload import Download
from httpbed.host.sandbox.spec import Exit
from httpbed.trial import request_logs
from httpbed.trial.checks import link_bounds, page, protocol, replay, retry, visit
from httpbed.trial.content import Content, targets
from httpbed.trial.evidence import AttemptEvidence, Body
from httpbed.trial.hops import Chain
from httpbed.web.sites.catalog import CachedSite
from httpbed.web.sites.site import Site

HTTP_OK = 200


@dataclass(frozen=True)
class ServedContent:
    """What there was to fetch."""

    contents: Mapping[str, Content]
    """The files by their paths."""
    sites: Mapping[str, CachedSite]
    """The sites of pages by their keys."""
    stores: Collection[str]
    """Names of the clients that keep what they fetch."""


def checks(
    chains: Sequence[Chain], served: ServedContent, evidence: AttemptEvidence
) -> Iterator[Check]:
    """Check one attempt at a trial with these clients."""
    yield from _answering(chains, evidence)
    yield _folders(evidence)
    yield from link_bounds.of_subject(chains, evidence)
    yield from _visits(evidence)
    for chain in chains if evidence.client else ():
        ended_well = _client(chain, evidence)
        yield ended_well
        of = f", {chain.client}" if len(chains) > 1 else ""
        if evidence.is_cut_off(chain.client):
            if chain.client not in evidence.stopped:
                yield from map(_of_cut_off, _fetched(chain, served, evidence, of))
            yield from protocol.spoken(chain, evidence, of)
        elif chain.client in evidence.exits:
            fetched = [*_fetched(chain, served, evidence, of)]
            yield from fetched
            whole = all(check.passed is not False for check in (ended_well, *fetched))
            yield from protocol.checks(chain, evidence, of, whole=whole)


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="subject", passed=passed, figure=figure, limit=limit)


def _of_cut_off(check: Check) -> Check:
    """Tell what had arrived by the time limit, and blame nobody for the rest."""
    return check if check.passed else check.model_copy(update={"passed": None})


def _answering(chains: Sequence[Chain], evidence: AttemptEvidence) -> Iterator[Check]:
    """Check that servers and proxies were there; where one never was, the others do not matter."""
    names = [name for chain in chains for name in reversed(chain.responders)]
    for name in evidence.failures or (names if evidence.client else ()):
        ran = name in evidence.survivors and name not in evidence.failures
        figure = "ran until the client was done" if ran else _early(name, evidence)
        figure = evidence.failures.get(name, figure)
        yield _check(f"{name} ran", passed=ran, figure=figure)


def _early(name: str, evidence: AttemptEvidence) -> str:
    """Say how a server or proxy ended too early, where that is known."""
    ended = evidence.exits.get(name)
    how = f" ({_end(ended, evidence)})" if ended and not ended.clean else ""
    return f"ended before the client did{how}"


def _end(ended: Exit, evidence: AttemptEvidence) -> str:
    """Say how a program ended; the kernel tells of those that it killed, and not which."""
    if ended.signal == signal.SIGKILL and evidence.killed_for_memory and not ended.ended_for:
        return f"{ended}, when the kernel killed {evidence.killed_for_memory} for want of memory"
    return str(ended)


def _folders(evidence: AttemptEvidence) -> Check:
    """Check that each part left its folder as files that can be read."""
    wrong = [f"{name} {what}" for name, what in evidence.disorder.items()]
    figure = "; ".join(wrong) or "plain files in each"
    return _check("parts' folders", passed=not wrong, figure=figure)


def _visits(evidence: AttemptEvidence) -> Iterator[Check]:
    for name, ended in evidence.exits.items():
        if name.endswith("-prior"):
            yield _check(
                f"{name} ended well", passed=ended.clean, figure=str(ended), limit="exit status 0"
            )


def _client(chain: Chain, evidence: AttemptEvidence) -> Check:
    name, ended = f"{chain.client} ended well", evidence.exits.get(chain.client)
    if ended is None:
        return _check(name, passed=None, figure="had not begun when the client was done")
    if chain.client in evidence.stopped:
        return _check(name, passed=None, figure="was stopped at work when the client was done")
    complaint = evidence.reports[chain.client].complaint
    figure = _end(ended, evidence) + (f": {complaint}" if complaint else "")
    passed = ended.clean and not complaint
    return _check(name, passed=passed, figure=figure, limit="exit status 0")


def _fetched(
    chain: Chain, served: ServedContent, evidence: AttemptEvidence, where: str
) -> Iterator[Check]:
    if chain.workload.kind == "page":
        site = served.sites[chain.workload.key].site
        yield from page.checks(chain, chain.workload, site, evidence, where)
        yield from visit.checks(chain, chain.workload, site.requests(), evidence, where)
        if site.recorded:
            yield from _recorded(chain, site, evidence, where)
    else:
        yield from _files(chain, chain.workload, served, evidence, where)


def _recorded(chain: Chain, site: Site, evidence: AttemptEvidence, where: str) -> Iterator[Check]:
    replayed = [one for name in chain.servers for one in evidence.replayed[name]]
    logged = [one for name in chain.servers for one in evidence.reports[name].requests]
    yield replay.punctual(site, replayed, where)
    yield from replay.checks(site, logged, replayed, where)


def _files(
    chain: Chain, workload: Download, served: ServedContent, evidence: AttemptEvidence, where: str
) -> Iterator[Check]:
    retried = chain.roles.client.retry != "none"
    yield (retry.answers if retried else _answers)(chain, evidence, where)
    asked = [served.contents[target.path] for target in targets(workload)]
    if workload.rounds > 1 or chain.client not in served.stores:
        yield _lengths(chain, workload.size, evidence, where)
    if chain.client in served.stores:
        stored = evidence.bodies.get(chain.client, [])
        yield _bodies(asked, stored, workload.rounds, where)


def _answers(chain: Chain, evidence: AttemptEvidence, where: str) -> Check:
    """Check every answer's status, by whoever tells: exactly as many as were asked for.

    A log without any of them is wrong, too, where its program keeps one: what it would have told,
    retries and resets among it, was lost.
    """
    asked = chain.workload.requests()
    name = "status of the one answer" if asked == 1 else "status of the answers"
    limit = f"{HTTP_OK}" if asked == 1 else f"{asked} of {HTTP_OK}"
    every = request_logs.of_chain(chain, evidence)
    told = [account for account in every if account.requests or account.is_owed]
    wrong = [one for one in told if one.statuses() != {HTTP_OK: asked}]
    unreadable = request_logs.complaints(chain.responders, evidence)
    return _check(
        name + where,
        passed=bool(told) and not wrong and not unreadable,
        figure=(wrong or told)[0].statuses_told() if told else "none",
        limit=limit,
    )


def _lengths(chain: Chain, size: int, evidence: AttemptEvidence, where: str) -> Check:
    """Check every round by the length of its answers, for later bodies replace earlier ones."""
    name = f"length of the answers{where}"
    limit = f"{size} bytes each"
    for told in request_logs.of_chain(chain, evidence):
        lengths = [one.body_bytes for one in told.requests if one.body_bytes is not None]
        if lengths:
            break
    else:
        return _check(name, passed=None, figure=protocol.NOT_TOLD, limit=limit)
    others = sum(length != size for length in lengths)
    figure = f"{others} of {len(lengths)} of another length, by {told.by}"
    return _check(name, passed=not others, figure=figure, limit=limit)


def _bodies(
    asked: Sequence[Content], stored: Sequence[Body | None], rounds: int, where: str
) -> Check:
    if len(asked) == 1:
        name, limit = "body as served", f"{asked[0].size} bytes, SHA-256 {asked[0].sha256[:12]}"
    else:
        name, limit = "bodies as served", f"{len(asked)} files of {asked[0].size} bytes, by SHA-256"
    limit += " (of the last round)" if rounds > 1 else ""
    pairs = list(zip(asked, [*stored, *[None] * len(asked)], strict=False))
    wrong = [body for content, body in pairs if not _is(content, body)]
    if len(asked) > 1:
        figure = f"{len(asked) - len(wrong)} files as served"
        figure += f"; {_told(wrong[0])}" if wrong else ""
    else:
        figure = _told(pairs[0][1])
    return _check(name + where, passed=not wrong, figure=figure, limit=limit)


def _is(content: Content, body: Body | None) -> bool:
    """Whether a client stored a file as it is; some store nothing of one that is empty."""
    if body is None:
        return content.size == 0
    return bool(body["sha256"] == content.sha256 and body["bytes"] == content.size)


def _told(body: Body | None) -> str:
    if body is None:
        return "the client stored nothing"
    return f"{body['bytes']} bytes, SHA-256 {body['sha256'][:12]}"
