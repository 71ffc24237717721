"""Generates images of an exact length in bytes from a seed.

The content alone cannot give a JPEG a certain length. So a slightly smaller picture is encoded, and
comment segments (ISO/IEC 10918-1, B.2.4.5), which decoders skip, fill it up. A colour JPEG needs
about 350 bytes before its pixels, so shorter images are GIFs: 6 by 6 pixels of four colours take at
most 82 bytes with all headers, and a comment extension (GIF89a, section 24) fills them up. A PNG of
100 bytes is possible, but its smallest filler has 12 bytes; BMP has none.

The picture is a blur of a few random colours under grain. The grain makes the length depend on the
number of pixels, as in a photograph; the colours distinguish the images.

All arithmetic is Pillow's on integers, so one release gives the same bytes on every machine.
Another release may not. A site's source names the encoder (``ENCODER``), and its digest, by which
trials cite it, covers all files.
"""

from __future__ import annotations

import io
import itertools
import math

import PIL
from PIL import Image, ImageChops, features

from httpbed.addons.pages.sites.generated.files import Random

SMALLEST = 100
"""Bytes that the GIF of every seed fits in, with its filler."""
SMALLEST_JPEG = 400
ENCODER = f"Pillow {PIL.__version__}, libjpeg-turbo {features.version('libjpeg_turbo')}"

_QUALITY = 85
_GRAIN = 96
"""Grey levels between the darkest and the brightest grain."""
_HEADERS = 330
"""Approximate bytes of a JPEG before its pixels."""
_BYTES_A_PIXEL = 0.5
"""Of a large picture at this quality, slightly below the measured value, so the second size
fits."""
_SHRINK = 0.985
_WIDEST = 4096
"""Pixels; such a picture has 6 MB. Longer files have more filler, as more pixels need gigabytes."""
_SHORTEST_COMMENT = 4
_LONGEST_COMMENT = 65_533
_BLUR = 4
"""Colours along each side of the blur."""
_GIF_SIDE = 6
_GIF_COLOURS = 4
_GIF_HEADERS = 13 + 3 * _GIF_COLOURS
"""Bytes before the first block: signature, screen descriptor and colour table."""


def encoding(size: int) -> str:
    """Return the encoding of an image of ``size`` bytes: ``jpeg`` or ``gif``."""
    return "jpeg" if size >= SMALLEST_JPEG else "gif"


def make(seed: int, number: int, size: int) -> tuple[bytes, str]:
    """Return an image of exactly ``size`` bytes, at least ``SMALLEST``, and its media type."""
    draw = jpeg if encoding(size) == "jpeg" else gif
    return draw(seed, number, size), f"image/{encoding(size)}"


def jpeg(seed: int, number: int, size: int) -> bytes:
    """Return a JPEG of exactly ``size`` bytes, at least ``SMALLEST_JPEG``."""
    random = Random(seed, number, size)
    blur = _colours(random, _BLUR)
    width = min(math.sqrt((size - _HEADERS) / _BYTES_A_PIXEL * 4 / 3), _WIDEST)
    while True:
        encoded = _photograph(blur, max(round(width), 1), random)
        missing = size - len(encoded)
        if missing >= _SHORTEST_COMMENT:
            return encoded[:2] + _comments(random.bytes(missing)) + encoded[2:]
        width *= min(_SHRINK, _SHRINK * math.sqrt((size - _HEADERS) / (len(encoded) - _HEADERS)))


def gif(seed: int, number: int, size: int) -> bytes:
    """Return a GIF of exactly ``size`` bytes, at least ``SMALLEST``."""
    random = Random(seed, number, size)
    picture = _colours(random, _GIF_SIDE).quantize(_GIF_COLOURS)
    encoded = _encoded(picture, "GIF", optimize=False)
    filler = _extension(random.bytes(size - len(encoded)))
    return b"GIF89a" + encoded[6:_GIF_HEADERS] + filler + encoded[_GIF_HEADERS:]


def _colours(random: Random, side: int) -> Image.Image:
    return Image.frombytes("RGB", (side, side), random.bytes(3 * side * side))


def _photograph(blur: Image.Image, width: int, random: Random) -> bytes:
    """Return the JPEG of a blur under grain, in the ratio 4 to 3."""
    picture = blur.resize((width, math.ceil(width * 3 / 4)), Image.Resampling.BICUBIC)
    grain = Image.frombytes("L", picture.size, random.bytes(math.prod(picture.size)))
    grey = grain.point([level * _GRAIN // 256 for level in range(256)])
    grained = ImageChops.add(picture, Image.merge("RGB", (grey,) * 3), offset=-_GRAIN // 2)
    return _encoded(grained, "JPEG", quality=_QUALITY, optimize=True)


def _encoded(picture: Image.Image, encoding: str, **options: object) -> bytes:
    target = io.BytesIO()
    picture.save(target, encoding, **options)
    return target.getvalue()


def _comments(filler: bytes) -> bytes:
    """Return comment segments with at least four bytes in all."""
    count = math.ceil(len(filler) / (_LONGEST_COMMENT + _SHORTEST_COMMENT))
    ends = [len(filler) * number // count for number in range(count + 1)]
    pieces = [filler[start + _SHORTEST_COMMENT : end] for start, end in itertools.pairwise(ends)]
    return b"".join(b"\xff\xfe" + (len(each) + 2).to_bytes(2, "big") + each for each in pieces)


def _extension(filler: bytes) -> bytes:
    """Return a comment extension with at least five bytes."""
    room = len(filler) - 3
    count = math.ceil(room / 256)
    ends = [room * number // count for number in range(count + 1)]
    blocks = [filler[start + 1 : end] for start, end in itertools.pairwise(ends)]
    return b"\x21\xfe" + b"".join(bytes([len(each)]) + each for each in blocks) + b"\x00"
