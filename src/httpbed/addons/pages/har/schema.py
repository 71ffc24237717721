"""The form of a HAR file, in the specification and in tools' variants.

HAR 1.2 (J. Odvarko, "HAR 1.2 Spec", 2012) writes -1 for an unknown time or size. Variants:

- WebPageTest writes numbers as text and an empty list of headers as an object.
- Chrome's rounding produces times slightly below 0: above -1 ms they count as 0.
- A field of the wrong type, a time below -1 ms or of years is a mistake.

Times are milliseconds in the file and seconds here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from httpbed.base.errors import RejectedValueError

MAX_MS = 1e9
"""Eleven days; no load takes that long."""
MAX_BYTES = 2**50
_MS = 1e-3


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"must be a number, not {_kind(value)}")  # noqa: TRY004 - for pydantic
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError("must be a number") from None
    if not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number


def _kind(value: object) -> str:
    kinds: dict[type, str] = {
        list: "a list",
        dict: "an object",
        str: "a text",
        bool: "true or false",
    }
    return kinds.get(type(value), "nothing" if value is None else "a number")


def _seconds(value: object) -> float | None:
    if value is None or value == "":
        return None
    milliseconds = _number(value)
    if milliseconds == -1:
        return None
    if milliseconds < -1:
        raise RejectedValueError(f"{milliseconds:g} ms is negative", "an unknown time is -1")
    if milliseconds > MAX_MS:
        raise ValueError(f"{milliseconds:g} ms is longer than {MAX_MS:g} ms")
    return max(0.0, milliseconds) * _MS


def _bytes(value: object) -> int | None:
    if value is None or value == "":
        return None
    number = _number(value)
    if number > MAX_BYTES:
        raise ValueError(f"{number:g} bytes are too many for a file")
    return int(number) if number >= 0 else None


def _status(value: object) -> int:
    number = _number(value or 0)
    if number != int(number) or abs(number) > 999:  # RFC 9110, 15
        raise ValueError(f"{number:g} is not a status code")
    return max(0, int(number))


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"must be a text, not {_kind(value)}")  # noqa: TRY004 - for pydantic
    # JSON can spell lone surrogates, which no encoding can store.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _word(value: object) -> str:
    """Return a text; some tools write a number instead."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)[:40]
    return _text(value)


def _visit(value: object) -> str:
    """Return httpbed's word for a visit; WebPageTest counts them."""
    word = _word(value)
    return {"0": "cold", "1": "repeat view"}.get(word, "" if word.isdecimal() else word)


def _timestamp(value: object) -> float:
    text = _text(value)
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        example = "2026-01-31T12:00:00.000Z"
        raise ValueError(f"must be a date and time, such as {example!r}") from None


def _url(value: object) -> str:
    text = _text(value)
    if text.lower().startswith(("http:", "https:")):
        try:
            split = urlsplit(text)
            port = split.port
        except ValueError as error:
            raise ValueError(f"is not a URL: {error}") from None
        if not split.hostname or port == 0:
            raise ValueError("is not a URL: it has no host, or port 0")
    return text


def _list(value: object) -> object:
    return [] if value is None or value == {} else value


def _object(value: object) -> object:
    return {} if value is None or value == [] else value


Number = Annotated[float, BeforeValidator(_number)]
Time = Annotated[float | None, BeforeValidator(_seconds)]
"""A duration; None if unknown."""
Size = Annotated[int | None, BeforeValidator(_bytes)]
"""Bytes; None if unknown."""
Status = Annotated[int, BeforeValidator(_status)]
Text = Annotated[str, BeforeValidator(_text)]
Word = Annotated[str, BeforeValidator(_word)]
Visit = Annotated[str, BeforeValidator(_visit)]
Timestamp = Annotated[float, BeforeValidator(_timestamp)]
"""Seconds since 1970 in UTC; a time without a zone counts as UTC."""
Url = Annotated[str, BeforeValidator(_url)]
AnyObject = Annotated[Mapping[str, Any], BeforeValidator(_object)]


class Form(BaseModel):
    """Part of a HAR file; unknown fields are ignored, because tools add their own."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class HeaderForm(Form):
    """A header field, or a query parameter."""

    name: Text
    value: Word = ""


Fields = Annotated[tuple[HeaderForm, ...], BeforeValidator(_list)]


class PostDataForm(Form):
    """Body of a request."""

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


class TimingsForm(Form):
    """``log.entries[].timings``."""

    blocked: Time = None
    queued: Time = Field(None, alias="_blocked_queueing")
    """Part of ``blocked``; Chrome's field."""
    queued_before: Time = Field(None, alias="_queued")
    """Time before the entry's start; field of sitespeed.io's chrome-har."""
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


class HarPage(Form):
    """``log.pages[]``, loads of a page; each tool has its own fields for Speed Index and paints."""

    id: Word
    started_s: Timestamp = Field(alias="startedDateTime")
    """Start of the navigation: seconds since 1970."""
    title: Text = ""
    content_loaded_s: Time = Field(None, validation_alias=AliasPath("pageTimings", "onContentLoad"))
    """Seconds since ``started_s``, as are all following times."""
    onload_s: Time = Field(None, validation_alias=AliasPath("pageTimings", "onLoad"))
    speed_index_s: Time = Field(
        None,
        validation_alias=AliasChoices(
            "_speedIndex", "_SpeedIndex", AliasPath("_visualMetrics", "SpeedIndex")
        ),
    )
    first_contentful_paint_s: Time = Field(
        None,
        validation_alias=AliasChoices(
            "_firstContentfulPaint", "_chromeUserTiming.firstContentfulPaint"
        ),
    )
    largest_contentful_paint_s: Time = Field(
        None,
        validation_alias=AliasChoices(
            "_largestContentfulPaint", "_chromeUserTiming.LargestContentfulPaint"
        ),
    )
    visit: Visit = Field("", validation_alias=AliasChoices("_visit", "_cached"))
    """httpbed's word for the visit; empty if the tool does not say."""


class ToolForm(Form):
    """``log.creator`` or ``log.browser``."""

    name: Word = ""
    version: Word = ""


class LogForm(Form):
    """``log``."""

    creator: Annotated[ToolForm, BeforeValidator(_object)] = ToolForm()
    browser: Annotated[ToolForm, BeforeValidator(_object)] = ToolForm()
    pages: Annotated[tuple[HarPage, ...], BeforeValidator(_list)] = ()
    entries: tuple[EntryForm, ...]
    order: Word = Field("", alias="_order")


class ArchiveForm(Form):
    """The whole file."""

    log: LogForm
