"""Values of marks in a figure's SVG, which a browser shows where the reader points.

An SVG's ``<title>`` needs no script. matplotlib writes each artist as a group with its gid as id,
and each marker in it as a ``<use>``; other artists, such as a bar, have one value for the group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from markupsafe import escape

from httpbed.base.errors import visible

PREFIX = "marks-"
_GROUP = re.compile(rf'<g id="({PREFIX}\d+)">')
_EDGE = re.compile(r"<g\b|</g>")
_USE = re.compile(r"(<use\b[^>]*?)\s*/>")


def titled(svg: str, words: Mapping[str, Sequence[str]]) -> str:
    """Put the words of each group's marks into the SVG; groups without words stay."""
    done, rest = [], svg
    while found := _GROUP.search(rest):
        end = _end(rest, found.start())
        done += [rest[: found.start()], _group(rest[found.start() : end], words[found[1]])]
        rest = rest[end:]
    return "".join([*done, rest])


def _end(text: str, start: int) -> int:
    """Return where the group ends that starts at ``start``."""
    depth = 0
    for edge in _EDGE.finditer(text, start):
        depth += 1 if edge[0] == "<g" else -1
        if not depth:
            return edge.end()
    return len(text)


def _group(text: str, words: Sequence[str]) -> str:
    titles = [f"<title>{escape(visible(one))}</title>" for one in words]
    if len(_USE.findall(text)) == len(titles):
        each = iter(titles)
        return _USE.sub(lambda use: f"{use[1]}>{next(each)}</use>", text)
    return text.replace(">", f">{titles[0]}", 1) if len(titles) == 1 else text
