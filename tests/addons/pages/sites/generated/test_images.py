"""Generated images are valid, have exactly the given length, and differ by seed and number."""

from __future__ import annotations

import hashlib
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from httpbed.addons.pages.sites.generated import images

seeds = st.integers(0, 2**63)
numbers = st.integers(1, 1000)
small = st.integers(images.SMALLEST, 3_000)


def opened(body: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(body))
    image.load()
    return image


@given(seeds, numbers, small)
@example(1, 1, 100)
@example(1, 1, 358)  # a GIF's filler needs another block
@example(1, 1, 399)
@example(1, 1, 400)
@example(1, 1, 128_000)  # a JPEG's filler may need another segment
def test_an_image_has_the_given_length(seed: int, number: int, size: int) -> None:
    """A decoder agrees with its media type."""
    body, media_type = images.make(seed, number, size)
    assert len(body) == size
    image = opened(body)
    assert Image.MIME[str(image.format)] == media_type == f"image/{images.encoding(size)}"


@given(seeds, numbers, numbers, small)
def test_images_of_different_numbers_differ(seed: int, a: int, b: int, size: int) -> None:
    """The same number gives the same bytes."""
    one, other = images.make(seed, a, size)[0], images.make(seed, b, size)[0]
    same = opened(one).convert("RGB").tobytes() == opened(other).convert("RGB").tobytes()
    assert same == (a == b) == (one == other)


@pytest.mark.parametrize("size", [1000, 10_000, 100_000, 365_000])
def test_most_of_a_jpeg_is_its_picture(size: int) -> None:
    """Otherwise decoding would take less work than the length promises."""
    body = images.jpeg(1, 1, size)
    assert 0.7 < len(_without_comments(body)) / size <= 1


def _without_comments(body: bytes) -> bytes:
    while body[2:4] == b"\xff\xfe":
        body = body[:2] + body[4 + int.from_bytes(body[4:6], "big") :]
    return body


def test_a_file_too_long_for_a_picture_is_filled_up() -> None:
    """A larger picture would need gigabytes of memory."""
    body = images.jpeg(1, 1, 10**7)
    assert len(body) == 10**7
    assert Image.open(io.BytesIO(body)).size == (4096, 3072)


@pytest.mark.skipif(
    images.ENCODER != "Pillow 13.0.0, libjpeg-turbo 3.2.0",
    reason="another encoder may make other bytes of the same length",
)
def test_the_bytes_are_the_same_on_every_machine() -> None:
    """The bytes are pinned with Pillow's release in requirements.lock, and change only with it."""
    made = b"".join(images.make(7, 1, size)[0] for size in (100, 1000, 10_000, 100_000))
    assert hashlib.sha256(made).hexdigest()[:16] == "2cffa453b3973a25"
