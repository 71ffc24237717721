"""Generates documents, styles, scripts and fonts, and writes a generated site.

Styles and scripts have an exact length, and are valid and harmless. A style has rules for classes
that no element has. A script adds up a table and writes the sum into the page: a little work for
the browser, as real scripts cause.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.site import Site
from httpbed.experiment.workload import OWN_ORIGIN

ENTRY = "/index.html"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
{body}
</body>
</html>
"""


_FIRST_CHARACTER = 0x20
"""Of a font: the space of ASCII."""
_ROW = 54
"""Random bytes in a row of a table."""
_BEFORE = """"use strict";
(() => {
const table = [
"""
_AFTER = """];
let sum = 0;
for (const row of table.slice(0, 1000)) sum = (31 * sum + row.charCodeAt(0)) % 65521;
const note = document.createElement("p");
note.textContent = `${table.length} rows, ${sum}`;
document.body.append(note);
})();
"""


@dataclass(frozen=True)
class GeneratedFile:
    """A generated file; a cold load requests each once."""

    path: str
    """Path in its URL, with the leading slash."""
    body: bytes


class Random:
    """Random numbers of one file: raw output of PCG64, which is the same in every NumPy release."""

    def __init__(self, *names: int) -> None:
        """Start the stream with these names."""
        import numpy as np  # slow to import, and checking an experiment draws none

        self._generator = np.random.PCG64(np.random.SeedSequence(names))

    def bytes(self, count: int) -> bytes:
        """Return random bytes."""
        words = self._generator.random_raw(count // 8 + 1)
        return bytes(words.astype("<u8").tobytes()[:count])


def document(title: str, head: str, body: str) -> GeneratedFile:
    """Return the page; its icon is an empty data URL, so that no browser requests one."""
    text = _PAGE.format(title=title, head=head, body=body)
    return GeneratedFile(ENTRY, text.encode())


def style(path: str, head: str, seed: int, size: int) -> GeneratedFile:
    """Return a style of exactly ``size`` bytes that begins with ``head``."""
    random_bytes = Random(seed, size, 1).bytes(size // 8 + 1)
    rules = (
        f".r{at} {{ color: #{random_bytes[at : at + 3].hex()}; margin: {random_bytes[at]}px; }}\n"
        for at in range(len(random_bytes) - 3)
    )
    return GeneratedFile(path, _filled(head, rules, "", size))


def script(path: str, seed: int, size: int) -> GeneratedFile:
    """Return a script of exactly ``size`` bytes, at least 1000, that computes a little."""
    random_bytes = Random(seed, size, 2).bytes(size)
    rows = (
        f'"{base64.b64encode(random_bytes[at : at + _ROW]).decode()}",\n'
        for at in range(0, len(random_bytes), _ROW)
    )
    return GeneratedFile(path, _filled(_BEFORE, rows, _AFTER, size))


def font(path: str, seed: int, family: str, characters: int) -> GeneratedFile:
    """Return a TrueType font for the first characters from ASCII's space on.

    Its tables are not compressed, so that it is the same with every release of zlib.
    """
    codes = range(_FIRST_CHARACTER, _FIRST_CHARACTER + characters)
    names = [".notdef", *(f"u{code:04X}" for code in codes)]
    random_bytes = Random(seed, characters, 3).bytes(2 * len(names))
    from fontTools.fontBuilder import FontBuilder  # slow, and few pages have fonts

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


def _glyph(slant: int, height: int) -> Any:
    """Return an arch over two stems, shaped by two numbers."""
    from fontTools.pens.ttGlyphPen import TTGlyphPen  # as above

    pen = TTGlyphPen(None)
    top = 400 + height
    for left in (50, 300):
        pen.moveTo((left, 0))
        pen.lineTo((left + slant, top))
        pen.qCurveTo((left + slant + 50, top + 100), (left + slant + 100, top))
        pen.lineTo((left + 100, 0))
        pen.closePath()
    return pen.glyph()


def _saved(builder: Any) -> bytes:
    """Return the font file, without the time of day."""
    builder.font.recalcTimestamp = False
    head = builder.font["head"]
    head.created = head.modified = 0
    target = io.BytesIO()
    builder.save(target)
    return target.getvalue()


def _filled(before: str, rows: Iterable[str], after: str, size: int) -> bytes:
    """Return as many rows between two texts as ``size`` bytes hold, filled up with spaces."""
    rows_kept = [before]
    room = size - len(before) - len(after)
    for row in rows:
        if len(row) > room:
            break
        rows_kept.append(row)
        room -= len(row)
    return "".join([*rows_kept, after]).encode().ljust(size)


def write_site(files: Iterable[GeneratedFile], into: Path, name: str, source: str) -> Site:
    """Write a site's files, the page first, and return its list."""
    files = list(files)
    return Site(
        schema=sites.SCHEMA,
        name=name,
        source=source,
        entry=ENTRY,
        origins=[OWN_ORIGIN],
        resources=sites.write_files(
            [(file.path.lstrip("/"), file.body) for file in files],
            dict.fromkeys((file.path for file in files), 1),
            into,
        ),
    )
