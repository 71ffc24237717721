"""Checks of a page load: was it this page, whole, over the protocol asked, from this server only?

The site lists what a cold load asks for. The browser tells what it asked for and got, request by
request, and so does the log of who answered: what only one of them knows was not what the trial's
label says. A later visit may ask for less, for the browser's cache has some of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from httpbed.experiment.page import PageLoad
from httpbed.experiment.trial import Check
from httpbed.programs.protocol import LoggedRequest
from httpbed.trial import request_logs
from httpbed.trial.checks import visit
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain
from httpbed.trial.request_logs import RequestLog
from httpbed.web.sites.site import Site

HTTP_OK, NOT_MODIFIED = 200, 304
DIGITS = 12
"""Of a digest that a figure shows."""
MOST_NAMED = 3
"""Resources that a figure names; the rest are counted."""
H1_CONNECTIONS = 6
"""That browsers open to an origin at the most over HTTP/1.1."""
POOLS = 2
"""Of connections that a browser has for an origin: with credentials and, for fonts, without (Fetch
Standard, section 2.7: connections are partitioned by them)."""

Named = tuple[str, str]
"""Host name and path."""


def checks(
    chain: Chain, load: PageLoad, site: Site, evidence: AttemptEvidence, of: str
) -> Iterator[Check]:
    """Check what a browser fetched; ``of`` names it where there are several clients."""
    findings = evidence.reports[chain.client]
    browser = findings.requests
    yield _site(load, site, of)
    yield _requests(browser, load, site, of)
    yield _statuses(browser, load, site, of)
    log = request_logs.answered(chain.responders[0], evidence)
    if log.requests or log.is_owed:
        yield _agreement(browser, log, of)
    if log.requests:
        yield _bytes(browser, log, of)
    if findings.remarks:
        yield _check(f"not known of the load{of}", passed=None, figure="; ".join(findings.remarks))


def connections(chain: Chain, load: PageLoad, count: int, of: str) -> Check:
    """Check that there were no more connections than a browser of that protocol opens."""
    origins = len(load.page.origins or [""])
    each = H1_CONNECTIONS if chain.hops[0].hop.http_version == "1.1" else 1
    most = each * POOLS * origins
    most += visit.connections_before(load, origins, most)
    figure = f"{count}, by the packets"
    return _check(
        f"connection count{of}", passed=count <= most, figure=figure, limit=f"at most {most}"
    )


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="subject", passed=passed, figure=figure, limit=limit)


def _site(load: PageLoad, site: Site, of: str) -> Check:
    """Say which site it was, and whether it is the one of which the trial's document tells."""
    digest, asked = site.digest, load.page.sha256
    figure = f"{site.name}, SHA-256 {digest[:DIGITS]}"
    passed, limit = asked in {None, digest}, asked[:DIGITS] if asked else ""
    return _check(f"site{of}", passed=passed, figure=figure, limit=limit)


def _requests(browser: Iterable[LoggedRequest], load: PageLoad, site: Site, of: str) -> Check:
    """Check that the load was this page's: nothing missing, nothing besides."""
    listed: Counter[Named] = Counter()
    for host, path, number in site.expected():  # a recorded site may list a path several times
        listed[host, path] += number
    asked = Counter(map(_named, browser))
    may_lack = load.visit == "repeat view"
    missing = Counter[Named]() if may_lack else listed - asked
    besides = asked - listed
    figure = f"{(asked & listed).total()} of {listed.total()}"
    figure += _some("missing", missing) + _some("not the page's", besides)
    limit = "nothing but what the page consists of" if may_lack else "what the page consists of"
    return _check(
        f"requests of the page{of}", passed=not missing and not besides, figure=figure, limit=limit
    )


def _statuses(browser: Iterable[LoggedRequest], load: PageLoad, site: Site, of: str) -> Check:
    right = _answers(site)
    wrong = Counter(
        (*_named(one), one.status)
        for one in browser
        if one.status not in right.get(_named(one), {HTTP_OK})
        and not (load.visit == "repeat view" and one.status == NOT_MODIFIED)
    )
    told = [f"{status} of {path}" for _, path, status in list(wrong)[:MOST_NAMED]]
    figure = f"{wrong.total()} otherwise" + (f": {', '.join(told)}" if told else "")
    limit = "as recorded" if site.recorded else f"{HTTP_OK}"
    return _check(f"status of the answers{of}", passed=not wrong, figure=figure, limit=limit)


def _answers(site: Site) -> Mapping[Named, set[int]]:
    """Map resources to the statuses that they may answer with."""
    right: dict[Named, set[int]] = {}
    for one in site.resources:
        status = one.answer.status if one.answer else HTTP_OK
        right.setdefault((site.origins[one.origin], one.path), set()).add(status)
    return right


def _agreement(browser: Iterable[LoggedRequest], log: RequestLog, of: str) -> Check:
    """Check that browser and log tell of the same requests, protocol and status of each."""
    has_names = any(one.authority for one in log.requests)
    asked = Counter(_told(one, has_names) for one in browser)
    answered = Counter(_told(one, has_names) for one in log.requests)
    alone = (asked - answered) + (answered - asked)
    figure = f"{(asked & answered).total()} told alike by the browser and {log.by}"
    figure += _some("by one only", Counter(path for _, path, *_ in alone.elements()))
    return _check(f"browser and log agree{of}", passed=not alone, figure=figure, limit="all")


def _told(one: LoggedRequest, has_names: bool) -> tuple[str, str, str, int]:
    return (one.authority if has_names else "", one.path, one.http_version, one.status)


def _bytes(browser: Iterable[LoggedRequest], log: RequestLog, of: str) -> Check:
    """Compare the bytes of all answers, header and body, as both count them."""
    came, sent = _wire_bytes(browser), _wire_bytes(log.requests)
    name = f"bytes by browser and log{of}"
    if came is None or sent is None:
        return _check(name, passed=None, figure="not observed: one of them does not tell")
    figure = f"{came} came, {sent} were sent, by {log.by}"
    return _check(name, passed=came == sent, figure=figure, limit="equal")


def _wire_bytes(requests: Iterable[LoggedRequest]) -> int | None:
    told = [one.wire_bytes for one in requests]
    known = [one for one in told if one is not None]
    return sum(known) if len(known) == len(told) else None


def _named(one: LoggedRequest) -> Named:
    return one.authority, one.path


def _some(what: str, of: Counter[Named] | Counter[str]) -> str:
    """Name the first of them, and count all."""
    if not of:
        return ""
    names = [one if isinstance(one, str) else one[1] for one in list(of)[:MOST_NAMED]]
    more = ", ..." if len(of) > MOST_NAMED else ""
    return f"; {of.total()} {what}: {', '.join(names)}{more}"
