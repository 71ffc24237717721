"""HAR files of several tools are read, or rejected with all their mistakes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import archives
from httpbed.addons.pages.har import har_file
from httpbed.addons.pages.har.har_file import ArchivedLoad, HarDocument, HarEntry
from httpbed.addons.pages.har.schema import EntryForm
from httpbed.addons.pages.load import driver_output as loads_reading
from httpbed.addons.pages.load import timing
from httpbed.base.errors import ConfigError

NO_DATE = "must be a date and time, such as '2026-01-31T12:00:00.000Z'"
DIALECTS = Path(__file__).parent / "dialects"
RECORDED = Path(__file__).parents[3] / "recorded/chromium-headless-shell-156.0.8078.79"


def read(stated: Any) -> HarDocument:
    return har_file.read(archives.as_bytes(stated))


def only(**stated: Any) -> HarEntry:
    (entry,) = read(archives.har(archives.entry(**stated))).entries
    return entry


def mistakes(data: bytes) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        har_file.read(data, "x.har")
    return [str(mistake) for mistake in refused.value.mistakes]


def dialect(name: str) -> tuple[HarDocument, list[ArchivedLoad]]:
    """Read a tool's file and its loads."""
    document = har_file.read_file(DIALECTS / name)
    return document, har_file.loads(document)


def test_every_mistake_has_its_place() -> None:
    """A file that is JSON has all its mistakes reported at once."""
    entries: list[Any] = [
        {"startedDateTime": "yesterday", "request": {"method": 3, "url": "http://["}},
        archives.entry(response={"status": "many"}, timings={"wait": -7, "send": 1e12}),
        archives.entry(timings={"wait": True}, time="long", request=[]),
        17,
    ]
    assert mistakes(archives.as_bytes({"log": {"entries": entries}})) == [
        f"x.har: log.entries[0].startedDateTime: {NO_DATE}",
        "x.har: log.entries[0].request.method: must be a text, not a number",
        "x.har: log.entries[0].request.url: is not a URL: Invalid IPv6 URL",
        "x.har: log.entries[0].response: is missing",
        "x.har: log.entries[1].response.status: must be a number",
        "x.har: log.entries[1].timings.send: 1e+12 ms is longer than 1e+09 ms",
        "x.har: log.entries[1].timings.wait: -7 ms is negative; an unknown time is -1",
        "x.har: log.entries[2].time: must be a number",
        "x.har: log.entries[2].request: must be an object",
        "x.har: log.entries[2].timings.wait: must be a number, not true or false",
        "x.har: log.entries[3]: must be an object",
    ]


def test_the_number_of_reported_mistakes_is_limited() -> None:
    """A last mistake counts the rest."""
    reported = mistakes(archives.as_bytes(archives.har(*[{"request": 1}] * 100)))
    assert (len(reported), reported[-1]) == (41, "x.har: has 260 more mistakes")


@pytest.mark.parametrize(
    ("data", "reported"),
    [
        (b"", "x.har: is truncated at line 1, column 1; export it again"),
        (
            b'{"log": {\n"entries": [{"a',
            "x.har: is truncated at line 2, column 14; export it again",
        ),
        (b'{"log": {,}}', "x.har: is not JSON at line 1, column 10"),
        (b"\xff\xfe", "x.har: is not a HAR file: byte 0 is not UTF-8"),
        (b"[" * 200_000, "x.har: is not a HAR file: it is nested too deeply"),
        (b"[]", "x.har: is not a HAR file: it has no object named log"),
        (b'{"log": []}', "x.har: is not a HAR file: it has no object named log"),
        (b'{"log": {}}', "x.har: log.entries: is missing"),
        (b'{"log": {"entries": {}}}', "x.har: log.entries: must be a list"),
        (b"9" * 5000, "x.har: is not a HAR file: Exceeds the limit"),
    ],
)
def test_another_file_than_a_har_file_is_refused(data: bytes, reported: str) -> None:
    """The mistake says where the file stops being a HAR file, and what to do."""
    (stated,) = mistakes(data)
    assert stated.startswith(reported)


def test_huge_files_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Length and number of entries have limits, which the mistakes name."""
    monkeypatch.setattr(har_file, "MAX_BYTES", 2**20)
    reported = "x.har: is longer than 1 MiB; export it without bodies"
    assert mistakes(b" " * (2**20 + 1)) == [reported]
    many = archives.as_bytes({"log": {"entries": [0] * 20_001}})
    assert mistakes(many) == [
        "x.har: has 20001 entries, more than 20000; export one page at a time"
    ]


def test_a_body_that_is_not_base_64_is_a_mistake() -> None:
    """The mistake is at the body's place."""
    content = {"content": {"text": "a", "encoding": "base64"}}
    (reported,) = mistakes(
        archives.as_bytes(archives.har(archives.entry(response=content | {"status": 200})))
    )
    assert reported.startswith("x.har: log.entries[0].response.content.text: is not base64")


def test_unknown_times_are_none() -> None:
    """-1 is unknown; slightly below 0 is rounding; WebPageTest writes text."""
    timings = only(timings={"blocked": -1, "dns": -0.4, "wait": "12.5", "ssl": None}).timings
    assert (timings.blocked, timings.dns, timings.wait, timings.ssl) == (None, 0.0, 0.0125, None)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_passed_over(mark: bytes) -> None:
    """Windows tools write one."""
    document = har_file.read(mark + archives.as_bytes({"log": {"entries": [archives.entry()]}}))
    assert len(document.entries) == 1


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ({"text": "Straße"}, "Straße".encode()),
        ({"text": base64.b64encode(b"\x00\xff").decode(), "encoding": "base64"}, b"\x00\xff"),
        ({"text": "\ud800"}, "\ufffd".encode()),
        ({"text": "", "size": 0}, b""),
        ({"text": "", "size": 10}, None),
        ({"size": 10}, None),
    ],
)
def test_bodies_are_bytes(content: dict[str, Any], body: bytes | None) -> None:
    """Bodies are bytes; None if the tool stored none."""
    assert only(response={"status": 200, "content": content}).body == body


@pytest.mark.parametrize(
    ("stated", "connection"),
    [
        ({"connection": "17"}, "17"),
        ({"connection": "443", "_connectionId": "9"}, "9"),
        ({"connection": "443", "_connectionId": "0"}, ""),
        ({"connection": 5}, "5"),
        ({"_socket": "0"}, "0"),
        ({"_socket": -1}, ""),
    ],
)
def test_connections_are_read_from_each_tools_field(
    stated: dict[str, Any], connection: str
) -> None:
    assert only(**stated).connection == connection


def test_a_har_file_of_firefox_is_read() -> None:
    """Its ``connection`` is the server's port, so the connection is unknown."""
    document, (load,) = dialect("firefox.har")
    assert document.creator == "Firefox 140.0"
    assert [entry.http_version for entry in document.entries] == ["3", "3", "1.1"]
    assert {entry.connection for entry in document.entries} == {""}
    assert [entry.failed for entry in document.entries] == ["", "", "no response"]
    assert load.load.onload_s == pytest.approx(0.812)
    first = load.load.requests[0]
    assert (first.connect_start_s, first.tls_start_s) == pytest.approx((0.002, 0.033))
    assert (first.connect_end_s, first.tls_end_s) == pytest.approx((0.065, 0.065))
    assert (first.send_start_s, first.ended_s) == pytest.approx((0.065, 0.105))


@pytest.mark.parametrize(
    ("tool", "time", "connect", "ssl", "reported"),
    [
        ("Chrome", 140, 40, 20, 40),  # within connect, as the specification requires
        ("mitmproxy", 160, 40, 20, 60),  # beside connect
        ("mitmproxy", 120, -1, 20, 20),
        ("Firefox", 158, 40, 20, 58),  # rounded
        ("Firefox", 141, 31, 41, 41),  # HTTP/3: both at once
        ("Firefox", 139, 40, 20, 40),
        ("Chrome", 150, 40, 20, 40),  # something else is missing
        ("Firefox", 190, 40, 20, 40),
        ("Chrome", 140, 40, -1, 40),
    ],
)
def test_tls_is_within_connect_where_the_sums_prove_it(
    tool: str, time: float, connect: float, ssl: float, reported: float
) -> None:
    """Some tools report TLS beside connect; only the entry's time proves it."""
    timings = {"blocked": 60, "connect": connect, "ssl": ssl, "send": 0, "wait": 39, "receive": 1}
    one = archives.entry(time=time, timings=timings)
    (entry,) = read(archives.har(one, creator={"name": tool, "version": "1"})).entries
    assert entry.timings.connect == pytest.approx(reported / 1000)


def test_a_har_file_of_chrome_is_read() -> None:
    """``http/2.0`` and ``h3``, initiators with stacks, caches, and queueing times."""
    document, (load,) = dialect("chrome.har")
    assert [entry.http_version for entry in document.entries] == ["2", "3", "2"]
    first, third, second = load.load.requests
    assert (second.initiator, second.initiator_kind) == ("https://example.test/app.js", "script")
    assert (third.from_cache, first.from_cache) == (True, False)
    assert (first.wire_bytes, first.connection, first.kind) == (1417, "532", "Document")
    assert first.started_s == pytest.approx(0.0021)
    assert first.connect_start_s == pytest.approx(0.0301)
    assert first.tls_start_s == pytest.approx(0.0501)
    assert first.send_start_s == pytest.approx(0.0701)
    assert first.headers_end_s == pytest.approx(0.1206)
    assert first.ended_s == pytest.approx(0.1216)


def test_a_har_file_of_webpagetest_is_read() -> None:
    """Two views are two loads; numbers are text; Speed Index has its own field."""
    document, (first, second) = dialect("webpagetest.har")
    assert document.creator == "WebPagetest 25.07"
    assert (first.load.visit, second.load.visit) == ("cold", "repeat view")
    assert (first.speed_index_s, second.speed_index_s) == (1.834, 0.9)
    assert [request.http_version for request in first.load.requests] == ["2", "3"]
    assert [request.wire_bytes for request in first.load.requests] == [10_240, 2048]
    assert first.load.requests[1].initiator == "https://example.test/"
    assert len(second.load.requests) == 1


@pytest.mark.parametrize("name", ["chrome-har-capturer-0.14.4.har", "chrome-har-1.3.1.har"])
def test_two_tools_files_of_one_load_agree(name: str) -> None:
    """Both files were made from one recorded load over HTTP/1.1, which is read as well.

    The tools write dates in milliseconds. One has queueing before an entry's start, the other
    within
    ``blocked``; both count the set-up of a connection until sending begins.
    """
    _, (archived,) = dialect(name)
    recorded = loads_reading.read(RECORDED / "h1")
    theirs = {request.url: request for request in archived.load.requests}
    assert len(theirs) == len(recorded.requests) == 13
    for mine in recorded.requests:
        request = theirs[mine.url]
        for field in ("http_version", "status", "wire_bytes", "connection", "kind"):
            assert getattr(request, field) == getattr(mine, field)
        for field in ("queued_s", "send_start_s", "send_end_s", "headers_end_s", "ended_s"):
            assert getattr(request, field) == pytest.approx(getattr(mine, field), abs=0.004), field
    assert archived.load.onload_s == pytest.approx(recorded.onload_s, abs=0.004)


def test_a_page_stamped_after_its_document_begins_with_its_document() -> None:
    """Some tools stamp the page late."""
    page = {"startedDateTime": "2026-01-31T12:00:00.253Z", "id": "a"}
    (load,) = har_file.loads(read(archives.har(archives.entry(pageref="a"), pages=[page])))
    assert load.load.requests[0].queued_s == 0.0


def test_a_har_without_pages_is_one_load() -> None:
    """The load begins with its first request, wherever that is in the file."""
    late = archives.entry(startedDateTime="2026-01-31T12:00:01.250Z")
    (load,) = har_file.loads(read(archives.har(late, archives.entry())))
    assert [request.queued_s for request in load.load.requests] == [0.0, 1.0]
    assert [entry.index for entry in load.entries] == [1, 0]


def test_entries_of_no_page_belong_to_the_first() -> None:
    """A note reports them."""
    page = {"startedDateTime": "2026-01-31T12:00:00Z", "pageTimings": {"onLoad": -1}}
    pages = [page | {"id": name} for name in ("a", "b")]
    lost, result = archives.entry(pageref="c"), archives.entry(pageref="b")
    first, second = har_file.loads(read(archives.har(lost, result, pages=pages)))
    assert (first.page, second.page) == ("a", "b")
    assert first.load.notes == (
        "1 entries belong to no page of the file; they count for the first page",
    )


def test_pages_of_the_same_name_are_one() -> None:
    """No entry counts twice."""
    page = {"startedDateTime": "2026-01-31T12:00:00Z", "id": "a"}
    (load,) = har_file.loads(read(archives.har(archives.entry(pageref="a"), pages=[page, page])))
    assert len(load.entries) == 1


def test_a_load_whose_document_failed_was_refused() -> None:
    """The reason is the browser's."""
    response = {"status": 0, "_error": "net::ERR_CONNECTION_REFUSED"}
    (load,) = har_file.loads(read(archives.har(archives.entry(response=response))))
    assert (load.load.ended, load.load.reason) == ("refused", "net::ERR_CONNECTION_REFUSED")


@pytest.mark.parametrize(
    ("statuses", "timings", "ended"),
    [
        ((200, 404), {"onLoad": 900}, "loaded"),
        ((301, 200), {"onLoad": 900}, "loaded"),
        ((404, 200), {"onLoad": 900}, "refused"),
        ((301, 503), {"onLoad": 900}, "refused"),
        ((200, 200), {"onLoad": -1}, "unknown"),
        ((200, 200), {}, "unknown"),
    ],
)
def test_only_a_whole_load_of_a_page_has_metrics_of_the_page(
    statuses: tuple[int, ...], timings: dict[str, float], ended: str
) -> None:
    """An error or half a load would look fast; its resources still have their times."""
    moved = {301: {"redirectURL": "/b"}}
    entries = [
        archives.entry(response={"status": status, **moved.get(status, {})}, timings={"wait": 9})
        for status in statuses
    ]
    page = archives.page(pageTimings=timings)
    (one,) = har_file.loads(read(archives.har(*entries, pages=[page])))
    seen = timing.of_load(one.load)
    assert (one.load.ended, bool(one.load.reason)) == (ended, ended != "loaded")
    assert any(not seen.item for seen in seen) == (ended == "loaded")
    assert sum(seen.metric == "resource_time" for seen in seen) == 2


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = st.sampled_from([info.alias or name for name, info in EntryForm.model_fields.items()])


@given(ANY | st.builds(lambda log: {"log": log}, st.dictionaries(st.text(max_size=8), ANY)))
def test_arbitrary_json_is_read_or_refused(stated: Any) -> None:
    """No other exception is raised."""
    _read_or_refused(json.dumps(stated).encode())


@given(st.dictionaries(KEYS, ANY), st.text() | st.just("http://"), ANY)
def test_arbitrary_entries_are_read_or_refused(stated: dict[str, Any], url: str, page: Any) -> None:
    """Every property of a read entry can be used."""
    entry = archives.entry(request={"method": "GET", "url": url}) | stated
    _read_or_refused(archives.as_bytes(archives.har(entry, archives.entry(), pages=[page])))


def _read_or_refused(data: bytes) -> None:
    try:
        document = har_file.read(data)
    except ConfigError:
        return
    for entry in document.entries:
        assert entry.host or not entry.is_on_network
    assert sum(len(load.entries) for load in har_file.loads(document)) == len(document.entries)
