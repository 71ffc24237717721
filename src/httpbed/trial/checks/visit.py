"""Checks of the state in which a page load began: was it the visit that the trial's label says?

What a browser was told to do before is no evidence. The log of who answered says whether the
document's connection was there before, was resumed, or carried early data; the browser says what
it asked for before, and what its cache had. Only the document's connection is judged: over
HTTP/1.1 a browser opens further ones, as many of them resumed as it has tickets by then, and its
first one brings two or more (RFC 8446, section 4.6.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from httpbed.experiment.page import PageLoad
from httpbed.experiment.trial import Check
from httpbed.programs.protocol import LoggedRequest, ProgramReport
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain

DISCOVERED_FROM = "2"
"""The HTTP version in which a browser is told of HTTP/3."""
NOT_TOLD = "not observed: nobody tells"


def checks(
    chain: Chain, load: PageLoad, listed: int, evidence: AttemptEvidence, of: str = ""
) -> Iterator[Check]:
    """Check a browser's visit; ``listed`` is how many requests a cold load of its page makes.

    ``of`` names the client where there are several.
    """
    browser, log = evidence.reports[chain.client], evidence.reports[chain.responders[0]]
    yield _before(chain, load, browser, log, of)
    if not browser.requests:
        return
    document = _document(browser, log)
    if document is None and chain.responders[0] not in evidence.silent:
        yield _check(f"document in the log{of}", passed=False, figure="none", limit="1")
    yield _connection(load, document, log, of)
    yield _resumption(load, document, of)
    if load.visit == "repeat view":
        yield _cache(listed, browser.requests, of)


def discovers(chain: Chain) -> bool:
    """Whether a client comes in one version and is measured in another."""
    return chain.workload.kind == "page" and chain.workload.visit == "discovery"


def connections_before(load: PageLoad, origins: int, most: int) -> int:
    """Say how many connections there may be of the visit before, besides those of the page.

    ``most`` is how many a cold load may open. Who discovers HTTP/3 may begin a connection over TCP
    for each over QUIC, and goes on with whichever is there first.
    """
    if load.visit == "cold":
        return 0
    if load.visit == "repeat view":
        return most
    return origins + (most if load.visit == "discovery" else 0)


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="subject", passed=passed, figure=figure, limit=limit)


def _before(
    chain: Chain, load: PageLoad, browser: ProgramReport, log: ProgramReport, of: str
) -> Check:
    """Check in which HTTP version the browser was there before, by its word and by the log."""
    asked = DISCOVERED_FROM if discovers(chain) else chain.hops[0].hop.http_version
    told = [one for one in (browser.before, log.before) if one]
    spoken = Counter(one.http_version for one in browser.before or log.before)
    said = [f"{count} request(s) HTTP/{version}" for version, count in sorted(spoken.items())]
    name, figure = f"visit before{of}", ", ".join(said) or "none"
    if load.visit == "cold":
        return _check(name, passed=not told, figure=figure, limit="none")
    passed = bool(browser.before) and all(_all_in(asked, one) for one in told)
    return _check(name, passed=passed, figure=figure, limit=f"HTTP/{asked}")


def _all_in(version: str, requests: Sequence[LoggedRequest]) -> bool:
    return all(one.http_version == version for one in requests)


def _document(browser: ProgramReport, log: ProgramReport) -> LoggedRequest | None:
    """Find what the log has of the first request; None where it does not tell its paths."""
    first = browser.requests[0]
    named = (one for one in log.requests if one.path == first.path)
    return next((one for one in named if one.authority in {"", first.authority}), None)


def _connection(
    load: PageLoad, document: LoggedRequest | None, log: ProgramReport, of: str
) -> Check:
    """Check that the document came over a connection of before, or over none of those."""
    name, is_warm = f"connection of the document{of}", load.visit == "warm connection"
    limit = "the one of before" if is_warm else "a new one"
    if document is None or not document.connection:
        return _check(name, passed=None, figure=NOT_TOLD, limit=limit)
    was_there = document.connection in {one.connection for one in log.before}
    figure = "the one of before, by the log" if was_there else "a new one, by the log"
    return _check(name, passed=was_there == is_warm, figure=figure, limit=limit)


def _resumption(load: PageLoad, document: LoggedRequest | None, of: str) -> Check:
    """Check what the document's handshake made use of, and that nothing was resumed unasked."""
    name, asked = f"resumption{of}", load.resumption
    if document is None or (document.resumed is None and document.early_data is None):
        return _check(name, passed=None, figure=NOT_TOLD, limit=asked)
    used = (bool(document.resumed), bool(document.early_data))
    found = "early data" if used[1] else "resumed" if used[0] else "none"
    figure = f"{found}, by the log of the document"
    return _check(name, passed=found == asked, figure=figure, limit=asked)


def _cache(listed: int, asked: Sequence[LoggedRequest], of: str) -> Check:
    """Check that the browser had some of the page."""
    had = max(0, listed - len(asked))
    figure = f"{had} of {listed} resources"
    return _check(f"from the browser's cache{of}", passed=had > 0, figure=figure, limit="some")
