from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.pages.sites.repair import FileIndex, Reference, Repair

FILES = FileIndex(
    ["s.css", "img/a.png", "img/b c.png", "deep/Only.js", "x/twice.png", "y/twice.png"]
)
ICON = '<link rel="icon" href="data:,">'


def _page(text: str) -> tuple[str, Repair]:
    """Return a repaired page, and its repair."""
    repair = Repair("/index.html", FILES)
    return repair.page(text), repair


def test_existing_files_stay_and_are_listed() -> None:
    """Text stays byte for byte, with queries and escapes."""
    text = '<link rel=stylesheet href="s.css"><img src="img/a.png?v=1"><img src="/img/b%20c.png">'
    repaired, repair = _page(text)
    assert (repaired, repair.changes) == (text, [])
    assert repair.references == [
        Reference("/s.css", is_requested=True),
        Reference("/img/a.png?v=1", is_requested=True),
        Reference("/img/b%20c.png", is_requested=True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.test/x.js"></script>',
        '<img src="//cdn.test/x.png">',
        '<link rel="stylesheet" href="http://fonts.test/css?family=A">',
        '<link rel="preconnect" href="https://fonts.test">',
        '<link rel="manifest" href="s.css">',
        '<meta http-equiv="refresh" content="0;url=/elsewhere">',
        '<base href="https://elsewhere.test/">',
        '<script>var s=document.createElement("script");s.src="https://www.google.test/a.js"</script>',
    ],
)
def test_references_to_other_hosts_are_removed_and_reported(text: str) -> None:
    """Whole elements are removed."""
    repaired, repair = _page(text)
    assert repaired == ""
    assert len(repair.changes) == 1


def test_a_frame_of_another_host_becomes_empty() -> None:
    """Its place in the page stays."""
    assert (
        _page('<iframe width=5 src="https://maps.test/"></iframe>')[0]
        == "<iframe width=5></iframe>"
    )


def test_a_dead_link_is_replaced_by_the_only_file_of_its_name() -> None:
    """Cases may differ."""
    repaired, repair = _page("<script src='js/only.js'></script>")
    assert repaired == '<script src="/deep/Only.js"></script>'
    assert repair.changes == ["replaced by /deep/Only.js: js/only.js"]


def test_a_dead_link_with_two_candidates_is_removed() -> None:
    """Guessing would show a wrong file."""
    repaired, repair = _page("<img src=img/twice.png>")
    assert (repaired, repair.changes) == ("", ["missing: img/twice.png"])


def test_lazy_images_load_at_once_and_in_one_size() -> None:
    """How near the viewport counts as near depends on the network."""
    repaired, repair = _page(
        '<img src="img/a.png" srcset="img/a.png 1x, img/a.png 2x" loading="lazy">'
    )
    assert repaired == '<img src="img/a.png">'
    assert [change.split(":")[0] for change in repair.changes] == [
        "image set removed",
        "loads at once",
    ]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("<!DOCTYPE html><html lang=en><title>x</title>", "<title>"),
        ("<!doctype html><title>x</title>", "<title>"),
        ("\ufeff<HTML>\n<p>x", "\n<p>"),
    ],
)
def test_a_page_without_a_head_gets_an_icon(text: str, where: str) -> None:
    """The icon is where the head begins, behind the document type."""
    wanted = text.replace(where, ICON + where, 1)
    assert _page(text)[0] == wanted


def test_icons_are_replaced_by_an_empty_icon() -> None:
    """Only some browsers request an icon."""
    repaired, _ = _page('<html><head><link rel="shortcut icon" href="img/a.png"></head></html>')
    assert repaired == f"<html><head>{ICON}</head></html>"


def test_repeated_slashes_become_one() -> None:
    """Servers interpret them differently."""
    assert _page("<img src=img//a.png>")[0] == '<img src="/img/a.png">'


def test_a_sheet_keeps_its_files_and_lists_them_as_optional() -> None:
    """Fonts and backgrounds are requested only if something is drawn with them."""
    repair = Repair("/img/x.css", FILES)
    repaired = repair.sheet("@import '../s.css';p{a:url(a.png#x) url(no.woff)}")
    assert repaired == "@import '../s.css';p{a:url(a.png#x) url(\"data:,\")}"
    assert repair.references == [
        Reference("/s.css", is_requested=True),
        Reference("/img/a.png", is_requested=False),
    ]


def test_styles_in_attributes_are_repaired_too() -> None:
    """Character references are kept."""
    repaired, _ = _page('<div style="background: url(&quot;https://x.test/a.png&quot;)">')
    assert repaired == '<div style="background: url(&quot;data:,&quot;)">'


def test_invalid_urls_are_removed() -> None:
    """They are removed like references to other hosts."""
    assert _page("<img src='http://[broken'><img src='data:image/png,x'>")[0] == (
        "<img src='data:image/png,x'>"
    )


@given(
    st.lists(
        st.sampled_from(
            [
                "<img src=",
                "img/a.png",
                " loading=lazy",
                ">",
                "'",
                "<script>",
                "//x.test/",
                "</script>",
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_a_repaired_page_needs_no_further_repair(text: str) -> None:
    """This holds for any malformed page."""
    once, _ = _page(text)
    again, repair = _page(once)
    assert again == once
    assert repair.changes == []
