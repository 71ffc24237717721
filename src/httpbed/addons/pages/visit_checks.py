"""Checks of the state in which a page load began: prior visit, connection, resumption, cache.

The browser's options are no evidence. The server's log says whether the document's connection
already existed, was resumed or carried early data. The browser reports its earlier requests and its
cache. Only the document's connection is judged: over HTTP/1.1 a browser opens further ones, of
which it resumes as many as it has tickets (RFC 8446, section 4.6.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from httpbed.addons.pages.page import PageLoad
from httpbed.experiment.check import (
    CACHED,
    DOCUMENT_CONNECTION,
    DOCUMENT_LOGGED,
    PRIOR_VISIT,
    RESUMPTION,
)
from httpbed.experiment.trial import Check
from httpbed.programs.protocol import LoggedRequest, ProgramReport
from httpbed.trial import request_logs
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain

DISCOVERED_FROM = "2"
"""The HTTP version of the visit in which a browser discovers HTTP/3."""
NOT_REPORTED = "not observed: no log reports it"


def checks(
    chain: Chain, load: PageLoad, listed: int, evidence: AttemptEvidence, of: str = ""
) -> Iterator[Check]:
    """Check a browser's visit.

    ``listed`` is the number of requests of a cold load; ``of`` names the client where there are
    several.
    """
    browser, log = evidence.reports[chain.client], evidence.reports[chain.responders[0]]
    yield _before(chain, load, browser, log, of)
    if not browser.requests:
        return
    document = _document(browser, log)
    if document is None and chain.responders[0] not in evidence.silent:
        yield DOCUMENT_LOGGED.result(where=of, passed=False, figure="none", limit="1")
    yield _connection(load, document, log, of)
    yield _resumption(load, document, of)
    if load.visit == "repeat view":
        yield _cache(listed, browser.requests, of)


def connections_before(load: PageLoad, origins: int, most: int) -> int:
    """Return how many connections the prior visit may add to those of the page.

    ``most`` is how many a cold load may open. A browser that discovers HTTP/3 may open a TCP
    connection beside each QUIC connection and use the faster one.
    """
    if load.visit == "cold":
        return 0
    if load.visit == "repeat view":
        return most
    return origins + (most if load.visit == "discovery" else 0)


def _before(
    chain: Chain, load: PageLoad, browser: ProgramReport, log: ProgramReport, of: str
) -> Check:
    """Check the HTTP version of the prior visit in the browser's report and in the log."""
    expected = DISCOVERED_FROM if chain.discovers else chain.hops[0].http_version
    reported = [one for one in (browser.before, log.before) if one]
    figure = request_logs.versions_in_words(browser.before or log.before) or "none"
    if load.visit == "cold":
        return PRIOR_VISIT.result(where=of, passed=not reported, figure=figure, limit="none")
    passed = bool(browser.before) and all(_all_in(expected, one) for one in reported)
    return PRIOR_VISIT.result(where=of, passed=passed, figure=figure, limit=f"HTTP/{expected}")


def _all_in(version: str, requests: Sequence[LoggedRequest]) -> bool:
    return all(one.http_version == version for one in requests)


def _document(browser: ProgramReport, log: ProgramReport) -> LoggedRequest | None:
    """Return the first request's entry in the log; None where the log has no paths."""
    first = browser.requests[0]
    named = (one for one in log.requests if one.path == first.path)
    return next((one for one in named if one.authority in {"", first.authority}), None)


def _connection(
    load: PageLoad, document: LoggedRequest | None, log: ProgramReport, of: str
) -> Check:
    """Check whether the document came over a connection of the prior visit."""
    is_warm = load.visit == "warm connection"
    limit = "the earlier one" if is_warm else "a new one"
    if document is None or not document.connection:
        return DOCUMENT_CONNECTION.result(where=of, passed=None, figure=NOT_REPORTED, limit=limit)
    was_there = document.connection in {one.connection for one in log.before}
    figure = "the earlier one, by the log" if was_there else "a new one, by the log"
    passed = was_there == is_warm
    return DOCUMENT_CONNECTION.result(where=of, passed=passed, figure=figure, limit=limit)


def _resumption(load: PageLoad, document: LoggedRequest | None, of: str) -> Check:
    """Check what the document's handshake resumed; a cold load must resume nothing."""
    expected = load.resumes
    if document is None or (document.resumed is None and document.early_data is None):
        return RESUMPTION.result(where=of, passed=None, figure=NOT_REPORTED, limit=expected)
    used = (bool(document.resumed), bool(document.early_data))
    observed = "early data" if used[1] else "resumed" if used[0] else "none"
    figure = f"{observed}, by the log of the document"
    passed = observed == expected
    return RESUMPTION.result(where=of, passed=passed, figure=figure, limit=expected)


def _cache(listed: int, requests: Sequence[LoggedRequest], of: str) -> Check:
    """Check that the browser took some resources from its cache."""
    had = max(0, listed - len(requests))
    figure = f"{had} of {listed} resources"
    return CACHED.result(where=of, passed=had > 0, figure=figure, limit="some", measured=had)
