"""Text and tables in GitHub Flavored Markdown, with foreign text as nothing but text.

Names of levels, and reasons of programs, come from users and servers. In a pull request they must
not become tables, links, HTML, mathematics, or mentions of people and issues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from httpbed.base.errors import visible

JOINER = "\N{WORD JOINER}"
"""Ends a mention after its sign: GitHub looks for mentions in the text that is rendered."""
_MARKUP = re.compile(r"[\\`*_~|$]|\A\[|\](?=[(\[:])|(?<=\])\[")
"""Brackets only where they could be a link, so that intervals stay readable."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": f"&#64;{JOINER}", "#": f"&#35;{JOINER}"}
_ENTITY = re.compile("[&<>@#]")
_ADDRESS = re.compile(r":(?=//)|(?<=\bwww)\.", re.IGNORECASE)
"""What makes an address out of plain text (GFM, section 6.9)."""
_LIST = re.compile(r"\A(\d*)([-+.)])(?=\s|\Z)")
"""What would begin a list at the start of a line."""


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line."""
    text = _MARKUP.sub(r"\\\g<0>", visible(text).strip())
    text = _ENTITY.sub(lambda sign: _ENTITIES[sign[0]], text)
    text = _ADDRESS.sub(lambda sign: f"&#{ord(sign[0])};", text)
    return _LIST.sub(r"\1\\\2", text)


def table(
    headers: Sequence[str], right: Sequence[bool], rows: Iterable[Sequence[str]]
) -> Iterable[str]:
    """Yield the lines of a table whose texts are Markdown already; ``right`` aligns columns."""
    yield _row(headers)
    yield _row(["---:" if one else "---" for one in right])
    for cells in rows:
        yield _row(cells)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
