"""Verdicts on the claims on HAR files: supported, contradicted, undecided, not claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import archives
from httpbed.addons.pages.har import har_audit, har_file
from httpbed.addons.pages.har.har_audit import AuditResult, Claims, Transfer

DIALECTS = Path(__file__).parents[1] / "addons/pages/har/dialects"
RTT = Claims(rtt_s=0.040)


def audit(claims: Claims, *entries: dict[str, Any]) -> dict[str, AuditResult]:
    """Audit a HAR file of these entries; return findings by what they are about."""
    (archived,) = har_file.loads(har_file.read(archives.as_bytes(archives.har(*entries))))
    return {result.about: result for result in har_audit.audit(archived, claims)}


def answered(version: str = "h3", status: int = 200, **timings: float) -> dict[str, Any]:
    """Make an entry that was answered over a version of HTTP."""
    response = {"status": status, "httpVersion": version}
    return archives.entry(response=response, timings={"send": 0, "receive": 0} | timings)


def transfer(at_ms: float, took_ms: float, size: int) -> dict[str, Any]:
    """Make an entry whose response came in a time, asked for at another."""
    return archives.entry(
        startedDateTime=f"2026-01-31T12:00:{at_ms / 1000:09.6f}Z",
        response={"status": 200, "_transferSize": size},
        timings={"send": 0, "wait": took_ms, "receive": 0},
    )


@pytest.mark.parametrize(
    ("versions", "verdict", "text"),
    [
        (["h3", "HTTP/3", "h3-29"], "supported", "all 3 over HTTP/3"),
        (["h3", "h2", "h3"], "contradicted", "1 of 3 (33.33 %) were not over HTTP/3"),
        (["h2", "h3"], "contradicted", "1 origins changed to it on the way"),
        (["h3", "h2"], "contradicted", "1 origins ended below it"),
        (["h3", ""], "undecided", "1 of 2 do not tell their version"),
        (["h3", "unknown"], "undecided", "1 of 2 do not tell their version"),
        (["spdy/3.1"], "contradicted", "spdy/3.1: 1"),
    ],
)
def test_every_response_speaks_for_the_protocol(
    versions: list[str], verdict: str, text: str
) -> None:
    """One stray is enough; one that tells nothing leaves it open."""
    found = audit(Claims(http_version="3"), *map(answered, versions))["protocol"]
    assert found.verdict == verdict
    assert text in found.text


def test_without_claims_the_mix_of_versions_is_reported() -> None:
    """Requests without an HTTP version are left out."""
    found = audit(Claims(), answered("h2"), answered("h2"), answered("http/1.1"))["protocol"]
    assert (found.verdict, found.text) == ("not claimed", "HTTP/2: 2, HTTP/1.1: 1")


@pytest.mark.parametrize(
    ("waits", "verdict", "places"),
    [
        ([41, 300], "supported", ()),
        ([39.5, 300], "supported", ()),  # a clock's millisecond
        ([38, 41, 20], "contradicted", (0, 2)),
        ([150, 300], "undecided", ()),  # a slow server, or a longer path
    ],
)
def test_no_answer_is_faster_than_a_round_trip(
    waits: list[float], verdict: str, places: tuple[int, ...]
) -> None:
    """Where it is, it came from nearer by."""
    found = audit(RTT, *[answered(wait=wait) for wait in waits])["responses"]
    assert (found.verdict, found.entries) == (verdict, places)


@pytest.mark.parametrize(
    ("version", "connect", "verdict"),
    [
        ("h2", 85, "supported"),
        ("http/1.1", 45, "supported"),
        ("h2", 30, "contradicted"),
        ("h2", 900, "undecided"),
        ("h3", 44, "supported"),
        ("h3", 3, "undecided"),  # 0-RTT
    ],
)
def test_connections_take_round_trips(version: str, connect: float, verdict: str) -> None:
    """TCP at least one, QUIC none where it resumes."""
    found = audit(RTT, answered(version, dns=1, connect=connect, ssl=1, wait=41))
    (about,) = [name for name in found if name.startswith("connections")]
    assert found[about].verdict == verdict


@pytest.mark.parametrize("name", ["chrome-har-capturer-0.14.4.har", "chrome-har-1.3.1.har"])
def test_a_set_up_of_which_chrome_tells_the_rest_proves_nothing(name: str) -> None:
    """Five of six connections begin with their request: as if set up in less than 40 ms."""
    (archived,) = har_file.loads(har_file.read_file(DIALECTS / name))
    claims = Claims(http_version="1.1", rtt_s=0.040, rate_bit_s=10**7, visit="cold")
    found = {result.about: result for result in har_audit.audit(archived, claims)}
    verdicts = {about: one.verdict for about, one in found.items()}
    assert verdicts.pop("rate") == "undecided"
    assert {verdicts.pop(about) for about in ("failed requests", "redirects")} == {"not claimed"}
    assert set(verdicts.values()) == {"supported"}
    assert found["connections over TCP"].text.startswith("the fastest of 1 was set up in 86")


@pytest.mark.parametrize(
    ("rate_bit_s", "verdict", "text"),
    [
        (None, "not claimed", "500 kB came in 400 ms: 9.98 Mbit/s"),
        (10_000_000, "supported", "500 kB came in 400 ms: 9.98 Mbit/s"),
        (30_000_000, "undecided", "9.98 Mbit/s"),
        (9_000_000, "supported", "9.98 Mbit/s"),  # a burst of 64 KiB may be faster
        (5_000_000, "contradicted", "66 kB of it a burst, the rest takes 8.67 Mbit/s"),
    ],
)
def test_no_stretch_is_faster_than_the_link(
    rate_bit_s: int | None, verdict: str, text: str
) -> None:
    """Three responses share a link: 500 kB in 400 ms are 10 Mbit/s."""
    three = [transfer(0, 200, 125_000), transfer(100, 300, 125_000), transfer(100, 290, 250_000)]
    found = audit(Claims(rate_bit_s=rate_bit_s), *three)["rate"]
    assert found.verdict == verdict
    assert text in found.text


@pytest.mark.parametrize(("size", "verdict"), [(60_000, "undecided"), (90_000, "contradicted")])
def test_little_bears_no_rate_out(size: int, verdict: str) -> None:
    """Bursts and slow start are most of it; but what is more than a burst is too much."""
    found = audit(Claims(rate_bit_s=10**6), transfer(0, 1, size))["rate"]
    assert found.verdict == verdict


@given(
    st.lists(
        st.tuples(st.floats(0, 5), st.floats(0.01, 5), st.integers(1, 200_000)),
        min_size=1,
        max_size=20,
    ),
    st.integers(10**5, 10**8),
)
def test_what_a_link_carried_never_contradicts_its_rate(
    asked: list[tuple[float, float, int]], rate_bit_s: int
) -> None:
    """Responses queue behind each other on a link; together they are more than one burst."""
    assume(sum(size for *_, size in asked) > har_audit.ALLOWANCE_BYTES)
    free, transfers = 0.0, []
    for start, _, size in sorted(asked):
        free = max(free, start) + size * 8 / rate_bit_s
        transfers.append(Transfer(start, free, size, 0))
    found = har_audit.beyond_a_burst(transfers)
    assert found is not None
    assert found.bit_s <= rate_bit_s


def test_the_fastest_stretch_is_found_among_slow_ones() -> None:
    """Wherever it is; nothing else is counted in."""
    slow = [Transfer(at, at + 1, 1000, 0) for at in np.arange(0, 20, 0.5)]
    fastest = har_audit.fastest([*slow, Transfer(7.1, 7.2, 500_000, 3)])
    assert fastest is not None
    assert (fastest.entries, fastest.bytes) == ((3,), 500_000)
    assert fastest.seconds == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [(None, "not claimed"), ("cold", "contradicted"), ("repeat view", "supported")],
)
def test_caches(claimed: str | None, verdict: str) -> None:
    """A cold load finds nothing in one."""
    kept = answered(wait=1) | {"_fromCache": "memory"}
    found = audit(Claims(visit=claimed), answered(wait=1), kept, answered(status=304))["cache"]
    assert (found.verdict, found.text) == (verdict, "1 from a cache, 1 not modified, of 3")
    assert audit(Claims(visit="cold"), answered())["cache"].verdict == "supported"
    assert audit(Claims(visit="repeat view"), answered())["cache"].verdict == "undecided"


def test_failures_and_redirects_are_reported_with_their_places() -> None:
    """Each sort by itself."""
    refused = archives.entry(response={"status": 0, "_error": "net::ERR_TIMED_OUT"})
    moved = archives.entry(response={"status": 302, "redirectURL": "/b"})
    found = audit(Claims(), answered(), refused, answered(status=404), moved)
    assert found["failed requests"].text == (
        "1 without a response, 1 with an error, of 4; net::ERR_TIMED_OUT: 1"
    )
    assert found["failed requests"].entries == (1, 2)
    assert (found["redirects"].text, found["redirects"].entries) == ("1 of 4", (3,))


@pytest.mark.parametrize(
    ("time", "timings", "verdict"),
    [
        (100, {"blocked": 50, "wait": 50, "dns": -1}, "supported"),
        (100.9, {"wait": 100}, "supported"),
        (150, {"wait": 100}, "contradicted"),
        (100, {"connect": 10, "ssl": 60, "wait": 90}, "contradicted"),
        (160, {"connect": 10, "ssl": 60, "wait": 90}, "supported"),  # beside each other
        (-1, {"wait": 100}, "undecided"),
        (100, {}, "undecided"),
    ],
)
def test_phases_add_up_to_the_time(time: float, timings: dict[str, float], verdict: str) -> None:
    """As HAR 1.2 demands, TLS within the connection: beside it only where that adds up."""
    found = audit(Claims(), archives.entry(time=time, timings=timings))["timings"]
    assert found.verdict == verdict


def test_what_is_not_http_is_not_judged() -> None:
    """Script and data never crossed a network."""
    strange = [{"method": "GET", "url": url} for url in ("javascript:alert(1)", "data:,a")]
    found = audit(Claims(http_version="3"), *[archives.entry(request=one) for one in strange])
    assert found["protocol"].verdict == "undecided"
