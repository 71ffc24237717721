"""What a browser brings along from a visit before, as nginx and Chromium tell of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from browsing import Setting, catalog, place
from httpbed.addons.pages.load import driver_output
from httpbed.experiment.workload import PageVisit
from httpbed.programs.part import LoggedRequest, ProgramReport
from httpbed.trial import evidence

pytestmark = [pytest.mark.namespaces]
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
IMAGES = 3
SCRIPTS = 30
"""More than Chromium requests at a time from a server without priorities."""
LONG_RTT_S = 1.0
"""Longer than a busy machine delays the browser."""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Make a page of a few images, with the file that is no part of it."""
    folder = tmp_path / "site"
    folder.mkdir()
    images = "".join(f'<img src="/{number}.svg">' for number in range(IMAGES))
    (folder / "index.html").write_text(f"<!doctype html><title>page</title>{images}")
    for number in range(IMAGES):
        (folder / f"{number}.svg").write_bytes(PICTURE)
    (folder / ".httpbed").mkdir()
    (folder / ".httpbed/prior.txt").write_text("." * 1000)
    return folder


def visited(tmp_path: Path, site: Path, visit: PageVisit, version: str) -> Sequence[ProgramReport]:
    """Load the page, and return what browser and server tell of it."""

    async def load() -> None:
        setting = Setting(site, ("client",), http_version=version, visit=visit)
        async with place(tmp_path, setting) as made:
            told = await made.load("client", made.driver("client", "/index.html", version))
        assert (told["ended"], told["truncated"]) == ("loaded", False), told["reason"]

    asyncio.run(load())
    browser = catalog()["chromium-headless-shell"].parse("client", tmp_path / "trial/client")
    log = catalog()["nginx"].parse("server", tmp_path / "trial/server")
    assert not browser.complaint
    return browser, evidence.divided(log, browser.before)


def document(of: ProgramReport) -> LoggedRequest:
    """Find the request for the page itself."""
    return next(request for request in of.requests if request.path == "/index.html")


def connections(requests: Sequence[LoggedRequest]) -> set[str]:
    return {request.connection for request in requests}


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_ticket_is_all_that_is_left_and_carries_the_first_request(
    tmp_path: Path, site: Path, version: str
) -> None:
    """Connections are new, over TCP and over QUIC."""
    browser, log = visited(tmp_path, site, "early data", version)
    assert (document(log).resumed, document(log).early_data) == (True, True)
    assert {request.http_version for request in (*log.requests, *log.before)} == {version}
    assert not connections(log.requests) & connections(log.before)
    assert not connections(browser.requests) & connections(browser.before)


def test_a_ticket_is_used_without_early_data_where_the_server_takes_none(
    tmp_path: Path, site: Path
) -> None:
    """The connection resumes and waits for the end of the handshake."""
    browser, log = visited(tmp_path, site, "resumed", "3")
    assert (document(log).resumed, document(log).early_data) == (True, False)
    assert len(browser.requests) == len(log.requests) == IMAGES + 1


def test_a_warm_connection_carries_the_document(tmp_path: Path, site: Path) -> None:
    """Browser and server report the same connection."""
    browser, log = visited(tmp_path, site, "warm connection", "1.1")
    assert document(log).connection in connections(log.before)
    assert document(browser).connection in connections(browser.before)
    assert [request.path for request in browser.before] == ["/.httpbed/prior.txt"]


def test_http3_is_discovered_over_http2(tmp_path: Path, site: Path) -> None:
    """All resources come over HTTP/3, with a certificate of a private authority."""
    browser, log = visited(tmp_path, site, "discovery", "3")
    for told in (browser, log):
        assert [(request.path, request.http_version) for request in told.before] == [
            ("/.httpbed/prior.txt", "2")
        ]
        assert {request.http_version for request in told.requests} == {"3"}
    assert document(log).resumed is False


def test_a_repeat_view_asks_again_for_the_document_only(tmp_path: Path, site: Path) -> None:
    """The other resources come from the disk cache of a browser that was started anew."""
    browser, log = visited(tmp_path, site, "repeat view", "2")
    for told in (browser, log):
        assert len(told.before) == IMAGES + 1
        assert [(request.path, request.status) for request in told.requests] == [
            ("/index.html", 304)
        ]
    assert not connections(log.requests) & connections(log.before)
    assert document(log).resumed is False


@pytest.mark.parametrize("server", ["nginx", "caddy", "envoy", "aioquic"])
def test_a_browser_sends_all_requests_at_once_over_http3(tmp_path: Path, server: str) -> None:
    """No script waits for another's response, a round trip later, as over HTTP/1.1."""
    site = tmp_path / "site"
    site.mkdir()
    scripts = [f"{number}.js" for number in range(SCRIPTS)]
    tags = "".join(f'<script defer src="/{name}"></script>' for name in scripts)
    (site / "index.html").write_text(f"<!doctype html><title>page</title>{tags}")
    for name in scripts:
        (site / name).write_text("void 0;")
    delay = f"{LONG_RTT_S / 2:g} s"
    setting = Setting(site, ("client",), server=server, http_version="3", delay=delay)

    async def load() -> None:
        async with place(tmp_path, setting) as made:
            told = await made.load("client", made.driver("client", "/index.html", "3"))
        assert told["ended"] == "loaded", told["reason"]

    asyncio.run(load())
    requests = driver_output.read(tmp_path / "trial/client").requests
    sent_s = [
        request.send_start_s or math.nan for request in requests if request.url.endswith(".js")
    ]
    assert len(sent_s) == SCRIPTS
    assert max(sent_s) - min(sent_s) < LONG_RTT_S / 2
