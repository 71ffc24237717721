"""What Chromium's driver leaves of a load: ``load.json``, with the browser's events beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from httpbed.host.sandbox import untrusted_files
from httpbed.programs.protocol import LoggedRequest, ProgramReport
from httpbed.web.load import browser_load, driver_output, observations
from httpbed.web.load.browser_load import BrowserLoad

DRIVER_OUTPUT = "chromium-output.txt"
"""Where the recipes put what the driver says of itself."""
NOT_MODIFIED = 304
MOST_TOLD = 3
"""Dialogs, or failed requests, that a complaint names; the rest are counted."""
_ENDINGS = {
    "time limit": "the page was still loading at the time limit",
    "crashed": "the page's process crashed",
    "left": "the page went elsewhere",
    "refused": "the page could not be had",
    "browser ended": "the browser ended by itself",
    "download": "the page began a download",
}


def parse(file: Path) -> ProgramReport:
    """Read a load by its ``load.json``."""
    try:
        found = driver_output.read(file.parent)
    except driver_output.LoadError as error:
        last = untrusted_files.last_line(file.parent, DRIVER_OUTPUT)
        return ProgramReport(complaint=f"{error}: {last}" if last else str(error))
    return ProgramReport(
        observations=observations.observations(found),
        requests=tuple(
            _request(request, found.navigated_s or 0.0) for request in found.on_network()
        ),
        before=tuple(
            _request(one, 0.0) for one in found.before if one.is_on_network and one.status
        ),
        complaint=_complaint(found),
        timed_out=found.ended == "time limit" and not (_failures(found) or found.notes),
        remarks=found.remarks,
    )


def _request(request: browser_load.PageRequest, navigated_s: float) -> LoggedRequest:
    """Make it a request as all programs log them, with times since the client's start."""
    host, path = _host_and_path(request.url)
    return LoggedRequest(
        http_version=request.http_version,
        status=request.status,
        body_bytes=_body_bytes(request),
        connection=request.connection,
        path=path,
        authority=host,
        wire_bytes=request.wire_bytes,
        began_s=None if request.queued_s is None else navigated_s + request.queued_s,
        ended_s=None if request.ended_s is None else navigated_s + request.ended_s,
    )


def _body_bytes(request: browser_load.PageRequest) -> int | None:
    """Return the bytes of the body as it was sent, where the page has it as it was sent."""
    if request.status == NOT_MODIFIED:  # the page has the one that it had before
        return 0
    encoded = any(name.lower() == "content-encoding" for name, _ in request.response_headers)
    whole = request.ended_s is not None and not request.failed and not request.redirected_to
    return request.body_bytes if whole and not encoded else None


def _host_and_path(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", url
    return host, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _complaint(found: BrowserLoad) -> str:
    """Say what was wrong; what the record leaves out is, for nobody can tell what it was."""
    parts = (_ending(found), _failures(found), *found.notes)
    return "; ".join(part for part in parts if part)


def _ending(found: BrowserLoad) -> str:
    if found.ended == "loaded":
        return ""
    said = _ENDINGS[found.ended] + (f": {found.reason}" if found.reason else "")
    dialogs = [f"{kind} {message!r}" for kind, message in found.dialogs]
    return said + (f"; dialogs that it opened: {_some(dialogs)}" if dialogs else "")


def _failures(found: BrowserLoad) -> str:
    failed = [
        f"{_host_and_path(one.url)[1]} ({one.failed})" for one in found.on_network() if one.failed
    ]
    return f"requests that failed: {_some(failed)}" if failed else ""


def _some(all_of: Sequence[str]) -> str:
    more = f", ... ({len(all_of)} in all)" if len(all_of) > MOST_TOLD else ""
    return ", ".join(all_of[:MOST_TOLD]) + more
