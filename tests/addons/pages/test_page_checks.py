"""Each fault of a page load breaks the check that is named for it, and no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.pages import page_checks
from httpbed.addons.pages.load.browser_load import SeenScreen
from httpbed.addons.pages.page import Device, PageLoad, known
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.site import RecordedAnswer, Resource, Site
from httpbed.experiment.roles import HttpVersion
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import OWN_ORIGIN
from httpbed.programs.part import LoggedRequest, ProgramReport
from httpbed.trial import verdict
from httpbed.trial.attempt_plan import CampaignSetup
from httpbed.trial.checks import subject
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain
from recorded import (
    CATALOG,
    H3_CLEAN,
    attempt,
    chains,
    nothing_built,
    planned,
    recorded_evidence,
    with_additions,
)

PATHS = ("/index.html", "/0.jpeg", "/a.css")
OTHER = "other.test"
Requests = Sequence[LoggedRequest]
HandoverChange = Callable[[Requests], Requests]


def resource(path: str, **more: Any) -> Resource:
    """List a file of the page."""
    told = {"origin": 0, "path": path, "file": f"0{path}", "bytes": 1, "sha256": "0" * 64}
    return Resource.model_validate({**told, "type": "text/html", **more})


SITE = Site(
    name="a page",
    source="a test",
    entry=PATHS[0],
    origins=[OWN_ORIGIN],
    resources=[*map(resource, PATHS), resource("/never.js", requested=0)],
)


def load(visit: str = "cold", **known: Any) -> PageLoad:
    page = {"objects": 2, "size": "1 kB", **known}
    return PageLoad.model_validate({"kind": "page", "page": page, "visit": visit})


def asked(path: str, **more: Any) -> LoggedRequest:
    """Make a request that both logs list."""
    told = {"http_version": "3", "status": 200, "body_bytes": 1, "wire_bytes": 100}
    return LoggedRequest(
        **{**told, "path": path, "authority": OWN_ORIGIN, "connection": "a", **more}
    )


PAGE = tuple(map(asked, PATHS))


def chain_of(of: PageLoad) -> Chain:
    """Return a browser with a server that logs all requests."""
    (chain,) = chains(H3_CLEAN)
    return Chain(of, chain.roles, chain.hops)


def seen_of(browser: Requests, log: Requests, remarks: tuple[str, ...] = ()) -> AttemptEvidence:
    findings = {
        "client": ProgramReport(requests=tuple(browser), remarks=remarks),
        "server": ProgramReport(requests=tuple(log)),
    }
    return replace(recorded_evidence(H3_CLEAN), reports=findings)


def judged(
    browser: Requests, log: Requests, of: PageLoad | None = None, site: Site = SITE
) -> list[Check]:
    of = of or load()
    return list(page_checks.checks(chain_of(of), of, site, seen_of(browser, log), ""))


def broken(checks: Sequence[Check]) -> set[str]:
    return {check.name for check in checks if check.passed is False}


def first(**more: Any) -> HandoverChange:
    """Change the first image's request."""
    return lambda requests: [
        replace(request, **more) if request.path == PATHS[1] else request for request in requests
    ]


def with_stray(requests: Requests) -> Requests:
    """Add a request that is not of the page."""
    return [*requests, asked("/stray.png")]


def without_image(requests: Requests) -> Requests:
    return [request for request in requests if request.path != PATHS[1]]


def same(requests: Requests) -> Requests:
    return requests


REQUESTS, AGREE = "requests of the page", "browser and log agree"
FAULTS: dict[str, tuple[HandoverChange, HandoverChange, set[str]]] = {
    "something besides": (with_stray, with_stray, {REQUESTS}),
    "something that is listed but never asked for": (
        lambda told: [*told, asked("/never.js")],
        lambda told: [*told, asked("/never.js")],
        {REQUESTS},
    ),
    "a name outside": (first(authority=OTHER), first(authority=OTHER), {REQUESTS}),
    "something missing": (without_image, without_image, {REQUESTS}),
    "asked twice": (
        lambda told: [*told, told[1]],
        lambda told: [*told, told[1]],
        {REQUESTS},
    ),
    "another status": (first(status=404), first(status=404), {"status of the answers"}),
    "a request that only the log has": (
        same, lambda told: [*told, asked("/retry", wire_bytes=0)], {AGREE},
    ),
    "another version by the log": (same, first(http_version="1.1"), {AGREE}),
    "another status by the log": (same, first(status=206), {AGREE}),
    "other bytes": (same, first(wire_bytes=99), {"bytes by browser and log"}),
    "an empty log of who keeps one": (same, lambda _: [], {AGREE}),
}  # fmt: skip


def test_a_complete_page_passes() -> None:
    """The figure names the site."""
    checks = judged(PAGE, PAGE)
    assert [check.passed for check in checks] == [True] * len(checks)
    assert checks[0].figure == f"a page, SHA-256 {SITE.digest[:12]}"


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_load_breaks_its_check(fault: str) -> None:
    """One difference breaks one check."""
    of_browser, of_log, names = FAULTS[fault]
    assert broken(judged(of_browser(PAGE), of_log(PAGE))) == names


def test_resources_with_other_bytes_are_named() -> None:
    """Only those that differ, so that their names lead to the cause."""
    browser = first(wire_bytes=99)(PAGE)
    (check,) = [one for one in judged(browser, PAGE) if one.name == "bytes by browser and log"]
    differing = {one.path for one, same in zip(browser, PAGE, strict=True) if one != same}
    assert len(differing) == 1
    assert {path for path in PATHS if path in check.figure} == differing


BYTES = "bytes by browser and log"


@pytest.mark.parametrize(
    ("browser", "log", "names"),
    [
        ({"client_left": True}, {"wire_bytes": 5000}, set()),
        ({"client_left": True}, {"wire_bytes": 99}, {BYTES}),
        ({}, {"wire_bytes": 5000}, {BYTES}),
        ({"http_version": "2"}, {"wire_bytes": 109, "body_bytes": 0, "http_version": "2"}, set()),
        ({"http_version": "2"}, {"wire_bytes": 110, "body_bytes": 0, "http_version": "2"}, {BYTES}),
        ({}, {"wire_bytes": 109, "body_bytes": 0}, {BYTES}),
    ],
)
def test_a_server_may_send_more_of_an_image_that_the_browser_cannot_decode(
    browser: dict[str, Any], log: dict[str, Any], names: set[str]
) -> None:
    """Never less, and of no other resource; a frame may end an empty body over HTTP/2."""
    assert broken(judged(first(**browser)(PAGE), first(**log)(PAGE))) == names


def test_another_site_than_the_trials_is_reported() -> None:
    """The digests differ."""
    assert broken(judged(PAGE, PAGE, load(sha256=SITE.digest))) == set()
    assert broken(judged(PAGE, PAGE, load(sha256="0" * 64))) == {"site"}


def test_a_repeat_view_may_request_less_and_get_304() -> None:
    """It may not request more."""
    again = [replace(PAGE[0], status=304)]
    assert broken(judged(again, again, load("repeat view"))) == set()
    assert broken(judged(again, again)) == {REQUESTS, "status of the answers"}
    checks = judged(with_stray(again), with_stray(again), load("repeat view"))
    assert broken(checks) == {REQUESTS}
    (check,) = (one for one in checks if one.name == REQUESTS)
    assert check.figure == "1 of 3; 1 not of the page: /stray.png"
    assert check.limit


def test_a_recorded_error_status_is_expected() -> None:
    """Any other status is wrong."""
    answers = [
        one.model_copy(update={"answer": RecordedAnswer(status=404)})
        if one.path == PATHS[1]
        else one
        for one in SITE.resources
    ]
    site = SITE.model_copy(update={"recorded": True, "resources": answers})
    gone = first(status=404)(PAGE)
    assert broken(judged(gone, gone, site=site)) == set()
    assert broken(judged(PAGE, PAGE, site=site)) == {"status of the answers"}


def test_a_log_without_bytes_is_not_compared() -> None:
    """A figure that a program does not log breaks no check."""
    checks = judged(PAGE, first(wire_bytes=None)(PAGE))
    assert {check.name: check.passed for check in checks}["bytes by browser and log"] is None


def test_missing_pictures_of_a_load_are_a_note() -> None:
    """No request depends on them."""
    found = seen_of(PAGE, PAGE, remarks=("the pictures end at 7.00 s",))
    *_, last = page_checks.checks(chain_of(load()), load(), SITE, found, "")
    assert (last.passed, last.figure) == (None, "the pictures end at 7.00 s")


def test_an_origin_that_never_announces_http3_is_a_note() -> None:
    """One response with the announcement suffices; over HTTP/2 none is needed."""

    def noted(*announces: bool | None, version: str = "3") -> bool:
        given = zip(PATHS, announces, strict=True)
        page = [asked(path, http_version=version, announces_http3=says) for path, says in given]
        return "HTTP/3 not announced" in {check.name for check in judged(page, page)}

    assert noted(False, False, False)
    assert not noted(True, False, False)
    assert not noted(None, None, None)
    assert not noted(False, False, False, version="2")


def connection_check(version: HttpVersion, count: int, requests: Requests = ()) -> Check:
    """Check a load of a document and 20 images of each of two other origins."""
    chain = chain_of(load())
    chain = replace(chain, hops=(replace(chain.hops[0], http_version=version),))
    images = [
        resource(f"/{n}.gif", origin=origin, type="image/gif")
        for origin in (1, 2)
        for n in range(20)
    ]
    site = SITE.model_copy(
        update={"origins": [OWN_ORIGIN, OTHER, "third.test"], "resources": [resource("/"), *images]}
    )
    return page_checks.connections(chain, site, count, requests, "")


@pytest.mark.parametrize(
    ("version", "most"),
    [
        # six in each of two pools of two origins; one and its backup for the document
        ("1.1", 24 + 2),
        ("2", 24 + 2),  # the same until ALPN
        ("3", 6),
    ],
)
def test_a_browser_opens_six_connections_per_pool_until_it_knows_the_protocol(
    version: HttpVersion, most: int
) -> None:
    """One more fails."""
    passed = [connection_check(version, most + n).passed for n in (0, 1)]
    assert passed == [True, False]


def test_the_document_tells_the_protocol_of_its_origin() -> None:
    """Six connections remain possible in the pool without credentials, which has no session yet."""
    chain = chain_of(load())
    chain = replace(chain, hops=(replace(chain.hops[0], http_version="2"),))
    images = [resource(f"/{n}.gif", type="image/gif") for n in range(50)]
    site = SITE.model_copy(update={"resources": [resource("/"), *images]})
    checks = [page_checks.connections(chain, site, 8 + n, (), "") for n in (0, 1)]
    assert [check.passed for check in checks] == [True, False]


@pytest.mark.parametrize(("version", "most"), [("1.1", 12), ("2", 2), ("3", 2)])
def test_spare_connections_carry_no_request_once_the_protocol_is_known(
    version: HttpVersion, most: int
) -> None:
    """Of HTTP/2 and HTTP/3 one connection per pool carries all requests to an origin."""
    for more, passed in ((0, True), (1, False)):
        requests = [
            asked(f"/{n}.gif", connection=str(n), authority=OTHER) for n in range(most + more)
        ]
        assert connection_check(version, 3, requests).passed == passed


def test_a_load_at_its_time_limit_timed_out_and_did_not_fail() -> None:
    """The responses so far are reported; failed treatments would be left out of the comparison."""
    found = seen_of(PAGE[:1], PAGE[:1])
    late = replace(found.reports["client"], complaint="the page was still loading", timed_out=True)
    found = replace(found, reports={**found.reports, "client": late})
    exits = {"client": replace(found.exits["client"], timed_out=True)}
    found = replace(found, exits=exits)
    chain = chain_of(load())
    sites = {load().key: CachedSite(SITE, attempt(H3_CLEAN))}
    loaded = planned(H3_CLEAN)
    vars(loaded)["chains"] = (chain,)
    prepared = CampaignSetup(CATALOG, nothing_built(), Path(), {}, sites=sites)
    checks = list(subject.checks(with_additions(loaded, prepared, found)))
    assert verdict.outcome(checks, found).kind == "timed out", broken(checks)


PHONE = Device.model_validate(known("iphone-se"))
SEEN = SeenScreen((980, 1741), (320, 568), 2.0, PHONE.user_agent)


@pytest.mark.parametrize(
    ("seen", "passed"),
    [
        (SEEN, True),
        (replace(SEEN, screen=(1366, 768)), False),
        (replace(SEEN, pixel_ratio=1.0), False),
        (replace(SEEN, user_agent="HeadlessChrome"), False),
        (None, None),
    ],
)
def test_a_device_is_what_a_script_sees(seen: SeenScreen | None, passed: bool | None) -> None:
    assert page_checks.screen_check(PHONE, seen, "").passed == passed
