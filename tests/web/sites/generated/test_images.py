"""Images: real ones, of exactly the length asked for, each seed and number its own."""

from __future__ import annotations

import hashlib
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from httpbed.web.sites.generated import images

seeds = st.integers(0, 2**63)
numbers = st.integers(1, 1000)
small = st.integers(images.SMALLEST, 3_000)


def opened(body: bytes) -> Image.Image:
    """Decode all of an image."""
    image = Image.open(io.BytesIO(body))
    image.load()
    return image


@given(seeds, numbers, small)
@example(1, 1, 100)
@example(1, 1, 358)  # a GIF's filler takes another block
@example(1, 1, 399)
@example(1, 1, 400)
@example(1, 1, 128_000)  # a JPEG's filler may take another segment
def test_an_image_has_the_length_asked_for(seed: int, number: int, size: int) -> None:
    """To the byte, and a decoder agrees with its media type."""
    body, media_type = images.make(seed, number, size)
    assert len(body) == size
    image = opened(body)
    assert Image.MIME[str(image.format)] == media_type == f"image/{images.encoding(size)}"


@given(seeds, numbers, numbers, small)
def test_images_of_other_numbers_are_other_pictures(seed: int, a: int, b: int, size: int) -> None:
    """And the same number's is the same, to the byte."""
    one, other = images.make(seed, a, size)[0], images.make(seed, b, size)[0]
    same = opened(one).convert("RGB").tobytes() == opened(other).convert("RGB").tobytes()
    assert same == (a == b) == (one == other)


@pytest.mark.parametrize("size", [1000, 10_000, 100_000, 365_000])
def test_most_of_a_jpeg_is_its_picture(size: int) -> None:
    """Not the filler, so that decoding it is the work that its length promises."""
    body = images.jpeg(1, 1, size)
    assert 0.7 < len(_without_comments(body)) / size <= 1


def _without_comments(body: bytes) -> bytes:
    while body[2:4] == b"\xff\xfe":
        body = body[:2] + body[4 + int.from_bytes(body[4:6], "big") :]
    return body


def test_a_file_too_long_for_a_picture_is_filled_up() -> None:
    """Rather than that a machine's memory is."""
    body = images.jpeg(1, 1, 10**7)
    assert len(body) == 10**7
    assert Image.open(io.BytesIO(body)).size == (4096, 3072)


@given(st.integers(4, 400_000))
@example(65_537)
@example(65_538)
@example(131_075)
def test_comment_segments_are_as_long_as_their_filler(length: int) -> None:
    """Whatever the length, though a segment holds 65,533 bytes at the most."""
    assert len(images._comments(bytes(length))) == length
    assert _without_comments(b"\xff\xd8" + images._comments(bytes(length))) == b"\xff\xd8"


@pytest.mark.skipif(
    images.ENCODER != "Pillow 13.0.0, libjpeg-turbo 3.2.0",
    reason="another encoder may make other bytes of the same length",
)
def test_the_bytes_are_those_of_every_machine() -> None:
    """Pinned with the release in requirements.lock: when it changes, these do, and say so."""
    made = b"".join(images.make(7, 1, size)[0] for size in (100, 1000, 10_000, 100_000))
    assert hashlib.sha256(made).hexdigest()[:16] == "2cffa453b3973a25"
