"""Reads HAR files: truncated and huge ones, and those of tools that extend the form.

A file is either rejected with all its mistakes or read completely.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from httpbed.addons.pages.har.loads import Fields, HarDocument, HarEntry, Timings
from httpbed.addons.pages.har.schema import ArchiveForm, EntryForm, HeaderForm, LogForm
from httpbed.addons.pages.load.browser_load import version_of
from httpbed.base import untrusted_files, user_file
from httpbed.base.errors import ConfigError, Mistake
from httpbed.base.untrusted_files import UnreadableError
from httpbed.base.user_file import NotAFileError

MAX_BYTES = 128 * 2**20
"""Upper bound of a HAR file; bodies of 95 MB fit as base64."""
MAX_ENTRIES = 20_000
MAX_MISTAKES = 40
"""Mistakes that are listed for a file; a last one counts the rest."""
ROUNDED_S = 0.002
"""Tolerance in seconds of a sum of phases in whole milliseconds."""
_REASONS = {
    "missing": "is missing",
    "model_type": "must be an object",
    "mapping_type": "must be an object",
    "tuple_type": "must be a list",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
}


def read_file(file: Path) -> HarDocument:
    """Read a HAR file of at most :data:`MAX_BYTES` bytes.

    Raises:
        ConfigError: With every mistake and its place.
        OSError: The file is missing or unreadable.
    """
    try:
        content = user_file.read(file, MAX_BYTES)
    except NotAFileError as error:
        raise _refusal(str(file), str(error), "name a HAR file") from None
    return read(content, str(file))


def read(data: bytes, name: str = "HAR") -> HarDocument:
    """Read the bytes of a HAR file; ``name`` stands in mistakes.

    Raises:
        ConfigError: With every mistake and its place.
    """
    archive = _parsed(data, name)
    if not isinstance(archive, Mapping) or not isinstance(archive.get("log"), Mapping):
        raise _refusal(name, "is not a HAR file: it has no object named log")
    _refuse_many(archive["log"], name)
    try:
        log = ArchiveForm.model_validate(archive).log
    except ValidationError as error:
        raise ConfigError(_mistakes(error, name)) from None
    bodies = [_body(form, index, name) for index, form in enumerate(log.entries)]
    if wrong := [body for body in bodies if isinstance(body, Mistake)]:
        raise ConfigError(first_mistakes(wrong, name))
    read_bodies = [body for body in bodies if not isinstance(body, Mistake)]
    return _document(log, read_bodies)


def _parsed(data: bytes, name: str) -> Any:
    if len(data) > MAX_BYTES:
        reason = f"is longer than {MAX_BYTES // 2**20} MiB"
        raise _refusal(name, reason, "export it without bodies")
    try:
        return untrusted_files.json_value(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _refusal(name, f"is not a HAR file: byte {error.start} is not UTF-8") from None
    except UnreadableError as error:
        raise _refusal(name, f"is not a HAR file: it {error.reason}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        is_cut = error.pos >= len(error.doc.rstrip()) or "Unterminated" in error.msg
        reason = f"is truncated at {place}" if is_cut else f"is not JSON at {place}: {error.msg}"
        raise _refusal(name, reason, "export it again" if is_cut else "") from None
    except ValueError as error:  # an integer with too many digits
        raise _refusal(name, f"is not a HAR file: {error}") from None


def _refusal(name: str, reason: str, remedy: str = "") -> ConfigError:
    return ConfigError([Mistake(name, reason, remedy)])


def _refuse_many(log: Mapping[str, Any], name: str) -> None:
    entries = log.get("entries")
    if isinstance(entries, list) and len(entries) > MAX_ENTRIES:
        reason = f"has {len(entries)} entries, more than {MAX_ENTRIES}"
        raise _refusal(name, reason, "export one page at a time")


def _mistakes(error: ValidationError, name: str) -> list[Mistake]:
    mistakes = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]]
        place = "".join(parts).lstrip(".")
        reason = _REASONS.get(detail["type"], detail["msg"].removeprefix("Value error, "))
        mistakes.append(Mistake(f"{name}: {place}", reason))
    return first_mistakes(mistakes, name)


def first_mistakes(mistakes: list[Mistake], name: str) -> list[Mistake]:
    """Return the first mistakes of a HAR file, and one that counts the rest."""
    more = len(mistakes) - MAX_MISTAKES
    rest = [Mistake(name, f"has {more} more mistakes")] if more > 0 else []
    return mistakes[:MAX_MISTAKES] + rest


def _body(form: EntryForm, index: int, name: str) -> bytes | Mistake | None:
    content = form.response.content
    if content.text is None or (not content.text and content.size):
        return None
    if content.encoding.lower() != "base64":
        return content.text.encode()
    try:
        return base64.b64decode(content.text)
    except (binascii.Error, ValueError) as error:
        place = f"{name}: log.entries[{index}].response.content.text"
        return Mistake(place, f"is not base64: {error}")


def _document(log: LogForm, bodies: Iterable[bytes | None]) -> HarDocument:
    is_firefox = "firefox" in f"{log.creator.name} {log.browser.name}".lower()
    return HarDocument(
        creator=f"{log.creator.name} {log.creator.version}".strip(),
        browser=f"{log.browser.name} {log.browser.version}".strip(),
        pages=log.pages,
        entries=tuple(
            _entry(index, form, body, is_firefox=is_firefox)
            for index, (form, body) in enumerate(zip(log.entries, bodies, strict=True))
        ),
        order=log.order,
    )


def _entry(index: int, form: EntryForm, body: bytes | None, *, is_firefox: bool) -> HarEntry:
    initiator, initiator_kind = _initiator(form.initiator)
    before_s = form.timings.queued_before or 0.0
    return HarEntry(
        index=index,
        page=form.page,
        started_s=form.started - before_s,
        time_s=form.time + before_s if form.time is not None else None,
        timings=_with_queue(_with_tls(form, is_firefox=is_firefox), before_s),
        method=form.request.method,
        url=form.request.url,
        request_headers=_fields(form.request.headers),
        posted=form.request.post_data.text if form.request.post_data else None,
        kind=form.kind,
        priority=form.priority,
        initiator=initiator,
        initiator_kind=form.initiator_kind or initiator_kind,
        # Firefox writes the server's port, which is the same for all connections.
        connection=_connection(form) if not is_firefox else "",
        server_address=form.server_address,
        **_answer(form, body),
    )


def _with_tls(form: EntryForm, *, is_firefox: bool) -> Timings:
    """Return timings in which TLS is part of ``connect``, as in HAR 1.2.

    Some tools report TLS beside it. The entry's time shows which: less all other phases, it leaves
    the set-up. In Firefox (devtools, NetworkTimings.sys.mjs) the set-up lasts from the connection's
    start until the request is sent, so TLS that overlaps other set-up counts in part.
    """
    timings = form.timings
    if form.time is None or timings.ssl is None:
        return timings
    connect_s = timings.connect or 0.0
    others = (timings.blocked, timings.dns, timings.send, timings.wait, timings.receive)
    set_up_s = form.time - sum(other or 0.0 for other in others)
    both_s = connect_s + timings.ssl
    is_beside = connect_s + ROUNDED_S < set_up_s <= both_s + ROUNDED_S
    if not is_beside or (set_up_s < both_s - ROUNDED_S and not is_firefox):
        return timings
    return timings.model_copy(update={"connect": max(set_up_s, timings.ssl)})


def _with_queue(timings: Timings, before_s: float) -> Timings:
    """Return timings in which time in a queue before the entry's start is part of ``blocked``."""
    if not before_s:
        return timings
    blocked_s = (timings.blocked or 0.0) + before_s
    queued_s = (timings.queued or 0.0) + before_s
    return timings.model_copy(update={"blocked": blocked_s, "queued": queued_s})


def _answer(form: EntryForm, body: bytes | None) -> dict[str, Any]:
    response = form.response
    size = response.content.size
    from_cache = _is_from_cache(form)
    return {
        "status": response.status,
        "http_version": _http_version(form),
        "response_headers": _fields(response.headers),
        "redirected_to": response.redirect_url,
        "mime_type": response.content.mime_type,
        "body": body,
        "body_bytes": size if size is not None or body is None else len(body),
        "sent_body_bytes": response.body_size,
        "headers_bytes": response.headers_size,
        "wire_bytes": _wire_bytes(form),
        "from_cache": from_cache,
        "failed": response.error or ("" if response.status or from_cache else "no response"),
    }


def _fields(headers: Iterable[HeaderForm]) -> Fields:
    return tuple((header.name, header.value) for header in headers)


def _http_version(form: EntryForm) -> str:
    """Return the response's version rather than the request's: the server decides."""
    names = (form.protocol, form.response.http_version, form.request.http_version)
    return next((version for name in names if (version := version_of(name))), "")


def _is_from_cache(form: EntryForm) -> bool:
    if form.from_cache or form.response.from_disk_cache:
        return True
    # not modified: it was asked for
    return bool(form.cache.get("beforeRequest")) and form.response.status != 304


def _wire_bytes(form: EntryForm) -> int | None:
    response = form.response
    for size in (response.transfer_size, form.bytes_in):
        if size is not None:
            return size
    if response.body_size is None or response.headers_size is None:
        return None
    return response.body_size + response.headers_size


def _connection(form: EntryForm) -> str:
    """Return the connection; empty for Chrome's 0 and WebPageTest's -1, which mean none."""
    if form.connection_id:
        return form.connection_id if form.connection_id != "0" else ""
    connection = form.socket or form.connection
    return connection if connection != "-1" else ""


def _initiator(initiator: Any) -> tuple[str, str]:
    """Return URL and kind of the initiator; for a script, the URL on top of its stack."""
    if isinstance(initiator, str):
        return initiator, ""
    if not isinstance(initiator, Mapping):
        return "", ""
    kind = initiator.get("type")
    url = initiator.get("url") or _top_of(initiator.get("stack"))
    return url if isinstance(url, str) else "", kind if isinstance(kind, str) else ""


def _top_of(stack: Any) -> Any:
    while isinstance(stack, Mapping):
        frames = stack.get("callFrames")
        if isinstance(frames, list) and frames and isinstance(frames[0], Mapping):
            return frames[0].get("url")
        stack = stack.get("parent")
    return ""
