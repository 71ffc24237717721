"""The files of the browser driver: ``load.json``, and the browser's events beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from httpbed.addons.pages.load import driver_output, timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.base import untrusted_files
from httpbed.programs.part import LoggedRequest, ProgramReport

DRIVER_OUTPUT = "driver-output.txt"
"""File with the driver's standard error, as recipes name it."""
NOT_MODIFIED = 304
MAX_NAMED = 3
"""Dialogs or failed requests that a complaint names; further ones are counted."""
_ENDINGS = {
    "time limit": "the page was still loading at the time limit",
    "crashed": "the page's process crashed",
    "left": "the page navigated away",
    "refused": "the page could not be loaded",
    "browser ended": "the browser ended by itself",
    "download": "the page started a download",
}


def parse(file: Path) -> ProgramReport:
    """Read a load by its ``load.json``."""
    try:
        load = driver_output.read(file.parent)
    except driver_output.LoadError as error:
        last = untrusted_files.last_line(file.parent, DRIVER_OUTPUT)
        return ProgramReport(complaint=f"{error}: {last}" if last else str(error))
    return ProgramReport(
        observations=timing.of_load(load),
        requests=tuple(_request(request, load.navigated_s or 0.0) for request in load.on_network()),
        before=tuple(
            _request(request, 0.0)
            for request in load.before
            if request.is_on_network and request.status
        ),
        complaint=_complaint(load),
        timed_out=load.ended == "time limit" and not (_failures(load) or load.notes),
        remarks=load.remarks,
    )


def _request(request: PageRequest, navigated_s: float) -> LoggedRequest:
    """Return the request as all programs log it, with times since the client's start."""
    return LoggedRequest(
        http_version=request.http_version,
        status=request.status,
        body_bytes=_body_bytes(request),
        connection=request.connection,
        path=request.path,
        authority=request.host,
        wire_bytes=_wire_bytes(request),
        announces_http3=_announces_http3(request),
        client_left=request.is_left,
        began_s=None if request.queued_s is None else navigated_s + request.queued_s,
        ended_s=None if request.ended_s is None else navigated_s + request.ended_s,
    )


def _wire_bytes(request: PageRequest) -> int | None:
    """Return the bytes of header and body; None if the browser knows only the body's."""
    is_compressed = request.http_version in {"2", "3"}
    is_unknown = request.status and is_compressed and not request.head_bytes
    return None if is_unknown else request.wire_bytes


def _announces_http3(request: PageRequest) -> bool | None:
    """Return whether the response announces HTTP/3; None without the response's header."""
    if not request.response_headers:
        return None
    return any("h3=" in value for value in _response_fields(request, "alt-svc"))


def _response_fields(request: PageRequest, name: str) -> list[str]:
    return [value for one, value in request.response_headers if one.lower() == name]


def _body_bytes(request: PageRequest) -> int | None:
    """Return the body's bytes as sent; None if the browser knows only the decoded length."""
    if request.status == NOT_MODIFIED:  # the page uses its cached body
        return 0
    encoded = bool(_response_fields(request, "content-encoding"))
    whole = request.ended_s is not None and not (request.failed or request.redirected_to)
    if request.is_left:
        return None
    return request.body_bytes if whole and not encoded else None


def _complaint(load: BrowserLoad) -> str:
    """Return what went wrong, missing events included: a missing event may have been a request."""
    parts = (_ending(load), _failures(load), *load.notes)
    return "; ".join(part for part in parts if part)


def _ending(load: BrowserLoad) -> str:
    if load.ended == "loaded":
        return ""
    ending = _ENDINGS[load.ended] + (f": {load.reason}" if load.reason else "")
    dialogs = [f"{kind} {message!r}" for kind, message in load.dialogs]
    return ending + (f"; dialogs that the page opened: {_shortened(dialogs)}" if dialogs else "")


def _failures(load: BrowserLoad) -> str:
    failed = [
        f"{request.path} ({request.failed})" for request in load.on_network() if request.failed
    ]
    return f"failed requests: {_shortened(failed)}" if failed else ""


def _shortened(items: Sequence[str]) -> str:
    more = f", ... ({len(items)} in all)" if len(items) > MAX_NAMED else ""
    return ", ".join(items[:MAX_NAMED]) + more
