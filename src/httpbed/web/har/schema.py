"""The form of a HAR file, as the specification has it and as tools write it.

HAR 1.2 (J. Odvarko, "HAR 1.2 Spec", 2012) calls -1 a time or size that is not told. Tools stretch
the form further, and what each does is taken for what it means:

- WebPageTest writes numbers as texts and an empty list of headers as an object.
- Chrome's rounding makes times that are a little below 0: above -1 ms they are 0.
- A field of the wrong kind, a time below -1 ms or one of years is a mistake.

Times are in milliseconds in the file and in seconds here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

MOST_MS = 1e9
"""Of a time: eleven days; no load takes as long."""
MOST_BYTES = 2**50
_MS = 1e-3


def _number(said: object) -> float:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        raise ValueError(f"a number is needed, not {_kind(said)}")  # noqa: TRY004 - for pydantic
    try:
        number = float(said)
    except (ValueError, OverflowError):
        raise ValueError("a number is needed") from None
    if not math.isfinite(number):
        raise ValueError("a finite number is needed")
    return number


def _kind(said: object) -> str:
    kinds: dict[type, str] = {list: "a list", dict: "an object", str: "a text", bool: "a truth"}
    return kinds.get(type(said), "nothing" if said is None else "a number")


def _seconds(said: object) -> float | None:
    if said is None or said == "":
        return None
    milliseconds = _number(said)
    if milliseconds == -1:
        return None
    if milliseconds < -1:
        raise ValueError(f"{milliseconds:g} ms is negative, and not the -1 of a time not told")
    if milliseconds > MOST_MS:
        raise ValueError(f"{milliseconds:g} ms is longer than {MOST_MS:g} ms")
    return max(0.0, milliseconds) * _MS


def _bytes(said: object) -> int | None:
    if said is None or said == "":
        return None
    number = _number(said)
    if number > MOST_BYTES:
        raise ValueError(f"{number:g} bytes are more than any file has")
    return int(number) if number >= 0 else None


def _status(said: object) -> int:
    number = _number(said or 0)
    if number != int(number) or abs(number) > 999:  # noqa: PLR2004 - RFC 9110, 15
        raise ValueError(f"{number:g} is no status code")
    return max(0, int(number))


def _text(said: object) -> str:
    if said is None:
        return ""
    if not isinstance(said, str):
        raise ValueError(f"a text is needed, not {_kind(said)}")  # noqa: TRY004 - for pydantic
    # JSON may name halves of characters, which no encoding can write.
    return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _word(said: object) -> str:
    """Take a number for a text where tools write either."""
    if isinstance(said, int | float) and not isinstance(said, bool):
        return f"{said:g}" if isinstance(said, float) else str(said)[:40]
    return _text(said)


def _timestamp(said: object) -> float:
    text = _text(said)
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        example = "2026-01-31T12:00:00.000Z"
        raise ValueError(f"a date and time are needed, such as {example!r}") from None


def _url(said: object) -> str:
    text = _text(said)
    if text.lower().startswith(("http:", "https:")):
        try:
            split = urlsplit(text)
            port = split.port
        except ValueError as error:
            raise ValueError(f"is not a URL: {error}") from None
        if not split.hostname or port == 0:
            raise ValueError("is not a URL: it names no host, or port 0")
    return text


def _list(said: object) -> object:
    return [] if said is None or said == {} else said


def _object(said: object) -> object:
    return {} if said is None or said == [] else said


Number = Annotated[float, BeforeValidator(_number)]
Time = Annotated[float | None, BeforeValidator(_seconds)]
"""A duration; None where it is not told."""
Size = Annotated[int | None, BeforeValidator(_bytes)]
"""In bytes; None where it is not told."""
Status = Annotated[int, BeforeValidator(_status)]
Text = Annotated[str, BeforeValidator(_text)]
Word = Annotated[str, BeforeValidator(_word)]
Timestamp = Annotated[float, BeforeValidator(_timestamp)]
"""Seconds since 1970 in UTC; a time without a zone is taken for UTC."""
Url = Annotated[str, BeforeValidator(_url)]
AnyObject = Annotated[Mapping[str, Any], BeforeValidator(_object)]


class Form(BaseModel):
    """Part of a HAR file; what it has besides is passed over, for tools add fields freely."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class HeaderForm(Form):
    """A header field, or a part of a query."""

    name: Text
    value: Word = ""


Fields = Annotated[tuple[HeaderForm, ...], BeforeValidator(_list)]


class PostDataForm(Form):
    """What a request sent."""

    mime_type: Text = Field("", alias="mimeType")
    text: Text = ""


class RequestForm(Form):
    """``log.entries[].request``."""

    method: Text
    url: Url
    http_version: Word = Field("", alias="httpVersion")
    headers: Fields = ()
    post_data: PostDataForm | None = Field(None, alias="postData")


class ContentForm(Form):
    """``log.entries[].response.content``."""

    size: Size = None
    mime_type: Text = Field("", alias="mimeType")
    text: Text | None = None
    encoding: Text = ""


class ResponseForm(Form):
    """``log.entries[].response``."""

    status: Status
    status_text: Text = Field("", alias="statusText")
    http_version: Word = Field("", alias="httpVersion")
    headers: Fields = ()
    content: Annotated[ContentForm, BeforeValidator(_object)] = ContentForm()
    redirect_url: Text = Field("", alias="redirectURL")
    headers_size: Size = Field(None, alias="headersSize")
    body_size: Size = Field(None, alias="bodySize")
    transfer_size: Size = Field(None, alias="_transferSize")
    error: Word = Field("", alias="_error")
    from_disk_cache: bool | None = Field(
        None, validation_alias=AliasChoices("_fromDiskCache", "fromDiskCache")
    )
    fetched_by_worker: bool | None = Field(None, alias="_fetchedViaServiceWorker")


class TimingsForm(Form):
    """``log.entries[].timings``."""

    blocked: Time = None
    queued: Time = Field(None, alias="_blocked_queueing")
    """Part of ``blocked``; Chrome's own."""
    queued_before: Time = Field(None, alias="_queued")
    """Before the entry's start; that of sitespeed.io's chrome-har."""
    dns: Time = None
    connect: Time = None
    ssl: Time = None
    send: Time = None
    wait: Time = None
    receive: Time = None


class EntryForm(Form):
    """``log.entries[]``."""

    page: Word = Field("", alias="pageref")
    started: Timestamp = Field(alias="startedDateTime")
    time: Time = None
    request: RequestForm
    response: ResponseForm
    cache: AnyObject = {}
    timings: Annotated[TimingsForm, BeforeValidator(_object)] = TimingsForm()
    server_address: Word = Field("", alias="serverIPAddress")
    connection: Word = ""
    connection_id: Word = Field("", alias="_connectionId")
    socket: Word = Field("", alias="_socket")
    protocol: Word = Field("", alias="_protocol")
    bytes_in: Size = Field(None, alias="_bytesIn")
    priority: Word = Field("", alias="_priority")
    kind: Word = Field("", validation_alias=AliasChoices("_resourceType", "_request_type"))
    initiator: Any = Field(None, alias="_initiator")
    initiator_kind: Word = Field("", alias="_initiator_type")
    from_cache: Any = Field(None, alias="_fromCache")


class PageTimingsForm(Form):
    """``log.pages[].pageTimings``."""

    content_loaded: Time = Field(None, alias="onContentLoad")
    loaded: Time = Field(None, alias="onLoad")


class PageForm(Form):
    """``log.pages[]``; Speed Index and paints are in fields that each tool names in its own way."""

    id: Word
    started: Timestamp = Field(alias="startedDateTime")
    title: Text = ""
    timings: Annotated[PageTimingsForm, BeforeValidator(_object)] = Field(
        PageTimingsForm(), alias="pageTimings"
    )
    speed_index: Time = Field(
        None,
        validation_alias=AliasChoices(
            "_speedIndex", "_SpeedIndex", AliasPath("_visualMetrics", "SpeedIndex")
        ),
    )
    first_contentful_paint: Time = Field(
        None,
        validation_alias=AliasChoices(
            "_firstContentfulPaint", "_chromeUserTiming.firstContentfulPaint"
        ),
    )
    largest_contentful_paint: Time = Field(
        None,
        validation_alias=AliasChoices(
            "_largestContentfulPaint", "_chromeUserTiming.LargestContentfulPaint"
        ),
    )
    visit: Word = Field("", alias="_visit")
    cached: Word = Field("", alias="_cached")


class ToolForm(Form):
    """``log.creator`` or ``log.browser``."""

    name: Word = ""
    version: Word = ""


class LogForm(Form):
    """``log``."""

    version: Word = "1.1"
    creator: Annotated[ToolForm, BeforeValidator(_object)] = ToolForm()
    browser: Annotated[ToolForm, BeforeValidator(_object)] = ToolForm()
    pages: Annotated[tuple[PageForm, ...], BeforeValidator(_list)] = ()
    entries: tuple[EntryForm, ...]


class ArchiveForm(Form):
    """The whole file."""

    log: LogForm
