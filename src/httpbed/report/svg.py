"""Figures as SVG: values where the reader points, and the form that an HTML report has in it.

An SVG's ``<title>`` needs no script. matplotlib writes each artist as a group with its gid as id,
and each marker in it as a ``<use>``; other artists, such as a bar, have one value for the group.

Inside HTML an SVG needs no namespaces, and its ids must differ from those of other figures. Ink
becomes ``currentColor`` and each series a CSS variable, so that dark mode and print choose them.
A report has many figures, so ids that nothing refers to, digits beyond a hundredth of a point and
indentation are left out. docs/decisions/0016 says why the file is edited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from markupsafe import Markup

from httpbed.base.errors import visible

if TYPE_CHECKING:
    from httpbed.report.figures import Plot

INK, QUIET = "#1b1b1b", "#8a8a8a"
PALETTE = ("#009e73", "#0072b2", "#d55e00", "#c78500", "#cc79a7", "#6a4c93", "#7a6a00")
"""Okabe and Ito 2008; orange and yellow darkened to be seen on white, black kept for text.

The first three are those of HTTP/1.1, HTTP/2 and HTTP/3, as far apart as the palette has them.
Violet in place of sky blue, which is too near to the blue of HTTP/2.
"""
PIXELS_PER_POINT = 1.65
"""A little larger than on paper (96/72), so that its letters are as large as the report's."""

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
for _prefix, _address in (
    ("", _SVG[1:-1]),
    ("xlink", _XLINK[1:-1]),
    ("cc", "http://creativecommons.org/ns#"),
    ("dc", "http://purl.org/dc/elements/1.1/"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
):
    ET.register_namespace(_prefix, _address)
_SMALL_DIGITS = re.compile(r"(\.\d\d)\d+")
_REFERENCE = re.compile(r"(^#|url\(#)([^)]+)")
_FONT = re.compile(r"(font: (?:\w+ )?[\d.]+px) [^;]+")
_COLOURS = {
    INK: "currentColor",
    QUIET: "var(--quiet)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(PALETTE, start=1)},
}
_COLOUR = re.compile("|".join(_COLOURS))


def titled(text: str, words: Mapping[str, Sequence[str]]) -> str:
    """Put the words of each group's marks into an SVG; groups without words stay as they are."""
    root = ET.fromstring(text)  # noqa: S314 - matplotlib made it
    for group in root.iter(f"{_SVG}g"):
        own = words.get(group.get("id", ""), ())
        marks = [*group.iter(f"{_SVG}use")]
        parts = marks if len(marks) == len(own) else [group] if len(own) == 1 else []
        for part, word in zip(parts, own, strict=False):
            title = ET.Element(f"{_SVG}title")
            title.text = visible(word)
            part.insert(0, title)
    return ET.tostring(root, "unicode", xml_declaration=True)


def inline(plot: Plot) -> Markup:
    """Turn a plot into SVG for an HTML report."""
    root = ET.fromstring(plot.svg())  # noqa: S314 - matplotlib made it
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    every = [*root.iter()]
    needed = {
        found[2]
        for element in every
        for value in element.attrib.values()
        for found in _REFERENCE.finditer(value)
    }
    for element in every:
        _simplify(element, plot.name, needed)
    _, _, width, height = root.get("viewBox", "0 0 1 1").split()
    root.attrib = {
        "class": "plot",
        "role": "img",
        "viewBox": f"0 0 {width} {height}",
        "style": f"max-width:{float(width) * PIXELS_PER_POINT:.0f}px",
    }
    title = ET.Element("title")
    title.text = plot.alternative
    root.insert(0, title)
    # ElementTree escapes every text and attribute.
    return Markup(ET.tostring(root, "unicode", short_empty_elements=False))  # noqa: S704


def _simplify(element: ET.Element, prefix: str, needed: set[str]) -> None:
    """Leave out what an HTML report does not need, and give ids and colours of its own."""
    element.tag = element.tag.removeprefix(_SVG)
    element.tail = "\n" if element.tail else ""
    if len(element) and not (element.text or "").strip():
        element.text = ""
    if element.tag == "style":
        return
    attributes = {}
    for name, value in element.attrib.items():
        if name == "id" and value not in needed:
            continue
        if name == "id":
            value = f"{prefix}-{value}"  # noqa: PLW2901
        elif name in {"d", "x", "y"}:
            value = _SMALL_DIGITS.sub(r"\1", value)  # noqa: PLW2901
        elif name == "transform" and value.startswith("rotate(-0 "):
            continue
        elif name == "style":
            value = _FONT.sub(r"\1 var(--sans)", value)  # noqa: PLW2901
        value = _REFERENCE.sub(rf"\1{prefix}-\2", value)  # noqa: PLW2901
        attributes[name.removeprefix(_XLINK)] = _COLOUR.sub(lambda one: _COLOURS[one[0]], value)
    element.attrib = attributes
