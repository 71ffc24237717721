"""Names that are hostile to terminals, spreadsheets and XML, in every form of a report."""

from __future__ import annotations

import io
import re
import warnings
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from matplotlib import rc_context

import reports
from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.base.errors import visible, visible_lines
from httpbed.report import terminal
from httpbed.report.svg import STYLE, Plot, VisibleFigure
from httpbed.results.findings import find
from httpbed.store.results import Results
from page_campaigns import PAGES, page_campaign
from report_script import without_own_script

HOSTILE = (
    "\x1b[31m\x00\x07\x0b\x7f\x9b\u202e\u2066\u2028\ufeff\ufffe\uffff\U0001fffe]]>&<svg onload=a>"
)
"""What a TOML string can hold, by escapes."""
LEVEL = r"\u001b[31m\u0000\u202e\ufffe]]>&<svg onload=a>"
"""The same, as it is written in an experiment."""


def _experiment(text: str) -> str:
    """Make the question and a level's name hostile."""
    named = text.replace('["0 %", "2 %"]', f'{{ "{LEVEL}" = "0 %", "2 %" = "2 %" }}')
    return named.replace("Does HTTP/3", f"Does {LEVEL} HTTP/3")


def _ending(levels: dict[str, str], block: int) -> Ending:
    if levels["http_version"] == "3" and block == 1:
        return Ending({}, "failed", HOSTILE, invalid_first=[HOSTILE])
    return timed(1.0 + block / 50)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    nginx = {"name": "nginx", "version": HOSTILE, "sha256": ""}
    manifest = {"command": HOSTILE, "programs": [nginx]}
    folder = tmp_path_factory.mktemp("campaign")
    return campaign(_ending, _experiment(VERSIONS), folder, manifest)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def published(results: Results, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Provide every page and SVG of it, and of a campaign of page loads: file -> text."""

    def loaded(levels: dict[str, str], block: int) -> Ending:
        return Ending({"speed_index": 1 + block / 50 + (levels["http_version"] == "2")})

    folder = tmp_path_factory.mktemp("pages")
    pages = page_campaign(
        folder,
        _experiment(PAGES),
        loaded,  # type: ignore[arg-type]
        evil=HOSTILE + "\ud800",
        only={"block": 1},
    )
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib's, of characters that no font has
        for name, made in (("downloads", results), ("pages", pages)):
            reports.saved(made)
            for file in [*made.directory.glob("*.html"), *made.directory.glob("figures/*.svg")]:
                found[f"{name}/{file.name}"] = file.read_text(encoding="utf-8")
    return found


def test_every_svg_is_well_formed(published: dict[str, str]) -> None:
    """An XML parser reads each file, and each drawing inside a page."""
    files = [text for name, text in published.items() if name.endswith(".svg")]
    pages = [text for name, text in published.items() if name.endswith(".html")]
    inline = [svg for page in pages for svg in re.findall(r"<svg\b.*?</svg>", page, re.DOTALL)]
    assert len(files) >= 6
    assert len(inline) >= len(files)
    for text in [*files, *inline]:
        elements = ET.fromstring(text).iter()  # noqa: S314
        assert "onload" not in {name for element in elements for name in element.attrib}


def test_what_was_hostile_is_shown(published: dict[str, str]) -> None:
    """Pages and figures hold the escapes, and no character that does not print."""
    for name, text in published.items():
        assert visible_lines(text) == text, name
    assert r"\x1b[31m" in published["downloads/request_time-distribution.svg"]
    assert r"\u202e" in published["downloads/report.html"]
    assert r"\u202e" in published["pages/report.html"]


def test_pages_have_no_element_of_a_name(published: dict[str, str]) -> None:
    """A name that looks like markup is text."""

    class Attributes(HTMLParser):
        found: set[str]

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            """Note what attributes there are."""
            self.found |= {name for name, _ in attrs} | {tag}

    for name, text in published.items():
        page = Attributes()
        page.found = set()
        page.feed(without_own_script(text) if name.endswith(".html") else text)
        assert not {"onload", "script"} & page.found, name


def test_the_terminal_obeys_no_name(results: Results) -> None:
    """The table on a terminal holds no control sequence but the table's own colours."""
    printed = io.StringIO()
    reports.show(results, find(results), None, terminal.console(printed))
    assert visible_lines(printed.getvalue()) == printed.getvalue()
    assert r"\x1b[31m" in printed.getvalue()
    out = terminal.Console(file=io.StringIO(), force_terminal=True, color_system="standard")
    with out.capture() as captured:
        out.print("\x1b[2J\u202e", style="red", markup=False, highlight=False)
    assert captured.get() == "\x1b[31m\\x1b[2J\\u202e\x1b[0m\n"


@pytest.mark.parametrize("text", [HOSTILE + "\ud800", "a\r\n\tb"])
def test_a_figure_shows_every_word(text: str) -> None:
    """Labels, titles, legends and names at ticks, however they were given to it."""
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = VisibleFigure(figsize=(20, 12), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], label=text)
        axes.set_yticks([0, 1], [text, "b"])
        axes.xaxis.set_major_formatter(lambda _value, _position: text)
        axes.set_xlabel(text)
        axes.set_title(text)
        axes.annotate(text, (0, 0))
        axes.legend()
        figure.suptitle(text)
        plot = Plot("name", text, text, figure)
        assert plot.pdf().startswith(b"%PDF")
        drawn = plot.svg()
    ET.fromstring(drawn)  # noqa: S314
    assert visible_lines(drawn) == drawn


def test_ordinary_words_are_unchanged() -> None:
    """Letters of every script, signs and ends of lines print as they are."""
    words = "Größe 日本 naïve\n\tΩ → … ≥ €"
    assert visible_lines(words) == words
    assert visible("a\tb\n") == r"a\tb\n"
