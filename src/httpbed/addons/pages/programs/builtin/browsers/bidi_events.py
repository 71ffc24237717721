"""Events of WebDriver BiDi, translated into those of the Chrome DevTools Protocol.

One reader and one rule for the end of a load serve both browsers, so Firefox' events take the names
of Chromium's (W3C WebDriver BiDi, section 7; the DevTools Protocol's domains Network and Page).
Firefox' times are milliseconds since 1970; the translated ones are seconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PAGE = "page"
"""Session of the page's own events; frames have others."""
MS = 1e-3
KINDS = {
    "document": "Document",
    "iframe": "Document",
    "frame": "Document",
    "image": "Image",
    "script": "Script",
    "style": "Stylesheet",
    "font": "Font",
    "video": "Media",
    "audio": "Media",
}
"""A request's destination (Fetch Standard) -> the type of a resource; others are ``Fetch``."""

Json = dict[str, Any]


@dataclass
class Translator:
    """Translates events, in their order."""

    context: str
    """The page's own browsing context."""
    offset_s: float
    """CLOCK_MONOTONIC less the time since 1970."""
    navigation: str = ""
    """That of the page's document."""
    _responses: dict[str, Json] = field(default_factory=dict)
    """The last response of each request, which a redirect's next request repeats."""

    def clock_s(self, epoch_ms: float) -> float:
        """Return a time of the browser on CLOCK_MONOTONIC."""
        return epoch_ms * MS + self.offset_s

    def events(self, message: Mapping[str, Any]) -> Iterator[Json]:
        """Yield what an event is in the DevTools Protocol; nothing for others."""
        method, params = str(message.get("method", "")), dict(message.get("params", {}))
        if method.startswith("network."):
            yield from self._of_network(method.removeprefix("network."), params)
        elif method == "browsingContext.userPromptOpened":
            about = {"type": params.get("type", ""), "message": params.get("message", "")}
            yield self._event("Page.javascriptDialogOpening", about)
        elif method == "browsingContext.contextCreated" and params.get("originalOpener"):
            opened = {"type": "page", "openerId": "page", "url": params.get("url", "")}
            yield self._event("Target.targetCreated", {"targetInfo": opened})
        elif method == "browsingContext.downloadWillBegin":
            yield self._event("Browser.downloadWillBegin", {"url": params.get("url", "")})
        elif params.get("context") == self.context:
            yield from self._of_page(method.removeprefix("browsingContext."), params)

    def _of_page(self, event: str, params: Json) -> Iterator[Json]:
        if event == "load":
            at_s = self.clock_s(params.get("timestamp", 0))
            yield self._event("Page.loadEventFired", {"timestamp": at_s})
        elif event == "navigationCommitted":
            frame = {"loaderId": str(params.get("navigation")), "url": params.get("url", "")}
            yield self._event("Page.frameNavigated", {"frame": frame})

    def _of_network(self, event: str, params: Json) -> Iterator[Json]:
        request = params.get("request", {})
        key, timings = str(request.get("request", "")), request.get("timings", {})
        session = PAGE if params.get("context") == self.context else str(params.get("context"))
        if event == "beforeRequestSent":
            self._begin(request, params)
        if not self.navigation:  # of the page before
            return
        if event == "beforeRequestSent":
            yield self._event("Network.requestWillBeSent", self._sent(key, params), session)
        elif event == "responseStarted":
            yield self._event("Network.responseReceived", self._received(key, params), session)
        elif event == "responseCompleted":
            yield from self._completed(key, params, session)
        elif event == "fetchError":
            at_s = self.clock_s(timings.get("responseEnd") or params.get("timestamp", 0))
            about = {"timestamp": at_s, "errorText": params.get("errorText", "failed")}
            yield self._event("Network.loadingFailed", {"requestId": key, **about}, session)

    def _begin(self, request: Json, params: Json) -> None:
        """Take the first request of the page's own document for the start of the load."""
        is_own = params.get("context") == self.context and _kind(request) == "Document"
        if is_own and not self.navigation:
            self.navigation = str(params.get("navigation"))

    def _sent(self, key: str, params: Json) -> Json:
        request = params.get("request", {})
        began_ms = request.get("timings", {}).get("requestTime") or params.get("timestamp", 0)
        initiator = params.get("initiator") or {}
        sent = {
            "requestId": key,
            "loaderId": str(params.get("navigation") or self.navigation),
            "timestamp": self.clock_s(began_ms),
            "wallTime": began_ms * MS,
            "type": _kind(request),
            "request": {
                "url": request.get("url", ""),
                "method": request.get("method", ""),
                "headers": _fields(request.get("headers", ())),
            },
            "initiator": {"type": initiator.get("type", "other")},
        }
        led = self._responses.get(key) if params.get("redirectCount") else None
        return {**sent, "redirectResponse": led} if led else sent

    def _received(self, key: str, params: Json) -> Json:
        request, response = params.get("request", {}), params.get("response", {})
        self._responses[key] = {
            "url": response.get("url", ""),
            "status": response.get("status", 0),
            "protocol": response.get("protocol", ""),
            "mimeType": str(response.get("mimeType", "")).partition(";")[0],
            "headers": _fields(response.get("headers", ())),
            "fromDiskCache": response.get("fromCache") is True,
            "encodedDataLength": _head_bytes(response),
            "timing": self._timing(request.get("timings", {})),
        }
        return {"requestId": key, "type": _kind(request), "response": self._responses[key]}

    def _completed(self, key: str, params: Json, session: str) -> Iterator[Json]:
        """Yield the response once more, because only now are its times known, and its end."""
        response, timings = params.get("response", {}), params["request"].get("timings", {})
        yield self._event("Network.responseReceived", self._received(key, params), session)
        body = {"dataLength": response.get("bodySize") or 0}
        yield self._event("Network.dataReceived", {"requestId": key, **body}, session)
        at_s = self.clock_s(timings.get("responseEnd") or params.get("timestamp", 0))
        received = _head_bytes(response) + (response.get("bodySize") or 0)
        whole = {"timestamp": at_s, "encodedDataLength": received}
        yield self._event("Network.loadingFinished", {"requestId": key, **whole}, session)

    def _timing(self, timings: Mapping[str, float]) -> Json:
        """Return the times of a response; a connection that was open already has none."""
        began_ms = timings.get("fetchStart") or timings.get("requestStart") or 0
        if not began_ms:
            return {}
        opened = timings.get("connectEnd", 0) > timings.get("connectStart", 0) > 0
        names = {"sendStart": "requestStart", "sendEnd": "requestStart"}
        names |= dict.fromkeys(("receiveHeadersStart", "receiveHeadersEnd"), "responseStart")
        if opened:
            names |= {name: name for name in ("dnsStart", "dnsEnd", "connectStart", "connectEnd")}
        if opened and timings.get("tlsStart"):
            names |= {"sslStart": "tlsStart", "sslEnd": "connectEnd"}
        passed = {name: timings.get(word, 0) - began_ms for name, word in names.items()}
        return {"requestTime": self.clock_s(began_ms), **passed}

    def _event(self, method: str, params: Json, session: str = PAGE) -> Json:
        return {"method": method, "params": params, "sessionId": session}


def _kind(request: Json) -> str:
    return KINDS.get(request.get("destination", ""), "Fetch")


def _head_bytes(response: Json) -> int:
    """Return the bytes of a header on the wire; 0 if they are unknown.

    Over HTTP/2 and 3, Firefox counts the fields as text, not as they were compressed.
    """
    is_text = str(response.get("protocol", "")).startswith("http/1")
    return int(response.get("headersSize") or 0) if is_text else 0


def _fields(headers: Iterable[Json]) -> dict[str, str]:
    """Return header fields by name; those of one name are joined, one in each line."""
    found: dict[str, str] = {}
    for header in headers:
        name, value = str(header.get("name", "")), str(header.get("value", {}).get("value", ""))
        found[name] = f"{found[name]}\n{value}" if name in found else value
    return found
