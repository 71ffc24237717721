"""Builds the requests of a load from events of the Chrome DevTools Protocol.

A request's events come in any order and in several sessions, because a frame of another origin has
its own session; but its ID is the same in the whole browser. A redirect begins a new request with
the same ID: its ``requestWillBeSent`` has the response of the redirect. ``...ExtraInfo`` events
describe what was on the network, in order, once for each request that used it. Only they show a
304, for which the page sees the cached 200.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from httpbed.addons.pages.load import lenient_json
from httpbed.addons.pages.load.browser_load import PageRequest, version_of
from httpbed.addons.pages.load.lenient_json import JsonObject

MAX_REQUESTS = 5000
MS = 1e-3
FORBIDDEN = "inspector"
"""Blocked reason of requests that the driver has forbidden."""


@dataclass
class _RequestEvents:
    sent: JsonObject
    response: JsonObject = field(default_factory=dict)
    has_extra: bool | None = None
    """Whether the browser announces ``...ExtraInfo``; None if it has not said."""
    leads_on: bool = False
    cached: bool = False
    kind: str = ""
    body_bytes: int = 0
    body_wire_bytes: int = 0
    parts: list[tuple[float, int]] = field(default_factory=list)
    wire_bytes: int | None = None
    """Bytes of a complete response's header and body."""
    ended: float | None = None
    failed: str = ""


@dataclass
class _Chain:
    """All requests with one ID, and their ExtraInfo events."""

    hops: list[_RequestEvents] = field(default_factory=list)
    request_extras: list[JsonObject] = field(default_factory=list)
    response_extras: list[JsonObject] = field(default_factory=list)


class RequestCollector:
    """Collects events, and builds requests from them."""

    def __init__(self) -> None:
        self.left_out = 0
        """Number of requests beyond ``MAX_REQUESTS``."""
        self._chains: dict[str, _Chain] = {}
        self._early: dict[str, _Chain] = {}
        """Events of IDs whose request has not been reported, or never is."""
        self._order: list[tuple[str, int]] = []
        self._of = {
            "requestWillBeSent": self._sent,
            "requestWillBeSentExtraInfo": self._sent_extra,
            "responseReceived": self._received,
            "responseReceivedExtraInfo": self._received_extra,
            "requestServedFromCache": self._served,
            "dataReceived": self._data,
            "loadingFinished": self._finished,
            "loadingFailed": self._failed,
        }
        self._forbidden: set[str] = set()
        """Requests that the driver kept the browser from sending."""

    def take(self, method: str, params: JsonObject) -> None:
        """Handle an event; events of other domains are ignored."""
        domain, _, event = method.partition(".")
        key = lenient_json.text(params, "requestId", 200)
        if domain == "Network" and key and (how := self._of.get(event)):
            how(key, params)

    def requests(self, zero: float) -> tuple[PageRequest, ...]:
        """Return the requests, in the order in which the page made them.

        Args:
            zero: Start of the navigation on the browser's clock, in seconds.
        """
        built = {
            (key, number): _RequestBuilder(hop, zero, request_extra, response_extra).request(
                f"{key}-{number}" if number else key, onward
            )
            for key, chain in self._chains.items()
            for number, hop, request_extra, response_extra, onward in _with_extras(chain)
        }
        return tuple(built[place] for place in self._order if place[0] not in self._forbidden)

    def _chain(self, key: str) -> _Chain:
        """Return the chain of an ID, even if its request is not reported yet."""
        if (known := self._chains.get(key)) is not None:
            return known
        if key not in self._early and len(self._early) >= MAX_REQUESTS:
            return _Chain()
        return self._early.setdefault(key, _Chain())

    def _last(self, key: str) -> _RequestEvents | None:
        chain = self._chains.get(key)
        return chain.hops[-1] if chain and chain.hops else None

    def _sent(self, key: str, params: JsonObject) -> None:
        before = self._last(key)
        led = lenient_json.part(params, "redirectResponse")
        if before and not led:  # the same request, reported in another session
            return
        if before:
            before.response, before.leads_on = led, True
            before.has_extra = params.get("redirectHasExtraInfo") is True
            before.wire_bytes = lenient_json.count(led, "encodedDataLength")
            before.ended = lenient_json.number(params, "timestamp")
        if len(self._order) >= MAX_REQUESTS:
            self.left_out += 1
            return
        if key not in self._chains:
            self._chains[key] = self._early.pop(key, _Chain())
        chain = self._chains[key]
        self._order.append((key, len(chain.hops)))
        chain.hops.append(_RequestEvents(params, kind=lenient_json.text(params, "type", 40)))

    def _sent_extra(self, key: str, params: JsonObject) -> None:
        self._chain(key).request_extras.append(params)

    def _received_extra(self, key: str, params: JsonObject) -> None:
        self._chain(key).response_extras.append(params)

    def _received(self, key: str, params: JsonObject) -> None:
        if events := self._last(key):
            events.response = lenient_json.part(params, "response")
            events.has_extra = params.get("hasExtraInfo") is True
            events.kind = lenient_json.text(params, "type", 40) or events.kind

    def _served(self, key: str, _params: JsonObject) -> None:
        if events := self._last(key):
            events.cached = True

    def _data(self, key: str, params: JsonObject) -> None:
        if events := self._last(key):
            decoded = lenient_json.count(params, "dataLength")
            encoded = lenient_json.count(params, "encodedDataLength")
            events.body_bytes += decoded
            events.body_wire_bytes += encoded
            # A document's parts have no encoded length.
            if (at := lenient_json.number(params, "timestamp")) is not None:
                events.parts.append((at, encoded or decoded))

    def _finished(self, key: str, params: JsonObject) -> None:
        if events := self._last(key):
            events.ended = lenient_json.number(params, "timestamp")
            events.wire_bytes = lenient_json.count(params, "encodedDataLength")

    def _failed(self, key: str, params: JsonObject) -> None:
        if lenient_json.text(params, "blockedReason", 40) == FORBIDDEN:
            self._forbidden.add(key)
        if events := self._last(key):
            events.ended = lenient_json.number(params, "timestamp")
            reasons = ("errorText", "blockedReason")
            events.failed = next(
                filter(None, (lenient_json.text(params, reason) for reason in reasons)), "failed"
            )


def _with_extras(
    chain: _Chain,
) -> Iterator[tuple[int, _RequestEvents, JsonObject, JsonObject, str]]:
    """Give each request of a chain what was on the network, and where it led."""
    request_data, answered = iter(chain.request_extras), iter(chain.response_extras)
    for number, hop in enumerate(chain.hops):
        has_extra = hop.has_extra is not False
        request_extra = next(request_data, {}) if has_extra else {}
        response_extra = next(answered, {}) if has_extra else {}
        after = chain.hops[number + 1].sent if hop.leads_on and number + 1 < len(chain.hops) else {}
        onward = lenient_json.text(lenient_json.part(after, "request"), "url")
        yield number, hop, request_extra, response_extra, onward


@dataclass(frozen=True)
class _RequestBuilder:
    events: _RequestEvents
    zero: float
    request_extra: JsonObject
    response_extra: JsonObject

    def request(self, key: str, onward: str) -> PageRequest:
        """Return the request."""
        events, request_data = self.events, lenient_json.part(self.events.sent, "request")
        initiator = lenient_json.part(events.sent, "initiator")
        return PageRequest(
            id=key,
            url=lenient_json.text(request_data, "url"),
            method=lenient_json.text(request_data, "method", 40),
            http_version=version_of(lenient_json.text(events.response, "protocol", 40)),
            status=self._status(),
            failed=events.failed,
            kind=events.kind,
            mime_type=lenient_json.text(events.response, "mimeType", 200),
            priority=lenient_json.text(request_data, "initialPriority", 40),
            render_blocking=lenient_json.text(events.sent, "renderBlockingBehavior", 40),
            initiator=_initiator(initiator),
            initiator_kind=lenient_json.text(initiator, "type", 40),
            redirected_to=onward,
            connection=_connection(events.response),
            remote=_remote(events.response),
            from_cache=self._is_cached(),
            request_headers=lenient_json.headers(self.request_extra or request_data, "headers"),
            response_headers=lenient_json.headers(
                self.response_extra or events.response, "headers"
            ),
            wire_bytes=self._wire_bytes(),
            head_bytes=self._head_bytes(),
            is_left=self._is_left(),
            body_bytes=events.body_bytes,
            parts=tuple((at - self.zero, size) for at, size in events.parts),
            queued_s=self._at(lenient_json.number(events.sent, "timestamp")),
            ended_s=self._at(events.ended),
            **self._timing(),
        )

    def _at(self, clock: float | None) -> float | None:
        return None if clock is None else clock - self.zero

    def _status(self) -> int:
        """Return the status on the network: the page sees 200 where the server sent 304."""
        extra = lenient_json.count(self.response_extra, "statusCode")
        return extra or lenient_json.count(self.events.response, "status")

    def _is_cached(self) -> bool:
        """Return whether nothing was sent; a request on the network has ``ExtraInfo``."""
        events = self.events
        anywhere = (
            events.response.get(one) is True for one in ("fromDiskCache", "fromPrefetchCache")
        )
        return events.cached or (any(anywhere) and not self.response_extra)

    def _wire_bytes(self) -> int:
        events = self.events
        if events.wire_bytes is not None and not self._is_left():
            return events.wire_bytes
        body_bytes = max(events.body_wire_bytes, events.body_bytes if self._is_left() else 0)
        return self._head_bytes() + body_bytes

    def _head_bytes(self) -> int:
        return lenient_json.count(self.events.response, "encodedDataLength")

    def _is_left(self) -> bool:
        """Return whether the browser gave an image up that it cannot decode.

        It ends the request at once, as finished, with the length of the body so far in place of
        the length on the wire (Blink, ``ImageResource::DecodeError``).
        """
        events = self.events
        whole = self._head_bytes() + events.body_wire_bytes
        return events.kind == "Image" and events.body_bytes == events.wire_bytes != whole

    def _timing(self) -> dict[str, float | None]:
        timing = lenient_json.part(self.events.response, "timing")
        began = lenient_json.number(timing, "requestTime")
        if not began:  # no times: from a cache, or failed
            return {}
        times = {name: self._after(began, timing, word) for name, word in _TIMES.items()}
        return {"started_s": self._at(began), **times}

    def _after(self, began: float, timing: JsonObject, word: str) -> float | None:
        passed_ms = lenient_json.number(timing, word)
        return None if passed_ms is None or passed_ms < 0 else began - self.zero + passed_ms * MS


_TIMES = {
    "dns_start_s": "dnsStart",
    "dns_end_s": "dnsEnd",
    "connect_start_s": "connectStart",
    "connect_end_s": "connectEnd",
    "tls_start_s": "sslStart",
    "tls_end_s": "sslEnd",
    "send_start_s": "sendStart",
    "send_end_s": "sendEnd",
    "headers_start_s": "receiveHeadersStart",
    "headers_end_s": "receiveHeadersEnd",
}
"""Field -> the browser's name for milliseconds since ``requestTime``; -1 means no time."""


def _connection(response: JsonObject) -> str:
    number = lenient_json.count(response, "connectionId")
    return str(number) if number else ""


def _remote(response: JsonObject) -> str:
    address = lenient_json.text(response, "remoteIPAddress", 60)
    return f"{address}:{lenient_json.count(response, 'remotePort')}" if address else ""


def _initiator(initiator: JsonObject) -> str:
    """Return the URL of the file or script that caused the request."""
    frames = lenient_json.parts(lenient_json.part(initiator, "stack"), "callFrames")
    urls: Iterable[str] = (lenient_json.text(one, "url") for one in (initiator, *frames))
    return next(filter(None, urls), "")
