"""A figure's SVG as part of an HTML report: no foreign address, unique ids, the report's colours.

Inside HTML an SVG needs no namespaces, and its ids must differ from those of other figures. Ink
becomes ``currentColor`` and each series a CSS variable, so that dark mode and print choose them.
A report has many figures, so ids that nothing refers to, digits beyond a hundredth of a point and
indentation are left out. docs/decisions/0016 says why the text is edited.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from httpbed.report.figures import INK, PALETTE, QUIET, Plot

PIXELS_PER_POINT = 1.65
"""A little larger than on paper (96/72), so that its letters are as large as the report's."""

_PROLOGUE = re.compile(r"\A.*?(?=<svg)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
"""Says in a file that httpbed drew it; its elements have namespaces of their own."""
_NAMESPACE = re.compile(r'\s+xmlns(?::\w+)?="[^"]*"')
_NAME = re.compile(r'\s+id="([^"]+)"')
_REFERENCE = re.compile(r'(href="#|url\(#)([^")]+)')
_COORDINATES = re.compile(r'\b(?:d|x|y)="[^"]*"')
_SMALL_DIGITS = re.compile(r"(\.\d\d)\d+")
_NO_ROTATION = re.compile(r'\s+transform="rotate\(-0 [^"]*"')
_INDENTATION = re.compile(r"\n\s+(?=<)")
_FONT = re.compile(r"(font: (?:\w+ )?[\d.]+px) [^;\"]+")
_SIZE = re.compile(r'<svg\b[^>]*?\bviewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>')


def svg(plot: Plot) -> Markup:
    """Turn a plot into SVG for an HTML report."""
    text = _PROLOGUE.sub("", plot.svg())
    for pattern in (_METADATA, _COMMENT, _NAMESPACE, _NO_ROTATION):
        text = pattern.sub("", text)
    text = _COORDINATES.sub(lambda found: _SMALL_DIGITS.sub(r"\1", found[0]), text)
    text = _own_names(_INDENTATION.sub("\n", text).replace("xlink:href", "href"), plot.name)
    text = _report_colours(_FONT.sub(r"\1 var(--sans)", text))
    # Made by matplotlib, which escapes what it is given; nothing is added but our own words.
    return Markup(_SIZE.sub(lambda size: _opening(plot, size[1], size[2]), text, count=1))  # noqa: S704


def _opening(plot: Plot, width: str, height: str) -> str:
    pixels = float(width) * PIXELS_PER_POINT
    return (
        f'<svg class="plot" role="img" viewBox="0 0 {width} {height}"'
        f' style="max-width:{pixels:.0f}px"><title>{escape(plot.alternative)}</title>'
    )


def _own_names(text: str, prefix: str) -> str:
    needed = {reference[2] for reference in _REFERENCE.finditer(text)}
    text = _NAME.sub(lambda name: f' id="{prefix}-{name[1]}"' if name[1] in needed else "", text)
    return _REFERENCE.sub(rf"\1{prefix}-\2", text)


def _report_colours(text: str) -> str:
    text = text.replace(INK, "currentColor").replace(QUIET, "var(--quiet)")
    for number, colour in enumerate(PALETTE, start=1):
        text = text.replace(colour, f"var(--series-{number})")
    return text
