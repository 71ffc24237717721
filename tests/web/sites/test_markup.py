from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.web.sites.markup import Element, change_elements, change_references

PIECES = st.sampled_from(
    [
        "<",
        ">",
        "<!--",
        "-->",
        "<script>",
        "</script",
        "'",
        '"',
        "=",
        "<img src=",
        "a",
        " ",
        "/",
        "url(",
    ]
)


def _elements(text: str) -> list[Element]:
    found: list[Element] = []

    def look(element: Element) -> str:
        found.append(element)
        return element.source

    change_elements(text, look)
    return found


@given(st.lists(PIECES, max_size=60).map("".join))
def test_what_nobody_changes_stays_as_it_is_however_wrong(text: str) -> None:
    """Pages and style sheets."""
    assert change_elements(text, lambda element: element.source) == text
    assert change_elements(text, lambda element: element.without("none")) == text
    assert change_references(text, lambda url: url) == text


@pytest.mark.parametrize("piece", ["<a ", "<script>", "<!--", '<a b="', "<a b='", "<", "<a b= "])
def test_a_long_wrong_page_is_read_in_one_pass(piece: str) -> None:
    """Were any pattern quadratic, this would take hours."""
    assert change_elements(piece * 100_000, lambda element: element.source) == piece * 100_000


@pytest.mark.parametrize("piece", ["url(", 'url("', "@import ", "/*", "@import url("])
def test_a_long_wrong_sheet_is_read_in_one_pass(piece: str) -> None:
    """As a page is."""
    assert change_references(piece * 100_000, lambda url: url) == piece * 100_000


def test_attributes_are_read_as_browsers_read_them() -> None:
    """Spaces, cases, references, stray quotes; of two the first."""
    (image,) = _elements("<IMG SRC = 'a&amp;b.png' alt=x\" src=second lazy>")
    assert image.name == "img"
    assert image.attributes["src"] == "a&b.png"
    assert "lazy" in image.attributes


def test_a_quote_without_an_equals_sign_ends_nothing() -> None:
    """Else all up to the next such quote would be lost."""
    assert [one.name for one in _elements("<p it's><img src=a><p it's>")] == ["p", "img", "p"]


def test_what_is_in_comments_scripts_and_titles_is_no_element() -> None:
    """It is text."""
    text = "<!-- <img src=a> --><script>'<img src=b>'</script><title><img></title><img src=c>"
    assert [one.name for one in _elements(text)] == ["script", "title", "img"]


def test_a_value_is_changed_and_all_else_stays() -> None:
    """Quotes, spaces and line breaks among it."""
    (one,) = _elements("<img  class=x src=a.png\n alt='>'>")
    assert one.with_value("src", 'b"c') == "<img  class=x src=\"b&quot;c\"\n alt='>'>"
    assert one.without("class", "alt") == "<img src=a.png>"


def test_references_of_a_sheet_are_found_in_every_spelling() -> None:
    """But not those in comments."""
    text = "@import 'a.css';@import url(b.css) print;/*url(f)*/"
    text += "p{x:url( \"c.png\" ) url(d.png) URL('e')}"
    found: list[str] = []
    change_references(text, lambda url: (found.append(url), url)[1])  # type: ignore[func-returns-value]
    assert found == ["a.css", "b.css", "c.png", "d.png", "e"]


def test_a_reference_that_goes_leaves_a_sheet_that_is_valid() -> None:
    """An import goes whole."""
    text = "@import url(http://x/a.css);p{background:url(gone.png) red}"
    assert change_references(text, lambda _: None) == 'p{background:url("data:,") red}'
