"""Generates fonts with a given number of characters from a seed."""

from __future__ import annotations

import io

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib.tables._g_l_y_f import Glyph

from httpbed.addons.pages.sites.generated.files import GeneratedFile, Random

_FIRST_CHARACTER = 0x20


def font(path: str, seed: int, family: str, characters: int) -> GeneratedFile:
    """Return a TrueType font for the first characters from ASCII's space on.

    Its tables are not compressed, so that it is the same with every release of zlib.
    """
    codes = range(_FIRST_CHARACTER, _FIRST_CHARACTER + characters)
    names = [".notdef", *(f"u{code:04X}" for code in codes)]
    random_bytes = Random(seed, characters, 3).bytes(2 * len(names))
    builder = FontBuilder(unitsPerEm=1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(dict(zip(codes, names[1:], strict=True)))
    builder.setupGlyf(
        {name: _glyph(*random_bytes[2 * at : 2 * at + 2]) for at, name in enumerate(names)}
    )
    builder.setupHorizontalMetrics(dict.fromkeys(names, (600, 50)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": family, "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    builder.setupPost()
    return GeneratedFile(path, _saved(builder))


def _glyph(slant: int, height: int) -> Glyph:
    """Return an arch over two stems, shaped by two numbers."""
    pen = TTGlyphPen(None)
    top = 400 + height
    for left in (50, 300):
        pen.moveTo((left, 0))
        pen.lineTo((left + slant, top))
        pen.qCurveTo((left + slant + 50, top + 100), (left + slant + 100, top))
        pen.lineTo((left + 100, 0))
        pen.closePath()
    return pen.glyph()


def _saved(builder: FontBuilder) -> bytes:
    """Return the font file, without the time of day."""
    builder.font.recalcTimestamp = False
    head = builder.font["head"]
    head.created = head.modified = 0
    target = io.BytesIO()
    builder.save(target)
    return target.getvalue()
