"""Checks of a page load: all resources of this page, and no others, as browser and log report.

The site lists the requests of a cold load. Browser and server log list the requests that were made,
and must agree. A later visit may request less, because the browser's cache has some resources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus

from httpbed.addons.pages import visit_checks as visit
from httpbed.addons.pages.page import PageLoad
from httpbed.addons.pages.sites.site import Site
from httpbed.experiment.check import (
    AGREEMENT,
    CONNECTION_COUNT,
    NOT_KNOWN,
    PAGE_BYTES,
    PAGE_REQUESTS,
    SITE,
    STATUS,
)
from httpbed.experiment.trial import Check
from httpbed.programs.protocol import LoggedRequest
from httpbed.trial import request_logs
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain
from httpbed.trial.request_logs import RequestLog

DIGITS = 12
"""Digits of a digest in a figure."""
MOST_NAMED = 3
"""Resources that a figure names; it counts the rest."""
H1_CONNECTIONS = 6
"""Most connections that a browser opens to an origin over HTTP/1.1."""
POOLS = 2
"""Connection pools of a browser per origin: with credentials and, for fonts, without (Fetch
Standard, section 2.7)."""

HostAndPath = tuple[str, str]
"""Host name and path."""


def checks(
    chain: Chain, load: PageLoad, site: Site, evidence: AttemptEvidence, of: str
) -> Iterator[Check]:
    """Check what a browser fetched; ``of`` names the client where there are several."""
    report = evidence.reports[chain.client]
    browser = report.requests
    yield _site(load, site, of)
    yield _requests(browser, load, site, of)
    yield _statuses(browser, load, site, of)
    log = request_logs.of_server(chain.responders[0], evidence)
    if log.is_evidence:
        yield _agreement(browser, log, of)
    if log.requests:
        yield _bytes(browser, log, of)
    if report.remarks:
        figure = "; ".join(report.remarks)
        yield NOT_KNOWN.result(where=of, passed=None, figure=figure)


def connections(chain: Chain, load: PageLoad, count: int, of: str) -> Check:
    """Check that the client opened no more connections than a browser of that protocol does."""
    origins = len(load.page.origins or [""])
    each = H1_CONNECTIONS if chain.hops[0].http_version == "1.1" else 1
    most = each * POOLS * origins
    most += visit.connections_before(load, origins, most)
    figure = f"{count}, by the packets"
    limit = f"at most {most}"
    return CONNECTION_COUNT.result(
        where=of, passed=count <= most, figure=figure, limit=limit, measured=count
    )


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
        (*_named(one), one.status)
        for one in browser
        if one.status not in right.get(_named(one), {HTTPStatus.OK})
        and not (load.visit == "repeat view" and one.status == HTTPStatus.NOT_MODIFIED)
    )
    first = [f"{status} of {path}" for _, path, status in list(wrong)[:MOST_NAMED]]
    figure = f"{wrong.total()} otherwise" + (f": {', '.join(first)}" if first else "")
    limit = "as recorded" if site.recorded else f"{HTTPStatus.OK}"
    return STATUS.result(where=of, passed=not wrong, figure=figure, limit=limit)


def _statuses_of(site: Site) -> Mapping[HostAndPath, set[int]]:
    """Map each resource to the statuses of its responses."""
    right: dict[HostAndPath, set[int]] = {}
    for one in site.resources:
        status = one.answer.status if one.answer else HTTPStatus.OK
        right.setdefault((site.origins[one.origin], one.path), set()).add(status)
    return right


def _agreement(browser: Iterable[LoggedRequest], log: RequestLog, of: str) -> Check:
    """Check that browser and log list the same requests with protocol and status."""
    has_names = any(one.authority for one in log.requests)
    requested = Counter(_entry(one, has_names) for one in browser)
    logged = Counter(_entry(one, has_names) for one in log.requests)
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


def _bytes(browser: Iterable[LoggedRequest], log: RequestLog, of: str) -> Check:
    """Compare the bytes of all responses, header and body, as browser and log count them."""
    came, sent = _wire_bytes(browser), _wire_bytes(log.requests)
    if came is None or sent is None:
        figure = "not observed: one of them does not report them"
        return PAGE_BYTES.result(where=of, passed=None, figure=figure)
    figure = f"{came} received, {sent} sent, by {log.by}"
    return PAGE_BYTES.result(
        where=of, passed=came == sent, figure=figure, limit="equal", measured=came
    )


def _wire_bytes(requests: Iterable[LoggedRequest]) -> int | None:
    sizes = [one.wire_bytes for one in requests]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _named(one: LoggedRequest) -> HostAndPath:
    return one.authority, one.path


def _some(what: str, of: Counter[HostAndPath] | Counter[str]) -> str:
    """Name the first resources and count all."""
    if not of:
        return ""
    names = [one if isinstance(one, str) else one[1] for one in list(of)[:MOST_NAMED]]
    more = ", ..." if len(of) > MOST_NAMED else ""
    return f"; {of.total()} {what}: {', '.join(names)}{more}"
