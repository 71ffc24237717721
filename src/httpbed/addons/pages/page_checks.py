"""Checks of a page load: all resources of this page, and no others, as browser and log report.

The site lists the requests of a cold load. Browser and server log list the requests that were made,
and must agree. A later visit may request less, because the browser's cache has some resources.

Checks of the state in which a page load began: prior visit, connection, resumption, cache.
The browser's options are no evidence. The server's log says whether the document's connection
already existed, was resumed or carried early data. The browser reports its earlier requests and its
cache. Only the document's connection is judged: over HTTP/1.1 a browser opens further ones, of
which it resumes as many as it has tickets (RFC 8446, section 4.6.1).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus

from httpbed.addons.pages.load.browser_load import SeenScreen
from httpbed.addons.pages.page import Device, PageLoad
from httpbed.addons.pages.page_check_table import (
    AGREEMENT,
    CACHED,
    DOCUMENT_CONNECTION,
    DOCUMENT_LOGGED,
    NOT_KNOWN,
    PAGE_BYTES,
    PAGE_REQUESTS,
    PRIOR_VISIT,
    SCREEN,
    SITE,
    UNANNOUNCED,
)
from httpbed.addons.pages.sites.site import Site
from httpbed.experiment.check import CONNECTION_COUNT, RESUMPTION, STATUS
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import PageVisit
from httpbed.programs.part import LoggedRequest, ProgramReport
from httpbed.trial import client_requests
from httpbed.trial.client_requests import RequestLog
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain

DIGITS = 12
"""Digits of a digest in a figure."""
MAX_NAMED = 3
"""Resources that a figure names; it counts the rest."""
FRAME = 9
"""Bytes of an HTTP/2 frame without a payload (RFC 9113, section 4.1)."""
MAX_PER_POOL = 6
"""Most connections that Chromium opens in one pool (``max_sockets_per_group``).

Over HTTP/1.1 it uses all of them. While it does not know that an origin speaks HTTP/2,
it opens one for each request, up to as many; the first that has agreed on HTTP/2 (ALPN, RFC 7301)
carries all requests, and the others are closed unused. Later requests wait 300 ms for it
(``kHTTP2ThrottleMs``). Over QUIC it opens one."""
BACKUP = 1
"""If a pool has no connection 250 ms after its first request, it opens a second one for it."""
CREDENTIALS = 2
"""Connection pools of a browser per origin: with credentials and, for fonts, without (Fetch
Standard, section 2.7)."""

HostAndPath = tuple[str, str]


def checks(
    chain: Chain, load: PageLoad, site: Site, evidence: AttemptEvidence, of: str
) -> Iterator[Check]:
    """Check what a browser fetched; ``of`` names the client where there are several."""
    report = evidence.reports[chain.client]
    browser = report.requests
    yield _site(load, site, of)
    yield _requests(browser, load, site, of)
    yield _statuses(browser, load, site, of)
    log = client_requests.of_server(chain.responders[0], evidence)
    if log.is_evidence:
        yield _agreement(browser, log, of)
    if log.requests:
        yield _bytes(browser, log, of)
    yield from _unannounced(browser, of)
    if report.remarks:
        figure = "; ".join(report.remarks)
        yield NOT_KNOWN.result(where=of, passed=None, figure=figure)


def connections(
    chain: Chain, site: Site, count: int, requests: Iterable[LoggedRequest], of: str
) -> Check:
    """Check how many connections the browser opened, and over how many it sent its requests.

    ``count`` is by the packets; ``requests`` are the browser's, with the connection of each.
    """
    visit = chain.workload.visit if isinstance(chain.workload, PageLoad) else "cold"
    version = chain.hops[0].http_version
    pools = _pools(site)
    most = _most_opened(version, site, pools) + _most_before(visit, site, pools, version)
    used = _most_used(requests)
    most_used = MAX_PER_POOL * pools if version == "1.1" else pools
    figure = f"{count}, by the packets"
    figure += f"; requests to one origin over {used}, by the browser" if used else ""
    return CONNECTION_COUNT.result(
        where=of,
        passed=count <= most and used <= most_used,
        figure=figure,
        limit=f"at most {most}; requests to one origin over {most_used}",
        measured=count,
    )


def _pools(site: Site) -> int:
    """Return how many pools of connections a browser may have for each origin of a page.

    A pool belongs to one choice of credentials and to one site of frames. Frames of other sites
    share one more.
    """
    documents = sum(resource.requested for resource in site.resources if "html" in resource.type)
    return CREDENTIALS * (2 if documents > 1 else 1)


def _most_opened(version: str, site: Site, pools: int) -> int:
    """Return the most connections of a cold load: the sum over all origins."""
    asked = Counter[str]()
    for host, _, number in site.expected():
        asked[host] += number
    most = {
        host: min(MAX_PER_POOL * pools, number + BACKUP * min(pools, number))
        for host, number in asked.items()
    }
    if version == "3":
        return len(most) * pools
    first = site.origins[0]
    if version == "2" and first in most:
        # The response of the document has told the browser the protocol, in this pool.
        most[first] = min(most[first], 1 + BACKUP + MAX_PER_POOL * (pools - 1))
    return sum(most.values())


def _most_before(visit: PageVisit, site: Site, pools: int, version: str) -> int:
    """Return how many connections the prior visit may add to those of the page.

    A browser that discovers HTTP/3 may open TCP connections beside each QUIC connection and use the
    faster ones.
    """
    if visit == "cold":
        return 0
    if visit == "repeat view":
        return _most_opened(version, site, pools)
    races = visit == "discovery"
    files = len(site.origins) * (1 if version == "3" and not races else 1 + BACKUP)
    return files + (_most_opened(DISCOVERED_FROM, site, pools) if races else 0)


def _unannounced(browser: Sequence[LoggedRequest], of: str) -> Iterator[Check]:
    """Name the origins that spoke HTTP/3 to the browser and never announced it."""
    answers = [request for request in browser if request.http_version == "3"]
    announced = {answer.authority for answer in answers if answer.announces_http3}
    silent = {answer.authority for answer in answers if answer.announces_http3 is False} - announced
    if silent:
        names = ", ".join(sorted(silent))
        figure = f"{names}: Chromium requests few resources of low priority at once from there"
        yield UNANNOUNCED.result(where=of, passed=None, figure=figure)


def _most_used(requests: Iterable[LoggedRequest]) -> int:
    """Return the most connections over which one origin got requests; 0 if none is reported."""
    used: dict[str, set[str]] = {}
    for request in requests:
        if request.connection:
            used.setdefault(request.authority, set()).add(request.connection)
    return max(map(len, used.values()), default=0)


def _site(load: PageLoad, site: Site, of: str) -> Check:
    """Compare the site's digest with the one in the trial's document."""
    digest, expected = site.digest, load.page.sha256
    figure = f"{site.name}, SHA-256 {digest[:DIGITS]}"
    passed, limit = expected in {None, digest}, expected[:DIGITS] if expected else ""
    return SITE.result(where=of, passed=passed, figure=figure, limit=limit)


def _requests(browser: Iterable[LoggedRequest], load: PageLoad, site: Site, of: str) -> Check:
    """Check that the browser requested all resources of the page and nothing else."""
    listed: Counter[HostAndPath] = Counter()
    for host, path, number in site.expected():  # a recorded site may list a path twice
        listed[host, path] += number
    requested = Counter(map(_named, browser))
    may_lack = load.visit == "repeat view"
    missing = Counter[HostAndPath]() if may_lack else listed - requested
    besides = requested - listed
    figure = f"{(requested & listed).total()} of {listed.total()}"
    figure += _some("missing", missing) + _some("not of the page", besides)
    limit = "only resources of the page" if may_lack else "all resources of the page"
    passed = not missing and not besides
    return PAGE_REQUESTS.result(
        where=of,
        passed=passed,
        figure=figure,
        limit=limit,
        measured=(requested & listed).total(),
    )


def _statuses(browser: Iterable[LoggedRequest], load: PageLoad, site: Site, of: str) -> Check:
    right = _statuses_of(site)
    wrong = Counter(
        (*_named(request), request.status)
        for request in browser
        if request.status not in right.get(_named(request), {HTTPStatus.OK})
        and not (load.visit == "repeat view" and request.status == HTTPStatus.NOT_MODIFIED)
    )
    first = [f"{status} of {path}" for _, path, status in list(wrong)[:MAX_NAMED]]
    figure = f"{wrong.total()} otherwise" + (f": {', '.join(first)}" if first else "")
    limit = "as recorded" if site.recorded else f"{HTTPStatus.OK}"
    return STATUS.result(where=of, passed=not wrong, figure=figure, limit=limit)


def _statuses_of(site: Site) -> Mapping[HostAndPath, set[int]]:
    """Map each resource to the statuses of its responses."""
    right: dict[HostAndPath, set[int]] = {}
    for resource in site.resources:
        status = resource.answer.status if resource.answer else HTTPStatus.OK
        right.setdefault((site.origins[resource.origin], resource.path), set()).add(status)
    return right


def _agreement(browser: Iterable[LoggedRequest], log: RequestLog, of: str) -> Check:
    """Check that browser and log list the same requests with protocol and status."""
    has_names = any(request.authority for request in log.requests)
    requested = Counter(_entry(request, has_names) for request in browser)
    logged = Counter(_entry(request, has_names) for request in log.requests)
    alone = (requested - logged) + (logged - requested)
    figure = f"{(requested & logged).total()} equal in the browser and {log.by}"
    figure += _some("in one only", Counter(path for _, path, *_ in alone.elements()))
    return AGREEMENT.result(
        where=of,
        passed=not alone,
        figure=figure,
        limit="all",
        measured=(requested & logged).total(),
    )


def _entry(one: LoggedRequest, has_names: bool) -> tuple[str, str, str, int]:
    return (one.authority if has_names else "", one.path, one.http_version, one.status)


def _bytes(browser: Sequence[LoggedRequest], log: RequestLog, of: str) -> Check:
    """Compare the bytes of all responses, header and body, as browser and log count them.

    A browser stops reading an image that it cannot decode, so a server may have sent more of it.
    """
    has_names = any(request.authority for request in log.requests)
    came, sent = (_wire_bytes(requests, has_names) for requests in (browser, log.requests))
    if came is None or sent is None:
        figure = "not observed: one of them does not report them"
        return PAGE_BYTES.result(where=of, passed=None, figure=figure)
    left = {_resource(request, has_names) for request in browser if request.client_left}
    ends = Counter(
        _resource(request, has_names) for request in log.requests if _may_end_alone(request)
    )
    wrong = [
        one
        for one in sorted(came.keys() | sent.keys())
        if not 0 <= sent[one] - came[one] <= (math.inf if one in left else FRAME * ends[one])
    ]
    figure = f"{came.total()} received, {sent.total()} sent, by {log.by}"
    figure += _some("broken images, perhaps not read to the end", Counter(sorted(left)))
    figure += _some("differ", Counter(wrong))
    return PAGE_BYTES.result(
        where=of, passed=not wrong, figure=figure, limit="equal", measured=came.total()
    )


def _wire_bytes(requests: Iterable[LoggedRequest], has_names: bool) -> Counter[HostAndPath] | None:
    """Return the bytes of each resource's responses; None if one does not have them."""
    found: Counter[HostAndPath] = Counter()
    for request in requests:
        if request.wire_bytes is None:
            return None
        found[_resource(request, has_names)] += request.wire_bytes
    return found


def _may_end_alone(one: LoggedRequest) -> bool:
    """Return whether a frame without data may end a response, which the browser does not count."""
    return one.http_version == "2" and one.body_bytes == 0


def _resource(one: LoggedRequest, has_names: bool) -> HostAndPath:
    return one.authority if has_names else "", one.path


def _named(one: LoggedRequest) -> HostAndPath:
    return one.authority, one.path


def _some(what: str, of: Counter[HostAndPath] | Counter[str]) -> str:
    """Name the first resources and count all."""
    if not of:
        return ""
    names = [one if isinstance(one, str) else one[1] for one in list(of)[:MAX_NAMED]]
    more = ", ..." if len(of) > MAX_NAMED else ""
    return f"; {of.total()} {what}: {', '.join(names)}{more}"


def screen_check(device: Device, seen: SeenScreen | None, of: str) -> Check:
    """Check the screen of a device by what a script saw of it."""
    limit = f"{device.viewport}, {device.pixel_ratio:g} pixels each, {device.user_agent}"
    if seen is None:
        return SCREEN.result(where=of, passed=None, figure="not observed", limit=limit)
    size = "x".join(map(str, seen.screen if device.mobile else seen.inner))
    figure = f"{size}, {seen.pixel_ratio:g} pixels each, {seen.user_agent}"
    is_same = math.isclose(seen.pixel_ratio, device.pixel_ratio, rel_tol=1e-3)
    passed = (size, seen.user_agent) == (device.viewport, device.user_agent) and is_same
    return SCREEN.result(where=of, passed=passed, figure=figure, limit=limit)


DISCOVERED_FROM = "2"
"""The HTTP version of the visit in which a browser discovers HTTP/3."""
NOT_REPORTED = "not observed: no log reports it"


def visit_checks(
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


def _before(
    chain: Chain, load: PageLoad, browser: ProgramReport, log: ProgramReport, of: str
) -> Check:
    """Check the HTTP version of the prior visit in the browser's report and in the log."""
    expected = DISCOVERED_FROM if chain.discovers else chain.hops[0].http_version
    reported = [one for one in (browser.before, log.before) if one]
    figure = client_requests.versions_in_words(browser.before or log.before) or "none"
    if load.visit == "cold":
        return PRIOR_VISIT.result(where=of, passed=not reported, figure=figure, limit="none")
    passed = bool(browser.before) and all(_all_in(expected, one) for one in reported)
    return PRIOR_VISIT.result(where=of, passed=passed, figure=figure, limit=f"HTTP/{expected}")


def _all_in(version: str, requests: Sequence[LoggedRequest]) -> bool:
    return all(request.http_version == version for request in requests)


def _document(browser: ProgramReport, log: ProgramReport) -> LoggedRequest | None:
    """Return the first request's entry in the log; None where the log has no paths."""
    first = browser.requests[0]
    named = (request for request in log.requests if request.path == first.path)
    return next((request for request in named if request.authority in {"", first.authority}), None)


def _connection(
    load: PageLoad, document: LoggedRequest | None, log: ProgramReport, of: str
) -> Check:
    """Check whether the document came over a connection of the prior visit."""
    is_warm = load.visit == "warm connection"
    limit = "the earlier one" if is_warm else "a new one"
    if document is None or not document.connection:
        return DOCUMENT_CONNECTION.result(where=of, passed=None, figure=NOT_REPORTED, limit=limit)
    was_there = document.connection in {request.connection for request in log.before}
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
