"""Writes a load as a HAR 1.2 file.

``httpVersion`` is RFC 9110's name: ``HTTP/1.1``, ``HTTP/2``, ``HTTP/3``. The specification says
only
"request HTTP version", with ``HTTP/1.1`` as its example. Firefox and WebPageTest write these names,
Chrome ``http/2.0`` and ``h3``; careful readers accept all.

Phases (:mod:`~httpbed.addons.pages.load.timing`) add up to ``time`` to the microsecond. An absent
phase is -1, or 0 where the specification requires a number. Fields with an underscore have Chrome's
names.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from httpbed.addons.pages.load.browser_load import (
    BrowserLoad,
    Headers,
    PageRequest,
    name_of,
    version_of,
)
from httpbed.addons.pages.load.timing import begun_s, phases

PAGE = "page_1"
UNKNOWN = -1
_US_IN_MS = 1000


def har(
    load: BrowserLoad,
    started: datetime,
    *,
    speed_index_s: float | None = None,
    bodies: Mapping[str, tuple[bytes, bool]] | None = None,
) -> dict[str, Any]:
    """Return the object of a HAR file.

    ``started`` is the calendar time of the navigation's start. ``bodies`` are those of
    responses by the browser's number of the request, each with whether it is binary.
    """
    began = started.astimezone(UTC)
    entries = [
        _entry(request, began, _body(request, bodies or {}))
        for request in load.requests
        if begun_s(request) is not None
    ]
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "httpbed", "version": version("httpbed")},
            "browser": _browser(load.product),
            "pages": [_page(load, began, speed_index_s)],
            "entries": sorted(entries, key=lambda entry: str(entry["startedDateTime"])),
        }
    }


def _browser(product: str) -> dict[str, str]:
    name, _, its_version = product.partition("/")
    return {"name": name or "unknown", "version": its_version}


def _page(load: BrowserLoad, began: datetime, speed_index_s: float | None) -> dict[str, Any]:
    figures = {
        "_speedIndex": speed_index_s,
        "_firstContentfulPaint": load.first_contentful_paint_s,
        "_largestContentfulPaint": load.largest_contentful_paint_s,
    }
    known = {name: _ms(value) for name, value in figures.items() if value is not None}
    return {
        "startedDateTime": _date(began),
        "id": PAGE,
        "title": load.title or load.url,
        "pageTimings": {
            "onContentLoad": _ms(load.content_loaded_s),
            "onLoad": _ms(load.onload_s),
        },
        "_visit": load.visit,
        "_ended": load.ended,
        **({"comment": load.reason} if load.reason else {}),
        **known,
    }


def _body(request: PageRequest, bodies: Mapping[str, tuple[bytes, bool]]) -> dict[str, str]:
    """Return the text of a response's body; the last response of a redirect has it."""
    number = re.sub(r"-[0-9]+$", "", request.id)  # as cdp_requests tells redirects apart
    if request.redirected_to or number not in bodies:
        return {}
    content, is_binary = bodies[number]
    if is_binary:
        return {"text": base64.b64encode(content).decode(), "encoding": "base64"}
    return {"text": content.decode(errors="replace")}


def _entry(request: PageRequest, began: datetime, body: Mapping[str, str]) -> dict[str, Any]:
    timings = _timings(request)
    lengths = [timings[name] for name in timings if name not in ("ssl", "_blocked_queueing")]
    time_us = sum(round(length * _US_IN_MS) for length in lengths if length != UNKNOWN)
    address = _address(request.remote)
    return {
        "pageref": PAGE,
        "startedDateTime": _date(began + timedelta(seconds=begun_s(request) or 0.0)),
        "time": time_us / _US_IN_MS,
        "request": _request(request),
        "response": _response(request, body),
        "cache": {},
        "timings": timings,
        **({"serverIPAddress": address} if address else {}),
        **({"connection": request.connection} if request.connection else {}),
        **({"_fromCache": "disk"} if request.from_cache else {}),
        "_priority": request.priority,
        "_resourceType": request.kind.lower(),
        "_initiator": _initiator(request),
        "_requestId": request.id,
    }


def _timings(request: PageRequest) -> dict[str, float]:
    us = {phase.kind: _us(phase.end_s) - _us(phase.begin_s) for phase in phases(request)}
    timings = {name: us[name] / _US_IN_MS if name in us else -1 for name in _OPTIONAL}
    timings["ssl"] = UNKNOWN
    timings |= {name: us.get(name, 0) / _US_IN_MS for name in ("send", "wait", "receive")}
    if request.tls_start_s is not None and request.tls_end_s is not None and "connect" in us:
        tls_us = max(0, _us(request.tls_end_s) - _us(request.tls_start_s))
        timings["ssl"] = min(tls_us, us["connect"]) / _US_IN_MS
    if request.queued_s is not None and request.started_s is not None:
        waited = max(0, _us(request.started_s) - _us(request.queued_s))
        timings["_blocked_queueing"] = min(waited, us.get("blocked", 0)) / _US_IN_MS
    return timings


_OPTIONAL = ("blocked", "dns", "connect")


def _request(request: PageRequest) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.url,
        "httpVersion": _version(request),
        "cookies": list(_cookies(request.request_headers, "cookie")),
        "headers": _named(request.request_headers),
        "queryString": _named(_query(request.url)),
        "headersSize": UNKNOWN,
        "bodySize": UNKNOWN,
    }


def _response(request: PageRequest, body: Mapping[str, str]) -> dict[str, Any]:
    content = {"size": request.body_bytes, "mimeType": request.mime_type or "x-unknown"}
    return {
        "status": request.status,
        "statusText": "",
        "httpVersion": _version(request),
        "cookies": list(_cookies(request.response_headers, "set-cookie")),
        "headers": _named(request.response_headers),
        "content": {**content, **body},
        "redirectURL": request.redirected_to,
        "headersSize": UNKNOWN,
        "bodySize": _body_size(request),
        "_transferSize": request.wire_bytes,
        **({"_error": request.failed} if request.failed else {}),
    }


def _version(request: PageRequest) -> str:
    return name_of(version_of(request.http_version)) or "unknown"


def _body_size(request: PageRequest) -> int:
    """Return the body's length on the wire; browsers report it only together with the head's."""
    if request.from_cache or request.status == 304:  # RFC 9110: not modified
        return 0
    fields = {name.lower(): value for name, value in request.response_headers}
    length = fields.get("content-length", "")
    if length.isascii() and length.isdecimal() and len(length) <= 15:  # a petabyte
        return int(length)
    return UNKNOWN if "content-encoding" in fields else request.body_bytes


def _named(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []


def _cookies(headers: Headers, field: str) -> Iterator[dict[str, str]]:
    """Yield names and values; the header has a set cookie's other attributes."""
    for name, value in headers:
        if name.lower() == field:
            pairs = value.split(";") if field == "cookie" else value.split(";")[:1]
            for pair in pairs:
                cookie, _, its_value = pair.strip().partition("=")
                yield {"name": cookie, "value": its_value}


def _initiator(request: PageRequest) -> dict[str, str]:
    url = {"url": request.initiator} if request.initiator else {}
    return {"type": request.initiator_kind or "other"} | url


def _address(remote: str) -> str:
    """Return the address without its port; empty if it is not an address."""
    for text in (remote, remote.rpartition(":")[0]):
        try:
            return str(ipaddress.ip_address(text.strip("[]")))
        except ValueError:
            continue
    return ""


def _us(seconds: float) -> int:
    return round(seconds * 1e6)


def _ms(seconds: float | None) -> float:
    return UNKNOWN if seconds is None else _us(seconds) / _US_IN_MS


def _date(at: datetime) -> str:
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
