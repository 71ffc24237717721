"""Which entries of a HAR file are replayed, where, and what is reported of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hars import MAIN, MIXED, Said, read
from httpbed.addons.pages.sites.replay import selection
from httpbed.addons.pages.sites.replay.selection import RENAMED, WrongUrlError
from httpbed.base.errors import ConfigError, Mistake

PAGE = Said(f"{MAIN}/", kind="document", mime="text/html", size=3000)


def chosen(*entries: Said) -> selection.Selection:
    return selection.choose(read(entries), "site.har")


def mistakes(*entries: Said) -> list[Mistake]:
    with pytest.raises(ConfigError) as caught:
        chosen(*entries)
    return list(caught.value.mistakes)


def test_all_network_requests_are_replayed_in_order() -> None:
    """The document is first; a redirect's target is linked to it."""
    result = chosen(*reversed(MIXED))
    assert [request.entry.url for request in result.requests] == [said.url for said in MIXED]
    assert result.document == 0
    assert not result.left_out
    (led,) = (request for request in result.requests if request.follows is not None)
    assert result.requests[led.follows or 0].path == "/old.png"
    assert result.requests[led.follows or 0].is_redirect


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (Said("data:text/css,a", 5), "not HTTP, such as data: URLs"),
        (Said("javascript:alert(1)", 5), "not HTTP, such as data: URLs"),
        (Said("wss://a.test/", 5), "not HTTP, such as data: URLs"),
        (Said(f"{MAIN}/s", 5, status=101, kind="websocket"), "WebSockets"),
        (Said(f"{MAIN}/s", 5, status=0), "failed"),
        (Said(f"{MAIN}/s", 5, more={"_fromCache": "memory"}), "from the browser's cache"),
        (Said(f"{MAIN}/s", 5, status=407), "not a final response, or a proxy's"),
        (Said(f"{MAIN}/s", 5, status=103), "not a final response, or a proxy's"),
        (Said(f"{MAIN}/s", 5, method="DELETE"), "methods other than GET, HEAD, POST"),
    ],
)
def test_dropped_entries_are_counted(entry: Said, reason: str) -> None:
    """Nothing is dropped silently."""
    result = chosen(PAGE, entry, replace(entry, at=6))
    assert len(result.requests) == 1
    assert result.left_out == {reason: 2}


def test_a_redirect_to_the_same_https_url_is_dropped() -> None:
    """All requests use https:, so it would lead to itself."""
    insecure = Said("http://www.page.test/", status=301, size=0, headers={"location": f"{MAIN}/"})
    result = chosen(insecure, replace(PAGE, at=20))
    assert [request.entry.url for request in result.requests] == [PAGE.url]
    assert result.left_out["redirects from http: to the same https: URL"] == 1


def test_redirects_lead_to_the_document() -> None:
    """The first of them is the page's entry."""
    first = Said("https://page.test/", status=302, size=0, kind="document",
                 headers={"location": "https://www.page.test/"})  # fmt: skip
    result = chosen(first, Said(f"{MAIN}/x.png", 10), replace(PAGE, at=20))
    assert [request.host for request in result.requests][:2] == ["page.test", "www.page.test"]
    assert result.document == 1
    assert result.requests[1].follows == 0


def test_every_mistake_in_a_recording_is_reported_at_once() -> None:
    """Each has its place and a remedy."""
    result = mistakes(
        PAGE,
        Said(f"{MAIN}/%00", 1),
        Said(f"{MAIN}/{'q' * 40_000}", 2),
        Said("https://a b.test/", 3),
        Said(f"{MAIN}/slow", 4, wait=4e6),
        Said(f"{MAIN}/vast", 5, headers={"x": "y" * 50_000}),
        Said(f"{MAIN}/late", 4e6),
    )
    places = [mistake.place for mistake in result]
    assert places == [
        "site.har: log.entries[1].request.url",
        "site.har: log.entries[2].request.url",
        "site.har: log.entries[3].request.url",
        "site.har: log.entries[4].timings.wait",
        "site.har: log.entries[5].response.headers",
        "site.har",
    ]
    assert all(mistake.remedy for mistake in result)


@pytest.mark.parametrize(
    "entries",
    [(), (Said("data:,x"),), (replace(PAGE, status=204),), (replace(PAGE, method="POST"),)],
)
def test_a_page_needs_a_document(entries: tuple[Said, ...]) -> None:
    """Without one there is nothing to navigate to."""
    assert len(mistakes(*entries)) == 1


def test_too_many_origins_are_a_mistake() -> None:
    """Each needs a certificate and a place in a server's configuration."""
    (result,) = mistakes(PAGE, *(Said(f"https://h{number}.test/", number) for number in range(300)))
    assert "301 origins" in result.reason


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://WWW.Page.test./", "www.page.test"),
        ("http://page.test/", "page.test"),
        ("http://page.test:80/", "page.test"),
        ("https://page.test:8443/", "port-8443.page.test"),
        ("https://192.0.2.7/", f"address-192-0-2-7.{RENAMED}"),
        ("https://[2001:db8::1]:8443/", f"port-8443.address-2001-db8-1.{RENAMED}"),
        ("https://localhost/", f"localhost.{RENAMED}"),
        ("https://intranet/", f"intranet.{RENAMED}"),
        ("https://b\u00fccher.test/", "xn--bcher-kva.test"),
        ("https://server.httpbed.test/", "server.httpbed.test"),
        ("https://a_b.page.test/", "a_b.page.test"),
    ],
)
def test_origins_have_names_that_a_browser_looks_up(url: str, host: str) -> None:
    """Addresses, ports and names that browsers resolve themselves get new names."""
    assert selection.place(url)[0] == host


@pytest.mark.parametrize("url", ["https://a..test/", "https://a;b.test/", "https://-a.test/"])
def test_an_invalid_host_name_is_a_mistake(url: str) -> None:
    """They cannot be in a server's configuration."""
    with pytest.raises(WrongUrlError):
        selection.place(url)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("", "/"),
        ("/a/../../b", "/b"),
        ("/a/%2e%2e/b/.", "/b/"),
        ('/a b\u00fc?q="c d"&e=\'', "/a%20b%C3%BC?q=%22c%20d%22&e=%27"),
        ("/a%20b%zz", "/a%20b%zz"),
        ("/a#part", "/a"),
        ("//x//y", "//x//y"),
        ("/a\\b", "/a/b"),
        ("/|^`{}[]'?|^`{}[]'", "/%7C%5E%60%7B%7D[]'?|^`{}[]%27"),
    ],
)
def test_paths_are_written_as_browsers_write_them(path: str, written: str) -> None:
    """The server must know what the browser requests."""
    assert selection.place(f"https://a.test{path}")[1] == written
