"""How long an answer's body was as it was sent, and for how long its server thought about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from httpbed.web.har.entries import HarEntry
from httpbed.web.sites.replay.selection import WITHOUT_BODY, ReplayedRequest

_HEAD_SHARE = 0.5
"""Of a head's text, about as much is sent of it over HTTP/2 and HTTP/3 (RFC 7541, RFC 9204)."""


@dataclass(frozen=True)
class Size:
    """Length of a body as it was sent."""

    bytes: int
    is_told: bool
    """Whether the recording tells it, or what it follows from, and not only something near it."""


def body_size(entry: HarEntry) -> Size:
    """Find how long an answer's body was on the wire, by the best that the recording tells."""
    if entry.status in WITHOUT_BODY or entry.method.upper() == "HEAD":
        return Size(0, is_told=True)
    announced = content_length(entry)
    sent = entry.sent_body_bytes
    if sent or (sent == 0 and not announced and not entry.body_bytes):
        return Size(sent or 0, is_told=True)
    if announced is not None:
        return Size(announced, is_told=True)
    if entry.wire_bytes is not None:
        return _without_head(entry, entry.wire_bytes)
    if entry.body_bytes is not None:
        return Size(entry.body_bytes, is_told=not header(entry, "content-encoding"))
    return Size(0, is_told=sent == 0)


def _without_head(entry: HarEntry, wire: int) -> Size:
    if entry.headers_bytes:
        return Size(max(0, wire - entry.headers_bytes), is_told=True)
    text = sum(len(name) + len(value) + 4 for name, value in entry.response_headers)
    return Size(max(0, wire - int(text * _HEAD_SHARE)), is_told=False)


def content_length(entry: HarEntry) -> int | None:
    """Return the length that the answer announced."""
    said = header(entry, "content-length").strip()
    return int(said) if said.isascii() and said.isdigit() and len(said) < 16 else None  # noqa: PLR2004 - digits


def header(entry: HarEntry, name: str) -> str:
    """Return a field of the answer's head; empty where it has none."""
    return next((value for said, value in entry.response_headers if said.lower() == name), "")


def round_trips_s(asked: Iterable[ReplayedRequest]) -> Mapping[str, float]:
    """Return each host's round-trip time in the recording, where its connects tell.

    A TCP connect without its TLS takes one (of what some tools tell, the TLS is not a part), and so
    does QUIC's handshake, of which all is TLS. The least of them is nearest to an idle network's.
    """
    found: dict[str, float] = {}
    for one in asked:
        said = one.entry.timings
        tcp = (said.connect or 0.0) - (said.ssl or 0.0)
        took = tcp if tcp > 0 else said.connect
        if took:
            found[one.host] = min(took, found.get(one.host, took))
    return found


def delay_s(entry: HarEntry, round_trip_s: float) -> float:
    """Return for how long the server thought: what was waited for besides the round trip."""
    return round(max(0.0, (entry.timings.wait or 0.0) - round_trip_s), 4)
