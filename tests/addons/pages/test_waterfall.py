"""The waterfall of a page load: phases of requests, names of resources, and its bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from httpbed.addons.pages.har import writer
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.report import section, waterfall

FULL = PageRequest(
    id="1",
    url="https://server.httpbed.test/img/a.jpg?v=2",
    http_version="2",
    status=200,
    wire_bytes=12_000,
    queued_s=0.1,
    started_s=0.15,
    dns_start_s=0.16,
    dns_end_s=0.17,
    connect_start_s=0.17,
    connect_end_s=0.3,
    tls_start_s=0.2,
    tls_end_s=0.3,
    send_start_s=0.32,
    send_end_s=0.33,
    headers_start_s=0.4,
    headers_end_s=0.41,
    ended_s=0.5,
)


def test_a_waterfall_and_a_har_tell_the_same_phases() -> None:
    """A reader who opens the exported file in another tool sees the bars of the report."""
    load = BrowserLoad("https://server.httpbed.test/", "loaded", requests=(FULL,))
    (entry,) = writer.har(load, datetime.now(UTC))["log"]["entries"]
    texts = entry["timings"]
    of_har = {
        "queue": texts["blocked"],
        "connect": texts["dns"] + texts["connect"],
        **{name: texts[name] for name in ("send", "wait", "receive")},
    }
    drawn = {bar.kind: 1000 * (bar.end_s - bar.begin_s) for bar in waterfall.bars(FULL)}
    assert drawn == pytest.approx(of_har)


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (
            {"queued_s": None, "started_s": None, "ended_s": None},
            ["connect", "send", "wait"],
        ),
        (
            {"dns_start_s": None, "connect_start_s": None, "tls_start_s": None}
            | {"dns_end_s": None, "connect_end_s": None, "tls_end_s": None},
            ["queue", "send", "wait", "receive"],
        ),
        ({"ended_s": -7.0}, ["queue", "connect", "send", "wait"]),
        ({"send_start_s": -1.0, "send_end_s": -2.0}, ["queue", "connect", "wait", "receive"]),
    ],
)
def test_times_that_are_missing_or_run_backwards(change: dict[str, Any], kinds: list[str]) -> None:
    """What is not told is no phase, and none has a negative length."""
    found = waterfall.bars(replace(FULL, **change))
    assert [bar.kind for bar in found] == kinds
    assert all(bar.end_s > bar.begin_s for bar in found)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("https://a.test/", "a.test"),
        ("https://a.test/css/site.css", "site.css"),
        ("https://a.test/x?" + "q" * 300, "x?qqqqqqqqqqq…qqqqqqqqqqqqqqq"[:28]),
        ("data:image/png;base64,AAAA", "data:"),
        ("https://[broken/", "https://[broken/"),
        ("https://a.test/\u202egpj.exe", "\\u202egpj.exe"),
    ],
)
def test_names_of_resources(url: str, named: str) -> None:
    """The end of the path, bounded, with nothing that a terminal or a reader would obey."""
    found = waterfall.short_name(PageRequest("1", url))
    assert len(found) <= waterfall.MAX_NAME
    assert found.startswith(named[:12])


def test_resources_of_one_name_are_told_apart_by_their_paths() -> None:
    """As far up as it takes, to the host; two requests of one URL keep one name."""
    urls = [
        "https://a.test/",
        "https://a.test/img/en/logo.svg",
        "https://a.test/img/de/logo.svg",
        "https://b.test/img/de/logo.svg",
        "https://a.test/app.js",
        "https://a.test/app.js",
    ]
    assert waterfall.short_names([PageRequest(str(n), url) for n, url in enumerate(urls)]) == [
        "a.test",
        "en/logo.svg",
        "a.test/img/de/logo.svg",
        "b.test/img/de/logo.svg",
        "app.js",
        "app.js",
    ]


@pytest.mark.parametrize(
    ("onload_s", "named"),
    [(1.34, [("LCP", 1.19), ("onload", 1.34)]), (1.2, [("LCP, onload", 1.19)])],
)
def test_milestones_share_a_name_only_where_two_have_no_room(
    onload_s: float, named: list[tuple[str, float]]
) -> None:
    """A shared name stands at the first line, so it misplaces the second."""
    of = BrowserLoad(
        "https://a.test/", "loaded", largest_contentful_paint_s=1.19, onload_s=onload_s
    )
    assert waterfall.names_of_milestones(of, 1.34) == named


def test_a_waterfall_is_bounded_and_counts_what_it_leaves_out() -> None:
    """Of 3,000 requests the first are drawn."""
    many = tuple(replace(FULL, id=str(n), url=f"https://a.test/{n}.jpg") for n in range(3000))
    of = BrowserLoad(url="https://a.test/", ended="loaded", requests=many)
    plot = section.waterfall_of(of, "w", "many")
    assert len(waterfall.drawn(of)) == waterfall.MAX_ROWS
    assert "2960 of its 3000 requests are not drawn." in plot.caption
    assert len(plot.svg()) < 200_000
