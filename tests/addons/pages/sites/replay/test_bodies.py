"""Bodies of exactly the recorded length decode to the recorded content.

Which recorded fields are sent again.
"""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hars import Said, read
from httpbed.addons.pages.sites.replay import bodies, headers
from httpbed.addons.pages.sites.replay.headers import Fields

DRAWN = np.random.Generator(np.random.PCG64(7))
TEXT = b" ".join(f"{number:x}".encode() for number in DRAWN.integers(10_000, size=800))


def decoded(body: bodies.Body, length: int) -> bytes:
    """Decode a body, where possible with another library than encoded it."""
    if body.coding == "gzip":
        return gzip.decompress(body.start)
    if body.coding in ("br", "zstd"):
        name = {"br": "brotli"}.get(body.coding, body.coding)
        return bytes(pa.Codec(name).decompress(body.start, length, asbytes=True))
    return body.start


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
@given(more=st.integers(0, 70_000))
def test_a_body_reaches_any_length_above_its_minimum(coding: str, more: int) -> None:
    """Padding goes where decoders skip it."""
    least = 2200
    result = bodies.exact(TEXT, "text/css", coding, least + more)
    assert result is not None
    assert len(result.start) == result.length == least + more
    assert decoded(result, len(TEXT)) == TEXT


def test_text_is_padded_and_written_in_its_charset() -> None:
    """A HAR file has text as UTF-8, whatever its charset was."""
    umlauts = "\u00fc" * 10
    sent = bodies.exact(umlauts.encode(), "text/html; charset=iso-8859-1", "", 10)
    assert sent is not None
    assert sent.start == umlauts.encode("latin-1")
    longer = bodies.exact(b"a{}", "text/css", "", 5)
    assert longer is not None
    assert longer.start == b"a{}  "


@given(
    kind=st.sampled_from(["image/png", "image/svg+xml", "font/woff", ""]),
    length=st.integers(0, 500),
)
def test_fillers_have_the_given_length(kind: str, length: int) -> None:
    """Images have an image header, because browsers stop fetching invalid images."""
    result = bodies.filler(kind, length)
    assert result.length == length
    assert len(result.start) <= length
    if kind == "image/png" and length > 50:
        assert result.start.startswith(b"GIF89a")


def answered(
    fields: dict[str, str], *, location: str | None = None, of_skeleton: bool = False
) -> Fields:
    """Return the sent fields, without the content type."""
    (entry,) = read([Said("https://a.test/", headers=fields)]).entries
    result = headers.answered(entry, location=location, of_skeleton=of_skeleton)
    return [one for one in result if one[0] != "content-type"]


def test_the_server_sets_fields_of_connection_and_length() -> None:
    """It also sets fields with other addresses of the site."""
    stated = {"Connection": "close", "content-length": "5", "Alt-Svc": 'h3=":443"', "X-One": "1"}
    assert answered(stated) == [("X-One", "1")]


def test_fields_that_cause_other_requests_are_renamed() -> None:
    """Reports, dialogs and, for a skeleton, rules against scripts get another name."""
    stated = {"nel": "{}", "content-security-policy": "default-src 'none'"}
    assert answered(stated)[0] == ("x-recorded-nel", "{}")
    assert answered(stated)[1][0] == "content-security-policy"
    assert answered(stated, of_skeleton=True)[1][0] == "x-recorded-content-security-policy"


def test_redirects_lead_to_replayed_targets() -> None:
    """Otherwise they lead nowhere."""
    assert answered({"Location": "http://b.test/"}, location="https://b.test/") == [
        ("Location", "https://b.test/")
    ]
    assert answered({"Location": "http://b.test/"}) == [("x-recorded-Location", "http://b.test/")]
    assert answered({}, location="/x") == [("location", "/x")]


def test_a_field_cannot_contain_another() -> None:
    """A field is one line of a head, whatever the file has."""
    stated = {"x: y\r\nz": "1", "set-cookie": "a=1\nb=2", "x": "a\r\n\r\n<script>\x00", "": "1"}
    assert answered(stated) == [
        ("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x", "a"), ("x", ""), ("x", "<script>")
    ]  # fmt: skip


def test_a_field_is_replaced_added_or_removed() -> None:
    """In its place, or last, or removed."""
    fields = [("A", "1"), ("B", "2")]
    assert headers.with_field(fields, "a", "3") == [("A", "3"), ("B", "2")]
    assert headers.with_field(fields, "c", "3") == [*fields, ("c", "3")]
    assert headers.with_field(fields, "a", None) == [("B", "2")]
