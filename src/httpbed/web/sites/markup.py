"""What pages and style sheets refer to, found in their text without changing any of the rest.

A parser that builds a tree would write another page than it read. Here tags and ``url(...)`` are
found where they stand, and one that stays as it is stays byte for byte. Every pattern is
possessive and takes what is never closed to the end, as browsers do, so that no text, however
wrong, takes more than one pass.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_ATTRIBUTES = r"(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')|[^>])*+"
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"
    rf"|<(?P<raw>script|style|title|textarea)(?P<raw_attributes>(?:[\s/]{_ATTRIBUTES})?+)(?:>|\Z)"
    r"(?P<text>.*?)(?:</(?P=raw)\s*+>|\Z)"
    rf"|<(?P<name>[a-z][^\s/>]*+)(?P<attributes>{_ATTRIBUTES})(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"(?P<before>[\s/]++)(?P<name>[^\s=/>\"']++)"
    r"(?:\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s>\"']++)))?+"
)
_CSS = re.compile(
    r"/\*.*?(?:\*/|\Z)"
    r"|(?P<import>@import\s++(?:url\(\s*+)?+[\"']?+(?P<sheet>[^\"'\s);]{1,2048}+)[\"']?+\s*+\)?+[^;]*+;?+)"
    r"|url\(\s*+(?:\"(?P<double>[^\"]{0,2048}+)\"|'(?P<single>[^']{0,2048}+)'|(?P<bare>[^\s\"'()]{1,2048}+))\s*+\)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Element:
    """A start tag; of a script or a style sheet also its text."""

    name: str
    """In lower case."""
    attributes: Mapping[str, str]
    """By name in lower case, character references resolved; the first where one is doubled."""
    source: str
    """As it stands in the page."""
    text: str | None = None

    def without(self, *names: str) -> str:
        """Return its source without some attributes."""
        return self._start(lambda each: "" if each["name"].lower() in names else each[0])

    def with_value(self, name: str, value: str) -> str:
        """Return its source with another value of an attribute that it has."""
        said = f'{name}="{html.escape(value)}"'
        return self._start(
            lambda each: each["before"] + said if each["name"].lower() == name else each[0]
        )

    def with_text(self, text: str) -> str:
        """Return its source with another text."""
        found = _TAG.match(self.source)
        if found is None or not found["raw"]:
            return self.source
        start, end = found.span("text")
        return self.source[:start] + text + self.source[end:]

    def _start(self, change: Callable[[re.Match[str]], str]) -> str:
        """Change the start tag's attributes; what follows the tag stays."""
        found = _TAG.match(self.source)
        if found is None:
            return self.source
        at = found.span("raw_attributes" if found["raw"] else "attributes")
        changed = _ATTRIBUTE.sub(change, self.source[at[0] : at[1]])
        return self.source[: at[0]] + changed + self.source[at[1] :]


def change_elements(text: str, change: Callable[[Element], str]) -> str:
    """Return a page with what ``change`` makes of each element; comments stay as they are."""
    return _TAG.sub(lambda found: _changed(found, change), text)


def _changed(found: re.Match[str], change: Callable[[Element], str]) -> str:
    name = found["raw"] or found["name"]
    if not name:
        return found[0]
    attributes: dict[str, str] = {}
    for each in _ATTRIBUTE.finditer(found["raw_attributes"] or found["attributes"] or ""):
        said = each["double"] or each["single"] or each["bare"] or ""
        attributes.setdefault(each["name"].lower(), html.unescape(said).strip())
    return change(Element(name.lower(), attributes, found[0], found["text"]))


def change_references(text: str, change: Callable[[str], str | None]) -> str:
    """Return a style sheet in which each URL is what ``change`` makes of it.

    ``None`` takes an ``@import`` out, and makes an empty ``data:`` URL of any other.
    """
    return _CSS.sub(lambda found: _changed_reference(found, change), text)


def _changed_reference(found: re.Match[str], change: Callable[[str], str | None]) -> str:
    said = found["sheet"] or found["double"] or found["single"] or found["bare"]
    if said is None:
        return found[0]
    now = change(said)
    if now == said:
        return found[0]
    if now is None:
        return "" if found["import"] else 'url("data:,")'
    return found[0].replace(said, now, 1)
