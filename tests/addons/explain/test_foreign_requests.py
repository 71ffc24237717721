from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.explain.explanation import Explained
from httpbed.addons.explain.foreign import evidence_file, requests
from httpbed.base.errors import ConfigError

NS = 1_000_000_000


def entry(url: str, **timings: float) -> dict[str, Any]:
    return {
        "startedDateTime": "2026-01-01T00:00:00.000Z",
        "request": {"method": "GET", "url": url, "httpVersion": "h2"},
        "response": {"status": 200, "httpVersion": "h2", "bodySize": 1000},
        **({"timings": timings} if timings else {}),
    }


def har(folder: Path, *entries: dict[str, Any]) -> Path:
    path = folder / "page.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    return path


def costs(one: Explained) -> dict[str, float]:
    return {name: ns / NS for name, ns in one.division.costs().items()}


WHOLE = entry(
    "https://a.example/",
    blocked=10,
    dns=20,
    connect=130,
    ssl=80,
    send=1,
    wait=250,
    receive=400,
)


def test_phases_become_causes_and_the_handshake_divides_the_wait(tmp_path: Path) -> None:
    one = requests.read(har(tmp_path, WHOLE), "HAR", None).answer
    found = costs(one)
    assert found["client"] == pytest.approx(0.010)
    assert found["set-up"] == pytest.approx(0.150)
    assert found["path"] == pytest.approx(0.051)  # a round trip of 50 ms
    assert found["server"] == pytest.approx(0.200)
    assert found["unknown"] == pytest.approx(0.400)
    time, cause, *_ = one.sentences()
    assert "link" not in time
    assert cause.startswith("Of what is known, server cost most, 200 ms")


def test_without_a_handshake_the_wait_is_unknown(tmp_path: Path) -> None:
    path = har(tmp_path, entry("https://a.example/b", send=1, wait=250, receive=50))
    one = requests.read(path, "HAR", None).answer
    assert costs(one)["unknown"] == pytest.approx(0.300)
    assert "server" not in costs(one)


def test_the_longest_request_is_explained_or_the_one_that_is_named(tmp_path: Path) -> None:
    path = har(tmp_path, WHOLE, entry("https://a.example/small", wait=3, receive=1))
    found = requests.read(path, "HAR", None)
    assert [line.name for line in found.lines] == ["https://a.example/", "https://a.example/small"]
    one = requests.read(path, "HAR", "small").answer
    assert costs(one) == {"path": pytest.approx(0.003), "unknown": pytest.approx(0.001)}
    with pytest.raises(ConfigError, match="nothing"):
        requests.read(path, "HAR", "nothing")


def test_a_har_without_timings_is_not_divided_and_the_remedy_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="export it with timings"):
        requests.read(har(tmp_path, entry("https://a.example/")), "HAR", None)


@pytest.mark.parametrize("text", ['{"log": {"entries": 3}}', '{"log": {', '{"log": {}}'])
def test_a_damaged_har_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "page.har"
    path.write_text(text)
    with pytest.raises(ConfigError):
        requests.read(path, "HAR", None)


TYPES = {
    "REQUEST_ALIVE": 1,
    "URL_REQUEST_START_JOB": 2,
    "HTTP_STREAM_REQUEST": 3,
    "HTTP_TRANSACTION_SEND_REQUEST": 4,
    "HTTP_TRANSACTION_READ_HEADERS": 5,
    "URL_REQUEST_JOB_BYTES_READ": 6,
}


def netlog(folder: Path, *, cut: bool = False) -> Path:
    def event(name: str, phase: int, time: int, **params: Any) -> str:
        source = {"id": 7, "type": 1}
        kind = TYPES[name]
        values = {"phase": phase, "source": source, "time": str(time), "type": kind}
        return json.dumps({**values, "params": params})

    events = [
        event("REQUEST_ALIVE", 1, 1000),
        event("URL_REQUEST_START_JOB", 1, 1005, url="https://a.example/file"),
        event("HTTP_STREAM_REQUEST", 1, 1010),
        event("HTTP_STREAM_REQUEST", 2, 1110),
        event("HTTP_TRANSACTION_SEND_REQUEST", 1, 1110),
        event("HTTP_TRANSACTION_SEND_REQUEST", 2, 1112),
        event("HTTP_TRANSACTION_READ_HEADERS", 1, 1112),
        event("HTTP_TRANSACTION_READ_HEADERS", 2, 1312),
        event("URL_REQUEST_JOB_BYTES_READ", 0, 1400, byte_count=5000),
        event("REQUEST_ALIVE", 2, 1800),
    ]
    text = json.dumps({"constants": {"logEventTypes": TYPES}})[:-1] + ',\n"events": [\n'
    text += ",\n".join(events) + "]}\n"
    path = folder / "netlog.json"
    path.write_text(text[:-40] if cut else text)
    return path


def test_a_netlog_has_the_phases_of_each_request(tmp_path: Path) -> None:
    path = netlog(tmp_path)
    assert evidence_file.kind_of(path) == "netlog"
    found = requests.read(path, "netlog", None)
    assert found.lines[0].amount == 5000
    expected = {"client": 0.010, "set-up": 0.100, "path": 0.002, "unknown": 0.688}
    assert costs(found.answer) == pytest.approx(expected)


def test_a_netlog_that_is_cut_off_has_no_request_that_ended(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ended"):
        requests.read(netlog(tmp_path, cut=True), "netlog", None)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\x1f\x8b\x08", "compressed"),
        (b"hello", "none of the files"),
        (b'{"a": 1}', "none of the files"),
    ],
)
def test_other_files_are_refused_with_what_to_give(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=reason):
        evidence_file.kind_of(path)
