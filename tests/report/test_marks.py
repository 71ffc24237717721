"""Values of marks in figures: one title for each mark, of text, in well-formed SVG.

Colours of series: a protocol has one in every figure, whatever stands beside it.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from httpbed.addons.pages.load.browser_load import PageRequest
from httpbed.addons.pages.report import waterfall
from httpbed.report.svg import (
    MAX_NAMED,
    STYLE,
    Plot,
    VisibleFigure,
    colour_ranks,
    colours,
    name_marks,
    name_points,
)

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</title><script>alert(1)</script>\x1b[2J"


@pytest.fixture
def figure() -> VisibleFigure:
    with mpl.rc_context(STYLE):
        return VisibleFigure(figsize=(3, 2))


def titles(figure: VisibleFigure) -> list[tuple[str, str]]:
    """Return the element and the text of each title, from the figure's file."""
    drawn = Plot("p", "caption", "words", figure).svg()
    root = ET.fromstring(drawn)  # noqa: S314 - our own figure
    return [
        (parent.tag.removeprefix(SVG), child.text or "")
        for parent in root.iter()
        for child in parent
        if child.tag == f"{SVG}title"
    ]


def test_each_mark_has_its_own_words(figure: VisibleFigure) -> None:
    """In the order of the values, beside a line that joins them."""
    axes = figure.subplots()
    (line,) = axes.plot([1, 2, 3], [1, 4, 9], marker="o")
    name_marks(line, ["one", "four", "nine"])
    (bar,) = axes.bar(1, 5)
    name_marks(bar, ["five"])
    assert titles(figure) == [("g", "five"), ("use", "one"), ("use", "four"), ("use", "nine")]


def test_words_are_nothing_but_text(figure: VisibleFigure) -> None:
    """Markup is escaped, and what does not print is made visible."""
    (line,) = figure.subplots().plot([1], [1], "o")
    name_marks(line, [EVIL])
    assert titles(figure) == [("use", EVIL.replace("\x1b", "\\x1b"))]


def test_marks_that_were_not_drawn_leave_the_figure_without_titles(figure: VisibleFigure) -> None:
    """No mark gets the words of another: matplotlib leaves out what has no place."""
    (line,) = figure.subplots().plot([1, float("nan"), 3], [1, 2, 3], "o")
    name_marks(line, ["one", "none", "three"])
    assert titles(figure) == []


@pytest.mark.parametrize("count", [1, MAX_NAMED + 1, 1000])
def test_points_of_a_line_are_bounded(figure: VisibleFigure, count: int) -> None:
    """A curve of a thousand values has some names, the first among them."""
    name_points(figure.subplots(), [(n, n, f"point {n}") for n in range(count)])
    found = titles(figure)
    assert found[0] == ("use", "point 0")
    assert min(count, MAX_NAMED // 2) <= len(found) <= MAX_NAMED


def test_a_curve_without_points_has_no_names(figure: VisibleFigure) -> None:
    """Every trial may have timed out."""
    name_points(figure.subplots(), [])
    assert titles(figure) == []


OF_PROTOCOLS = {"1.1": "#009e73", "2": "#0072b2", "3": "#d55e00"}


@pytest.mark.parametrize("version", OF_PROTOCOLS)
@pytest.mark.parametrize(
    "name", ["HTTP/{}", "page a, HTTP/{}, bbr", "curl:h{}", "HTTP/{}, http server 2"]
)
def test_a_protocol_has_one_colour(version: str, name: str) -> None:
    """Whether it is alone, the first or the last, and in the waterfall."""
    own = name.format(version)
    for names in ([own], [own, "HTTP/9", "cubic"], ["cubic", "HTTP/2", "HTTP/3", own]):
        assert colours(names)[own] == OF_PROTOCOLS[version]
    request = PageRequest("1", "https://site.test/", http_version=version)
    assert waterfall.colour(request) == OF_PROTOCOLS[version]


@pytest.mark.parametrize("name", ["curl:h1", "wget-http1", "h1"])
def test_http_1_1_has_short_names(name: str) -> None:
    """As clients of compare and levels of the studies have."""
    assert colours([name]) == {name: OF_PROTOCOLS["1.1"]}


def test_other_series_take_no_colour_of_a_protocol() -> None:
    """Not even where there are more of them than colours."""
    found = colours([f"size {number}" for number in range(9)])
    assert not set(found.values()) & set(OF_PROTOCOLS.values())
    assert len(set(found.values())) == 4


def test_series_of_one_colour_are_ranked() -> None:
    """Areas differ in strength where they do not in colour."""
    names = ["HTTP/2, none", "HTTP/3, none", "HTTP/2, envoy", "HTTP/3, envoy", "cubic"]
    assert list(colour_ranks(names, 7).values()) == [0, 0, 1, 1, 0]
