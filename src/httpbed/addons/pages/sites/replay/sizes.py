"""Length of a response's body on the wire, and delay of its server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from httpbed.addons.har.entries import HarEntry
from httpbed.addons.pages.sites.replay.selection import WITHOUT_BODY, SelectedRequest

_HEAD_SHARE = 0.5
"""Share of a head's text that HTTP/2 and HTTP/3 send (RFC 7541, RFC 9204), approximately."""


@dataclass(frozen=True)
class Size:
    """Length of a body on the wire."""

    bytes: int
    is_exact: bool
    """Whether the file has this length or what it follows from, rather than an approximation."""


def body_size(entry: HarEntry) -> Size:
    """Return a body's length on the wire, from the most exact figure in the file."""
    if entry.status in WITHOUT_BODY or entry.method.upper() == "HEAD":
        return Size(0, is_exact=True)
    announced = content_length(entry)
    sent = entry.sent_body_bytes
    if sent or (sent == 0 and not announced and not entry.body_bytes):
        return Size(sent or 0, is_exact=True)
    if announced is not None:
        return Size(announced, is_exact=True)
    if entry.wire_bytes is not None:
        return _without_head(entry, entry.wire_bytes)
    if entry.body_bytes is not None:
        return Size(entry.body_bytes, is_exact=not header(entry, "content-encoding"))
    return Size(0, is_exact=sent == 0)


def _without_head(entry: HarEntry, wire: int) -> Size:
    if entry.headers_bytes:
        return Size(max(0, wire - entry.headers_bytes), is_exact=True)
    text = sum(len(name) + len(value) + 4 for name, value in entry.response_headers)
    return Size(max(0, wire - int(text * _HEAD_SHARE)), is_exact=False)


def content_length(entry: HarEntry) -> int | None:
    """Return the content length of the response's header."""
    length = header(entry, "content-length").strip()
    # digits
    return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None


def header(entry: HarEntry, name: str) -> str:
    """Return a field of the response's head; empty if missing."""
    return next((value for own, value in entry.response_headers if own.lower() == name), "")


def round_trips_s(requests: Iterable[SelectedRequest]) -> Mapping[str, float]:
    """Return each host's round-trip time, from the recorded connects.

    A TCP connect without TLS takes one round trip; some tools' figure does not include TLS. So does
    QUIC's handshake, which is all TLS. The minimum is closest to that of an idle network.
    """
    shortest: dict[str, float] = {}
    for one in requests:
        timings = one.entry.timings
        tcp = (timings.connect or 0.0) - (timings.ssl or 0.0)
        took = tcp if tcp > 0 else timings.connect
        if took:
            shortest[one.host] = min(took, shortest.get(one.host, took))
    return shortest


def delay_s(entry: HarEntry, round_trip_s: float) -> float:
    """Return the server's delay: the recorded wait less the round trip."""
    return round(max(0.0, (entry.timings.wait or 0.0) - round_trip_s), 4)
