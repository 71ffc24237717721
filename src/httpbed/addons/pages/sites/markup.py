"""Finds references in pages and style sheets, and changes them in place.

A parser that builds a tree would write another page than it read. Here tags and ``url(...)`` are
found in the text, and all that is not changed stays byte for byte. Every pattern is possessive, and
takes an unclosed construct to the end, as browsers do. So no text needs more than one pass.
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
    """A start tag; a script or style element also has its text."""

    name: str
    """In lower case."""
    attributes: Mapping[str, str]
    """Lower-case name -> value without character references; the first value of a repeated name."""
    source: str
    """Its text in the page."""
    text: str | None = None

    def without(self, *names: str) -> str:
        """Return its source without some attributes."""
        return self._start(lambda each: "" if each["name"].lower() in names else each[0])

    def with_value(self, name: str, value: str) -> str:
        """Return its source with another value of an attribute."""
        attribute = f'{name}="{html.escape(value)}"'
        return self._start(
            lambda each: each["before"] + attribute if each["name"].lower() == name else each[0]
        )

    def with_text(self, text: str) -> str:
        """Return its source with another element text."""
        match = _TAG.match(self.source)
        if match is None or not match["raw"]:
            return self.source
        start, end = match.span("text")
        return self.source[:start] + text + self.source[end:]

    def _start(self, change: Callable[[re.Match[str]], str]) -> str:
        """Return its source with changed attributes of the start tag."""
        match = _TAG.match(self.source)
        if match is None:
            return self.source
        at = match.span("raw_attributes" if match["raw"] else "attributes")
        changed = _ATTRIBUTE.sub(change, self.source[at[0] : at[1]])
        return self.source[: at[0]] + changed + self.source[at[1] :]


def change_elements(text: str, change: Callable[[Element], str]) -> str:
    """Return a page in which ``change`` replaces each element; comments stay."""
    return _TAG.sub(lambda match: _changed(match, change), text)


def _changed(match: re.Match[str], change: Callable[[Element], str]) -> str:
    name = match["raw"] or match["name"]
    if not name:
        return match[0]
    attributes: dict[str, str] = {}
    for each in _ATTRIBUTE.finditer(match["raw_attributes"] or match["attributes"] or ""):
        value = each["double"] or each["single"] or each["bare"] or ""
        attributes.setdefault(each["name"].lower(), html.unescape(value).strip())
    return change(Element(name.lower(), attributes, match[0], match["text"]))


def change_references(text: str, change: Callable[[str], str | None]) -> str:
    """Return a style sheet in which ``change`` replaces each URL.

    For ``None``, an ``@import`` is removed and any other URL becomes an empty ``data:`` URL.
    """
    return _CSS.sub(lambda match: _changed_reference(match, change), text)


def _changed_reference(match: re.Match[str], change: Callable[[str], str | None]) -> str:
    url = match["sheet"] or match["double"] or match["single"] or match["bare"]
    if url is None:
        return match[0]
    now = change(url)
    if now == url:
        return match[0]
    if now is None:
        return "" if match["import"] else 'url("data:,")'
    return match[0].replace(url, now, 1)
