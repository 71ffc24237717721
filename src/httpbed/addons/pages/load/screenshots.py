"""The pictures that a browser takes of a page: JPEG files, decoded for the Speed Index.

Browsers store colour at half the resolution of brightness. libjpeg, which most programs use,
interpolates colour when it scales it up. jpeg-js, on which speedline counts colours, repeats each
point and rounds down. Interpolation adds colours that the picture does not have; it changed the
Speed Index of a continuously changing page by 2.6 %. So colour is read at its own resolution, which
libjpeg gives for a picture decoded at half its size.
"""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from PIL import Image, JpegImagePlugin

from httpbed.base import untrusted_files

MOST_BYTES = 2**23
"""Size of one picture."""
MOST_PIXELS = 2**22
"""Of one picture; browsers scale theirs to 500 pixels a side."""

Pixels = npt.NDArray[np.uint8]
"""Rows of pixels; each pixel is red, green, blue."""
_HALVED = [(2, 2), (1, 1), (1, 1)]
"""Sampling of brightness and both colours, horizontally and vertically."""
# ITU-T T.871 section 7.
_RED_OF_CR, _GREEN_OF_CB, _GREEN_OF_CR, _BLUE_OF_CB = 1.402, -0.3441363, -0.71413636, 1.772
_NO_COLOUR = 128


class PictureError(ValueError):
    """A picture is missing, too large, or not a JPEG."""


def read(file: Path) -> bytes:
    """Read a picture file.

    Raises:
        PictureError: It is missing or unreadable.
    """
    try:
        return untrusted_files.data(file, most=MOST_BYTES)
    except (FileNotFoundError, untrusted_files.UnreadableError) as error:
        raise PictureError(f"no picture: {error}") from None


def pixels(picture: bytes) -> Pixels:
    """Decode a JPEG picture, without interpolating its colours.

    Raises:
        PictureError: It is not a JPEG, is damaged, or has more than ``MOST_PIXELS``.
    """
    try:
        image = _opened(picture)
        if _is_halved(image):
            return _coloured(_in_parts(image), _at_half(_opened(picture)))
        return np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise PictureError(f"a damaged picture: {error}") from None


def _opened(picture: bytes) -> JpegImagePlugin.JpegImageFile:
    with suppress(OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        image = Image.open(io.BytesIO(picture), formats=["JPEG"])
        if image.width * image.height <= MOST_PIXELS:
            return cast("JpegImagePlugin.JpegImageFile", image)
    raise PictureError(f"no JPEG picture of up to {MOST_PIXELS} pixels")


def _is_halved(image: JpegImagePlugin.JpegImageFile) -> bool:
    return [layer[1:3] for layer in image.layer] == _HALVED and min(image.size) > 1


def _in_parts(image: JpegImagePlugin.JpegImageFile) -> Pixels:
    image.draft("YCbCr", image.size)
    return np.asarray(image)


def _at_half(image: JpegImagePlugin.JpegImageFile) -> Pixels:
    width, height = image.size
    image.draft("YCbCr", (width // 2, height // 2))
    return np.asarray(image)


def _coloured(whole: Pixels, half: Pixels) -> Pixels:
    """Add each colour point to the brightness of its four pixels.

    Rounding down before repeating gives the same sum, because brightness is a whole number.
    """
    height, width, _ = whole.shape
    blue, red = np.moveaxis(half[:, :, 1:].astype(np.float64) - _NO_COLOUR, 2, 0)
    added = (_RED_OF_CR * red, _GREEN_OF_CB * blue + _GREEN_OF_CR * red, _BLUE_OF_CB * blue)
    points = np.stack([np.floor(part).astype(np.int16) for part in added], axis=2)
    repeated = points.repeat(2, axis=0)[:height].repeat(2, axis=1)[:, :width]
    mixed: Pixels = (whole[:, :, :1] + repeated).clip(0, 255).astype(np.uint8)
    return mixed
