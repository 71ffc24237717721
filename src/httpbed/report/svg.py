"""Figures as SVG: series, visible characters, values where the reader points, their form in HTML.

An SVG's ``<title>`` needs no script. matplotlib writes each artist as a group with its gid as id,
and each marker in it as a ``<use>``; other artists, such as a bar, have one value for the group.

Inside HTML an SVG needs no namespaces. Its ids differ from those of other figures, because
matplotlib makes them from what is drawn and from the figure's name (``svg.hashsalt``). Ink becomes
``currentColor`` and each series a CSS variable, so that dark mode and print choose them. A report
has many figures, so ids that nothing refers to, empty groups, digits beyond a hundredth of a point
and indentation are left out, and a style that several elements have is a class. A control character
in a name of a level, host or file would make an SVG that is not well-formed XML, and a lone
surrogate stops matplotlib. docs/decisions/0016 says why the file is edited.

Colours, dashes and legends of series are here, too, so that a protocol looks alike in all figures.
"""

from __future__ import annotations

import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator
from matplotlib.typing import LineStyleType

from httpbed.base import disk
from httpbed.base.errors import visible

INK, QUIET = "#1b1b1b", "#8a8a8a"
PALETTE = ("#009e73", "#0072b2", "#d55e00", "#c78500", "#cc79a7", "#6a4c93", "#7a6a00")
"""Okabe and Ito 2008; orange and yellow darkened to be seen on white, black kept for text.

The first three are those of HTTP/1.1, HTTP/2 and HTTP/3, as far apart as the palette has them.
Violet in place of sky blue, which is too near to the blue of HTTP/2.
"""
WIDTH_IN, WIDE_IN, ROW_IN = 4.9, 7.4, 0.27
"""Widths of figures, and the height of a row in one."""
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
_SPACES = re.compile(r" (?=[A-Za-z ]|$)|(?<=[A-Za-z]) ")
"""Those of a path that separate no two numbers."""
_REFERENCE = re.compile(r"(?:^#|url\(#)([^)]+)")
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


STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "figure.dpi": 100,
    "text.parse_math": False,  # a level may hold a dollar sign
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "grid.color": QUIET,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.5,
    "legend.borderpad": 0,
}


@dataclass(frozen=True)
class Plot:
    """A figure with its words."""

    name: str
    """Name of its files, without suffix."""
    caption: str
    alternative: str
    """What it shows, for those who do not see it."""
    figure: VisibleFigure

    def svg(self) -> str:
        """Draw as SVG, with no date, so that the same results give the same file."""
        return self._svg

    @cached_property
    def _svg(self) -> str:
        """Draw it once, for the report and for the campaign's folder."""
        buffer = io.StringIO()
        with mpl.rc_context({**STYLE, "svg.hashsalt": self.name}):
            metadata = {**dict.fromkeys(("Date", "Format", "Type")), "Creator": "httpbed"}
            self.figure.savefig(buffer, format="svg", metadata=metadata, transparent=True)
        self.figure.set_layout_engine("none")  # settled, and slow to settle again
        return titled(buffer.getvalue(), self.figure.words)

    def pdf(self) -> bytes:
        """Draw as PDF, without a date."""
        buffer = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(buffer, format="pdf", metadata={"CreationDate": None})
        return buffer.getvalue()

    def save(self, folder: Path, *, as_pdf: bool) -> None:
        """Write the SVG, and the PDF if that is asked for or would be outdated."""
        folder.mkdir(parents=True, exist_ok=True)
        disk.write_beside(folder / f"{self.name}.svg", self.svg().encode())
        pdf = folder / f"{self.name}.pdf"
        if as_pdf or pdf.exists():
            disk.write_beside(pdf, self.pdf())


def inline(plot: Plot) -> Markup:
    """Turn a plot into SVG for an HTML report."""
    root = ET.fromstring(plot.svg())  # noqa: S314 - matplotlib made it
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    every = [*root.iter()]
    needed = {
        found[1]
        for element in every
        for value in element.attrib.values()
        for found in _REFERENCE.finditer(value)
    }
    for element in every:
        _simplify(element, needed)
    _share_styles(root, every)
    for element in reversed(every):  # a group may hold empty ones alone
        for group in element.findall("g"):
            if not len(group) and not group.attrib:
                element.remove(group)
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


def _simplify(element: ET.Element, needed: set[str]) -> None:
    """Leave out what an HTML report does not need, and give colours that the report chooses."""
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
        if name in {"d", "x", "y"}:
            value = _SMALL_DIGITS.sub(r"\1", value)  # noqa: PLW2901
            value = _SPACES.sub("", value)  # noqa: PLW2901
        elif name == "transform" and value.startswith("rotate(-0 "):
            continue
        elif name == "style":
            value = _FONT.sub(r"\1 var(--sans)", value)  # noqa: PLW2901
        attributes[name.removeprefix(_XLINK)] = _COLOUR.sub(lambda match: _COLOURS[match[0]], value)
    element.attrib = attributes


def _share_styles(root: ET.Element, every: Iterable[ET.Element]) -> None:
    """Turn each repeated style into a class, whose name is the same in all figures of a page."""
    counts = Counter(style for element in every if (style := element.get("style")))
    classes = {
        style: f"s{sha256(style.encode()).hexdigest()[:8]}"
        for style, count in counts.items()
        if count > 1
    }
    for element in every:
        if (style := element.get("style")) in classes:
            del element.attrib["style"]
            element.set("class", classes[style])
    rules = ET.Element("style")
    rules.text = "\n".join(f".{name}{{{style}}}" for style, name in classes.items())
    root.insert(0, rules)


MAX_NAMED = 60
"""Points of a line that have a name."""


class VisibleFigure(Figure):
    """A figure that makes its texts visible before it is laid out or drawn."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """As matplotlib's figure."""
        super().__init__(*arguments, **keywords)
        self.words: dict[str, list[str]] = {}
        """What the marks of artists are, by gid."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw it; matplotlib calls this for every form, and to settle the layout."""
        for text in self.findobj(Text):
            text.set_text(_shown(text.get_text()))
        for axes in self.axes:
            for axis in (axes.xaxis, axes.yaxis):
                _make_ticks_visible(axis)
        super().draw(renderer)


def name_marks(artist: Artist, words: Iterable[str]) -> None:
    """Name each mark of an artist, or the artist: readers see it where they point."""
    figure = artist.get_figure(root=True)
    if isinstance(figure, VisibleFigure):
        gid = f"marks-{len(figure.words)}"
        artist.set_gid(gid)
        figure.words[gid] = list(words)


def name_points(axes: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Name points of a line that shows no marks; of many, some at regular distances."""
    kept = points[:: math.ceil(len(points) / MAX_NAMED) or 1]
    (unseen,) = axes.plot([x for x, _, _ in kept], [y for _, y, _ in kept], "o", ms=8, alpha=0)
    name_marks(unseen, (words for _, _, words in kept))


def _make_ticks_visible(axis: Axis) -> None:
    """Names at ticks are made while drawing, by the axis's formatters."""
    if not isinstance(major := axis.get_major_formatter(), _Visible):
        axis.set_major_formatter(_Visible(major))
    if not isinstance(minor := axis.get_minor_formatter(), _Visible):
        axis.set_minor_formatter(_Visible(minor))


class _Visible(Formatter):
    """Formats as another formatter does, with visible characters only."""

    def __init__(self, inner: Formatter) -> None:
        self._inner = inner

    def set_locs(self, locs: list[float]) -> None:
        self._inner.set_locs(locs)

    def __call__(self, x: float, pos: int | None = None) -> str:
        return _shown(self._inner(x, pos))

    def format_ticks(self, values: Iterable[float]) -> list[str]:
        return [_shown(text) for text in self._inner.format_ticks(list(values))]

    def get_offset(self) -> str:
        return self._inner.get_offset()


def _shown(text: str) -> str:
    """Keep the ends of lines only: no font has a tab."""
    return "\n".join(map(visible, text.split("\n")))


MARKERS = ("o", "s", "D", "^", "v", "P", "X")
SINCE = "time since the client's first packet (s)"
Dashes = Literal["-"] | tuple[float, tuple[float, ...]]
DASHES: tuple[Dashes, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
)
"""Line styles of medians, which distinguish them without colour."""
Sign = tuple[str, str, LineStyleType]
"""What distinguishes a curve: its colour, its marker and its dashes."""
PROTOCOLS = {"1.1": 0, "2": 1, "3": 2}
"""Place in the palette of each HTTP version."""
_PROTOCOL = re.compile(r"\b(?:HTTP/|http|h)(1\.1|1|2|3)\b")
"""The HTTP version in a level, such as ``3``, ``curl:h3`` or ``wget-http1``."""


def colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colour of each series of a figure."""
    return {name: PALETTE[at] for name, at in colour_places(names, len(PALETTE)).items()}


def colour_places(names: Iterable[str], colours: int) -> dict[str, int]:
    """Return each series' place in a palette: a protocol has the same in all figures.

    The name decides, because that is what the legend shows. Series without a protocol take none of
    the protocols' colours.
    """
    others = itertools.cycle(range(len(PROTOCOLS), colours))
    return {
        name: next(others) if (place := _of_protocol(name)) is None else place
        for name in dict.fromkeys(names)
    }


def colour_ranks(names: Iterable[str], colours: int) -> dict[str, int]:
    """Return how many earlier series have the same colour."""
    seen = Counter[int]()
    ranks = {}
    for name, place in colour_places(names, colours).items():
        ranks[name] = seen[place]
        seen[place] += 1
    return ranks


def _of_protocol(name: str) -> int | None:
    """Return the place of the first protocol in a name: that of the client."""
    found = _PROTOCOL.search(name)
    return PROTOCOLS["1.1" if found[1] == "1" else found[1]] if found else None


def round_ticks(axis: Axis, most: int) -> None:
    """Set so many ticks at most, at round values, and write those in full."""
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def legend(figure: VisibleFigure, signs: Mapping[str, Sign], columns: int) -> None:
    """Write a legend above a figure: each name with its sign."""
    lines = [
        Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            linestyle=dashes,
            markersize=4.5,
            linewidth=1.4,
            label=name,
        )
        for name, (colour, marker, dashes) in signs.items()
    ]
    columns = min(columns, len(signs))
    figure.legend(handles=lines, loc="outside upper left", ncols=columns)
