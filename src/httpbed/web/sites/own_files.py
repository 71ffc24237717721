"""Styles and scripts of an exact length: valid, harmless, and of no use but their weight.

A style is rules for classes that no element has. A script adds up a table of its own and writes the
sum into the page, which is a little work for the browser, as real ones are.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable

from httpbed.web.sites.seeded import GeneratedFile, Random

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


def style(path: str, head: str, seed: int, size: int) -> GeneratedFile:
    """Return a style of exactly ``size`` bytes that begins with ``head``."""
    drawn = Random(seed, size, 1).bytes(size // 8 + 1)
    rules = (
        f".r{at} {{ color: #{drawn[at : at + 3].hex()}; margin: {drawn[at]}px; }}\n"
        for at in range(len(drawn) - 3)
    )
    return GeneratedFile(path, _filled(head, rules, "", size))


def script(path: str, seed: int, size: int) -> GeneratedFile:
    """Return a script of exactly ``size`` bytes, at least 1000, that works a little."""
    drawn = Random(seed, size, 2).bytes(size)
    rows = (
        f'"{base64.b64encode(drawn[at : at + _ROW]).decode()}",\n'
        for at in range(0, len(drawn), _ROW)
    )
    return GeneratedFile(path, _filled(_BEFORE, rows, _AFTER, size))


def _filled(before: str, rows: Iterable[str], after: str, size: int) -> bytes:
    """Put as many rows between two texts as ``size`` bytes take, and spaces behind."""
    said = [before]
    room = size - len(before) - len(after)
    for row in rows:
        if len(row) > room:
            break
        said.append(row)
        room -= len(row)
    return "".join([*said, after]).encode().ljust(size)
