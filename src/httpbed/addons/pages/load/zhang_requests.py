"""A load in the form in which Zhang and Song stored each request (2023, figure 8).

::

    {"requestId", "url", "timestamp", "protocol", "dataLength", "responseUrl", "timing"}

``timestamp`` is the end of the request and ``timing.requestTime`` its start, in seconds of the
clock of the Chrome DevTools Protocol. All else in ``timing`` is in milliseconds since then; -1
means
no time. ``dataLength`` counts the decoded body's bytes. Their round-trip time is
``receiveHeadersEnd - sendStart``.
"""

from __future__ import annotations

from typing import Any

from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest

_ALPN = {"1.0": "http/1.0", "1.1": "http/1.1", "2": "h2", "3": "h3"}
_NOT_THERE = -1
_NEVER_REPORTED = (
    "proxyStart",
    "proxyEnd",
    "workerStart",
    "workerReady",
    "workerFetchStart",
    "workerRespondWithSettled",
)


def requests(load: BrowserLoad) -> list[dict[str, Any]]:
    """Return the requests that used the network, in the order in which the page made them."""
    began_s = (load.navigation_ns or 0) / 1e9
    return [_request(one, began_s) for one in load.on_network()]


def _request(request: PageRequest, began_s: float) -> dict[str, Any]:
    return {
        "requestId": request.id,
        "url": request.url,
        "timestamp": _clock(request.ended_s, began_s),
        "protocol": _ALPN.get(request.http_version, request.http_version),
        "dataLength": request.body_bytes,
        "responseUrl": request.url.partition("#")[0] if request.status else "",
        "timing": _timing(request, began_s),
    }


def _timing(request: PageRequest, began_s: float) -> dict[str, float]:
    times = {
        "dnsStart": request.dns_start_s,
        "dnsEnd": request.dns_end_s,
        "connectStart": request.connect_start_s,
        "connectEnd": request.connect_end_s,
        "sslStart": request.tls_start_s,
        "sslEnd": request.tls_end_s,
        "sendStart": request.send_start_s,
        "sendEnd": request.send_end_s,
        "receiveHeadersEnd": request.headers_end_s,
    }
    since = request.started_s if request.started_s is not None else request.queued_s or 0.0
    return {
        "requestTime": _clock(since, began_s),
        **dict.fromkeys(_NEVER_REPORTED, _NOT_THERE),
        **{name: _ms(at_s, since) for name, at_s in times.items()},
        "pushStart": 0,
        "pushEnd": 0,
    }


def _ms(at_s: float | None, since_s: float) -> float:
    return _NOT_THERE if at_s is None else round((at_s - since_s) * 1000, 3)


def _clock(at_s: float | None, began_s: float) -> float:
    return _NOT_THERE if at_s is None else round(began_s + at_s, 6)
