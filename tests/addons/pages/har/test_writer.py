"""HAR 1.2 files that httpbed writes: valid by the published schema, and readable by others."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from haralyzer import HarParser
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft6Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT6

import archives
from httpbed.addons.pages.har import har_file, writer
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest

HERE = Path(__file__).parent
GOLDEN = HERE / "load.har"
PHASES = ("blocked", "dns", "connect", "send", "wait", "receive")


@pytest.fixture(scope="module")
def schema() -> Draft6Validator:
    """Return the published schema, with formats of dates and addresses."""
    files = sorted((HERE / "schema").glob("*.json"))
    parts = [json.loads(file.read_text()) for file in files]
    registry: Registry[Any] = Registry().with_resources(
        (part["$id"], Resource.from_contents(part, default_specification=DRAFT6)) for part in parts
    )
    whole = next(part for part in parts if part["$id"] == "har.json#")
    checker = Draft6Validator.FORMAT_CHECKER
    return Draft6Validator(whole, registry=registry, format_checker=checker)


def entries(load: BrowserLoad) -> list[dict[str, Any]]:
    result = writer.har(load, archives.BEGAN)["log"]["entries"]
    assert isinstance(result, list)
    return result


def test_the_written_form_is_the_golden_one() -> None:
    """A golden file shows each change of the form."""
    written = writer.har(archives.load(), archives.BEGAN, speed_index_s=0.0905)
    written["log"]["creator"]["version"] = "of the test"
    assert written == json.loads(GOLDEN.read_text())


def test_the_written_form_is_valid(schema: Draft6Validator) -> None:
    """The file is valid, and the schema rejects a broken one."""
    written = writer.har(archives.load(), archives.BEGAN, speed_index_s=0.0905)
    assert list(schema.iter_errors(written)) == []
    written["log"]["entries"][0]["serverIPAddress"] = "10.0.0.2:443"
    assert [error.json_path for error in schema.iter_errors(written)] == [
        "$.log.entries[0].serverIPAddress"
    ]


def test_a_public_library_reads_the_written_form() -> None:
    """A public library reads the page, its times, and each entry with its version."""
    (page,) = HarParser(writer.har(archives.load(), archives.BEGAN)).pages
    assert (page.page_id, page.title) == ("page_1", "<script>alert(1)</script>")
    assert page.pageTimings == {"onContentLoad": 61.3, "onLoad": 120.0}
    assert len(page.entries) == len(archives.load().requests)
    assert page.actual_page.url == archives.load().url
    assert {entry.request.httpVersion for entry in page.entries} == {"HTTP/2"}
    # It counts the milliseconds of successful requests, first and last included.
    assert page.get_load_time(request_type="GET") == 102
    assert [entry.status for entry in page.entries] == [200, 200, 200, 0, 302]


@pytest.mark.parametrize(
    ("version", "name"), [("1.1", "HTTP/1.1"), ("h2", "HTTP/2"), ("3", "HTTP/3"), ("", "unknown")]
)
def test_versions_are_named_as_the_standard_names_them(version: str, name: str) -> None:
    """In request and response."""
    load = dataclasses.replace(archives.load(), requests=(archives.document(http_version=version),))
    (entry,) = entries(load)
    assert (entry["request"]["httpVersion"], entry["response"]["httpVersion"]) == (name, name)


MOMENTS = st.none() | st.floats(0, 1000)
TIMES = [field.name for field in dataclasses.fields(PageRequest) if field.name.endswith("_s")]


@given(st.fixed_dictionaries(dict.fromkeys(TIMES, MOMENTS)))
def test_phases_add_up_for_any_times(times: dict[str, float | None]) -> None:
    """Phases add up to the time, and none is negative, in whatever order times come."""
    for entry in entries(
        BrowserLoad("u", "loaded", requests=(archives.fetched("x", 0.0, **times),))
    ):
        lengths = [entry["timings"][name] for name in PHASES]
        assert all(length == -1 or length >= 0 for length in lengths)
        assert sum(length for length in lengths if length != -1) == pytest.approx(
            entry["time"], abs=1e-6
        )
        ssl, connect = entry["timings"]["ssl"], entry["timings"]["connect"]
        assert ssl <= connect or ssl == -1


@pytest.mark.parametrize(
    ("headers", "size"),
    [
        ((("Content-Length", "77"),), 77),
        ((("content-encoding", "gzip"),), -1),
        ((("content-length", "9" * 400),), 10_000),
        ((), 10_000),
    ],
)
def test_a_written_body_has_its_length_on_the_wire(
    headers: tuple[tuple[str, str], ...], size: int
) -> None:
    """The server's header, or an uncompressed body's length; otherwise unknown."""
    request = archives.fetched("x", 0.0, response_headers=headers)
    assert (
        entries(BrowserLoad("u", "loaded", requests=(request,)))[0]["response"]["bodySize"] == size
    )


def test_a_written_load_is_read_back() -> None:
    """All that a HAR file has of a load, to the microsecond."""
    load = archives.load()
    written = json.dumps(writer.har(load, archives.BEGAN, speed_index_s=0.0905)).encode()
    (back,) = har_file.loads(har_file.read(written))
    assert (back.page, back.speed_index_s) == ("page_1", 0.0905)
    assert (back.load.onload_s, back.load.title) == (load.onload_s, load.title)
    for before, after in zip(load.requests, back.load.requests, strict=True):
        for name in ("url", "http_version", "status", "failed", "kind", "priority", "connection"):
            assert getattr(after, name) == getattr(before, name)
        for name in ("wire_bytes", "body_bytes", "from_cache", "initiator", "redirected_to"):
            assert getattr(after, name) == getattr(before, name)
        for name in ("queued_s", "started_s", "send_end_s", "headers_end_s", "ended_s"):
            if getattr(before, name) is not None and not before.from_cache:
                assert getattr(after, name) == pytest.approx(getattr(before, name), abs=2e-6)
