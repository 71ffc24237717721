"""Checks of the subject: did client and server do what the trial asked of them?

One that is broken makes the outcome failed. It is counted, and never tried again.
"""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.model.trial import Check, Trial
from httpbed.trial.content import Content
from httpbed.trial.seen import Seen

HTTP_OK = 200


def checks(trial: Trial, content: Content, seen: Seen) -> Iterator[Check]:
    """Check one attempt at a trial."""
    yield _server(seen)
    if seen.client is None:
        return
    yield _client(seen)
    yield _protocol(trial, seen)
    yield _answer(seen)
    yield _body(content, seen)
    yield _resets(seen)


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="subject", passed=passed, figure=figure, limit=limit)


def _server(seen: Seen) -> Check:
    ran = seen.server_survived and not seen.server_failure
    figure = "ran until the client was done" if ran else "ended before the client did"
    return _check("server ran", passed=ran, figure=seen.server_failure or figure)


def _client(seen: Seen) -> Check:
    complaint = seen.client_findings.complaint
    figure = f"{seen.client}" + (f": {complaint}" if complaint else "")
    passed = bool(seen.client and seen.client.clean and not complaint)
    return _check("client ended well", passed=passed, figure=figure, limit="exit status 0")


def _protocol(trial: Trial, seen: Seen) -> Check:
    asked = trial.scenario().roles.client.http_version
    used = [request.http_version for request in seen.server_findings.requests]
    if not used:
        figure = seen.server_findings.complaint or "the server logged no request"
        return _check("protocol used", passed=False, figure=figure, limit=f"HTTP/{asked}")
    counts = {version: used.count(version) for version in sorted(set(used))}
    figure = ", ".join(f"{count} request(s) HTTP/{version}" for version, count in counts.items())
    passed = set(used) == {asked}
    return _check(
        "protocol used",
        passed=passed,
        figure=f"{figure}, by the server's log",
        limit=f"HTTP/{asked}",
    )


def _answer(seen: Seen) -> Check:
    statuses = [request.status for request in seen.server_findings.requests]
    passed = statuses == [HTTP_OK]
    figure = ", ".join(map(str, statuses)) or "none"
    return _check("status of the one answer", passed=passed, figure=figure, limit=f"{HTTP_OK}")


def _body(content: Content, seen: Seen) -> Check:
    limit = f"{content.size} bytes, SHA-256 {content.sha256[:12]}"
    if seen.body is None:
        return _check(
            "body as served", passed=False, figure="the client stored nothing", limit=limit
        )
    figure = f"{seen.body['bytes']} bytes, SHA-256 {seen.body['sha256'][:12]}"
    passed = seen.body["sha256"] == content.sha256 and seen.body["bytes"] == content.size
    return _check("body as served", passed=passed, figure=figure, limit=limit)


def _resets(seen: Seen) -> Check:
    resets = sum(connection["server_reset"] for connection in seen.connections)
    figure = f"{len(seen.connections)} connection(s), {resets} reset by the server"
    return _check("connections not reset", passed=resets == 0, figure=figure, limit="none")
