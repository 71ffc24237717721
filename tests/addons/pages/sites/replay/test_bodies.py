"""Bodies of exactly the recorded length decode to the recorded content."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.pages.sites.replay import bodies

DRAWN = np.random.Generator(np.random.PCG64(7))
NOISE = DRAWN.bytes(5000)
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


def test_a_body_cannot_be_shorter_than_its_minimum() -> None:
    """Nothing is cut off."""
    assert bodies.exact(NOISE, "image/png", "br", 4000) is None
    assert bodies.exact(TEXT, "text/css", "", 20) is None


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
