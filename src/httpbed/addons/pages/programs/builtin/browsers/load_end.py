"""Decides from the browser's events whether a load is over, and how it ended.

A load is complete when the load event has fired and no request was open for half a second: other
browser drivers call that network idle. Any other ending is caused by the page or the browser, and
the first event that makes it certain decides.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

IDLE_S = 0.5
MAX_DIALOGS = 100
MAX_WORDS = 500
"""Characters of a page's text that are kept."""


@dataclass(frozen=True)
class Ending:
    """How a load ended."""

    kind: str
    """The word in load.json."""
    reason: str = ""


@dataclass
class Watch:
    """The state of a load."""

    names: Collection[str]
    """All host names of the site."""
    session: str
    """Session of the page among all targets."""
    target: str
    wall_s: float
    """Seconds since 1970, to check certificates."""
    file_only: bool = False
    """Whether it loads a single file, which is over with its last byte."""
    ending: Ending | None = None
    dialogs: list[dict[str, str]] = field(default_factory=list)
    dropped_dialogs: int = 0
    """Number of dialogs beyond those that are kept."""
    _open: dict[str, str] = field(default_factory=dict)
    """Open request -> the session that reported it; another session may report its end."""
    _quiet_since_s: float = 0.0
    _fired: bool = False
    _loader: str = ""
    """Loader of the document; another loader is another page."""
    _document: str = ""
    """ID of the request for the document."""
    _url: str = ""
    """URL to which redirects have led that request."""
    _redirected: bool = False

    def answer(self, response: dict[str, Any]) -> None:
        """Handle the response to Page.navigate: the document has arrived or failed."""
        result = response.get("result", {})
        wrong = response.get("error", {}).get("message") or result.get("errorText")
        if result.get("isDownload"):
            self._end("download", "the URL is a file to be saved, not a page")
        elif wrong and self._redirected and self._is_outside(self._url):
            self._end(
                "left", f"it was redirected to {_short(self._url)}, outside of the site: {wrong}"
            )
        elif wrong:
            self._end("refused", str(wrong))

    def take(self, method: str, params: dict[str, Any], session: str, now_s: float) -> None:
        """Handle an event; ``now_s`` is the caller's clock."""
        if method.startswith("Network."):
            self._of_network(method, params, session, now_s)
        elif method == "Page.javascriptDialogOpening":
            self._keep_dialog(str(params.get("type", "")), str(params.get("message", "")))
        elif method == "Target.targetCreated":
            self._of_window(params.get("targetInfo", {}))
        elif method == "Target.detachedFromTarget":
            self._forget(str(params.get("sessionId", "")), now_s)
        elif method == "Target.targetCrashed" and params.get("targetId") == self.target:
            self._end("crashed", f"the tab crashed: {_short(params.get('status', ''))}")
        elif method in {"Browser.downloadWillBegin", "Page.downloadWillBegin"}:
            self._end("download", f"it started a download of {_short(params.get('url', ''))}")
        elif session == self.session:
            self._of_page(method, params, now_s)

    def look(self, now_s: float) -> Ending | None:
        """Return how the load ended; None if it has not."""
        if self.ending is None and self._fired and not self._open and now_s >= self.due():
            self._end("loaded")
        return self.ending

    def due(self) -> float:
        """Return when to look again if no event comes before."""
        return self._quiet_since_s + IDLE_S if self._fired and not self._open else float("inf")

    def unfinished(self) -> str:
        """Return what is missing."""
        if not self._fired:
            return f"the load event had not fired; {len(self._open)} requests were open"
        return f"the network was not idle; {len(self._open)} requests were open"

    def _of_page(self, method: str, params: dict[str, Any], now_s: float) -> None:
        if method == "Page.loadEventFired":
            self._fired, self._quiet_since_s = True, now_s
        elif method == "Inspector.targetCrashed":
            self._end("crashed", "the tab crashed")
        elif method == "Page.frameNavigated" and "parentId" not in params["frame"]:
            self._committed(params["frame"])

    def _committed(self, frame: dict[str, Any]) -> None:
        loader = str(frame.get("loaderId", ""))
        if self._loader and loader != self._loader:
            there = frame.get("unreachableUrl") or frame.get("url", "")
            self._end("left", f"it navigated to {_short(there)}")
        self._loader = self._loader or loader

    def _of_network(self, method: str, params: dict[str, Any], session: str, now_s: float) -> None:
        request = str(params.get("requestId", ""))
        if method == "Network.requestWillBeSent":
            self._open[request] = session
            self._of_document(params, session)
        elif method == "Network.responseReceived":
            self._of_certificate(params.get("response", {}))
        elif method in {"Network.loadingFinished", "Network.loadingFailed"}:
            if self._open.pop(request, None) is not None:
                self._quiet_since_s = now_s
            if self.file_only and request == self._document:
                self._of_file(method, params)

    def _of_document(self, params: dict[str, Any], session: str) -> None:
        """Follow the request for the document through its redirects."""
        number = str(params.get("requestId", ""))
        if not self._document and session == self.session and params.get("type") == "Document":
            self._document = number
        if number == self._document:
            self._redirected |= "redirectResponse" in params
            self._url = str(params.get("request", {}).get("url", ""))

    def _of_file(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.loadingFinished":
            self._end("loaded")
        else:
            self._end("refused", str(params.get("errorText", "the transfer broke off")))

    def _of_certificate(self, response: dict[str, Any]) -> None:
        """End the load if a certificate has expired, which the browser ignores."""
        certificate = response.get("securityDetails")
        if certificate and not certificate["validFrom"] <= self.wall_s <= certificate["validTo"]:
            subject = certificate.get("subjectName", "")
            self._end("refused", f"the certificate of {_short(subject)} is not valid at this time")

    def _of_window(self, about: dict[str, Any]) -> None:
        if about.get("type") == "page" and about.get("openerId"):
            self._keep_dialog("window", str(about.get("url", "")))

    def _forget(self, session: str, now_s: float) -> None:
        """Close the requests of a frame or worker that is gone."""
        for request in [one for one, teller in self._open.items() if teller == session]:
            del self._open[request]
            self._quiet_since_s = now_s

    def _keep_dialog(self, kind: str, message: str) -> None:
        if len(self.dialogs) < MAX_DIALOGS:
            self.dialogs.append({"type": kind, "message": _short(message)})
        else:
            self.dropped_dialogs += 1

    def _is_outside(self, url: str) -> bool:
        return bool(url) and _host(url) not in self.names

    def _end(self, kind: str, reason: str = "") -> None:
        self.ending = self.ending or Ending(kind, reason)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _short(text: object) -> str:
    words = str(text)
    return words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}..."
