from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.pages.sites.repair import Element, change_elements, change_references

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
    result: list[Element] = []

    def look(element: Element) -> str:
        result.append(element)
        return element.source

    change_elements(text, look)
    return result


@given(st.lists(PIECES, max_size=60).map("".join))
def test_unchanged_text_stays_however_malformed(text: str) -> None:
    """Pages and style sheets stay byte for byte, even malformed ones."""
    assert change_elements(text, lambda element: element.source) == text
    assert change_elements(text, lambda element: element.without("none")) == text
    assert change_references(text, lambda url: url) == text


@pytest.mark.parametrize("piece", ["<a ", "<script>", "<!--", '<a b="', "<a b='", "<", "<a b= "])
def test_a_long_malformed_page_is_read_in_one_pass(piece: str) -> None:
    """A quadratic pattern would take hours."""
    assert change_elements(piece * 100_000, lambda element: element.source) == piece * 100_000


@pytest.mark.parametrize("piece", ["url(", 'url("', "@import ", "/*", "@import url("])
def test_a_long_malformed_sheet_is_read_in_one_pass(piece: str) -> None:
    """A quadratic pattern would take hours."""
    assert change_references(piece * 100_000, lambda url: url) == piece * 100_000


def test_attributes_are_read_as_browsers_read_them() -> None:
    """Spaces, cases, references and stray quotes; the first of two values counts."""
    (image,) = _elements("<IMG SRC = 'a&amp;b.png' alt=x\" src=second lazy>")
    assert image.name == "img"
    assert image.attributes["src"] == "a&b.png"
    assert "lazy" in image.attributes


def test_a_quote_without_an_equals_sign_ends_nothing() -> None:
    """Otherwise all text up to the next quote would be lost."""
    assert [element.name for element in _elements("<p it's><img src=a><p it's>")] == [
        "p",
        "img",
        "p",
    ]


def test_text_of_comments_scripts_and_titles_has_no_elements() -> None:
    """Their content is text."""
    text = "<!-- <img src=a> --><script>'<img src=b>'</script><title><img></title><img src=c>"
    assert [element.name for element in _elements(text)] == ["script", "title", "img"]


def test_only_the_value_of_an_attribute_changes() -> None:
    """Quotes, spaces and line breaks stay."""
    (one,) = _elements("<img  class=x src=a.png\n alt='>'>")
    assert one.with_value("src", 'b"c') == "<img  class=x src=\"b&quot;c\"\n alt='>'>"
    assert one.without("class", "alt") == "<img src=a.png>"


def test_references_of_a_sheet_are_found_in_every_spelling() -> None:
    """Those in comments stay."""
    text = "@import 'a.css';@import url(b.css) print;/*url(f)*/"
    text += "p{x:url( \"c.png\" ) url(d.png) URL('e')}"
    result: list[str] = []
    change_references(text, lambda url: (result.append(url), url)[1])  # type: ignore[func-returns-value]
    assert result == ["a.css", "b.css", "c.png", "d.png", "e"]
