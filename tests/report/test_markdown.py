"""The report as Markdown: tables that stay tables, whatever names and programs say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from campaigns import VERSIONS, Ending, campaign
from httpbed.base.errors import visible
from httpbed.report import markdown, publish
from httpbed.report.markdown import JOINER, escaped, table
from httpbed.report.phrasing import DASH
from httpbed.results.findings import find
from httpbed.store.results import Results

GFM = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
EVIL = "a|b `c` <script>alert(1)</script> [x](https://evil.example) @octocat #1\n- **bold**"
PLAIN = {"text", "text_special"}


def cells(text: str) -> list[list[str]]:
    """Return the texts of the cells of a document's tables, row by row."""
    rows: list[list[str]] = []
    for token in GFM.parse(text):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows and token.level == 4:
            rows[-1].append(shown(token))
    return rows


def shown(inline: Token) -> str:
    """Return what a reader sees of a line."""
    return "".join(child.content for child in inline.children or ()).replace(JOINER, "")


def document(results: Results) -> str:
    """Write a campaign's Markdown."""
    return markdown.render(publish.document(results, find(results), draws=False))


@given(st.text())
@example(EVIL)
@example("1. one")
@example("[a]: https://evil.example")
@example("[x][y]")
@example("--- | ---")
@example("\\|`")
@example("&lt;b&gt;")
def test_text_is_nothing_but_text(text: str) -> None:
    """In a list and in a table, it is shown as it is, without markup, and in one line."""
    expected = visible(text).strip()
    items = GFM.parse(f"- {escaped(text)}x")
    assert [token.type for token in items if token.nesting == 1] == [
        "bullet_list_open",
        "list_item_open",
        "paragraph_open",
    ]
    (inline,) = (token for token in items if token.type == "inline")
    assert {child.type for child in inline.children or ()} <= PLAIN
    assert shown(inline) == f"{expected}x"
    lines = table(["a", "b"], [False, True], [[f"{escaped(text)}x", "2"]])
    assert cells("\n".join(lines)) == [["a", "b"], [f"{expected}x", "2"]]


def test_no_one_is_mentioned_and_nothing_is_linked() -> None:
    """GitHub looks for mentions in the rendered text, and for addresses in the source."""
    text = escaped("@octocat fixes #12, see https://evil.example and www.evil.example")
    assert "@" not in text
    assert "//" in text
    assert "://" not in text
    assert "www." not in text
    (inline,) = (token for token in GFM.parse(text) if token.type == "inline")
    seen = "".join(child.content for child in inline.children or ())
    assert f"@{JOINER}octocat" in seen
    assert f"#{JOINER}12" in seen
    assert escaped("@octocat #12").isprintable()


def test_the_table_has_every_treatment_with_its_interval() -> None:
    """One row for each, with what the terminal shows; what is settled is bold."""
    text = document(campaign(lambda levels, b: 10 / float(levels["http_version"]) + b / 100))
    heads, *rows = cells(text)
    assert heads[:3] == ["loss", "http", "n"]
    assert heads[4] == "paired ratio to H2 [93.75 %]"
    assert len(rows) == 6
    assert rows[1][1:5] == ["2", "5", "5.03 s [5.01, 5.05]", "base"]
    assert "**0.67x [0.67, 0.67]**" in text
    assert text.startswith("**Does HTTP/3 fetch 1 MB faster")
    assert "Answer:\n\n- " in text
    assert "30 trials valid" in text


def test_hostile_names_and_reasons_stay_in_their_cells() -> None:
    """A level with a pipe and a script, and a reason of a program."""
    quoted = EVIL.replace("\n", "\\n")
    text = VERSIONS.replace('["0 %", "2 %"]', f'{{ "{quoted}" = "2 %" }}')

    def evil(levels: Mapping[str, str], block: int) -> Ending | float:
        return Ending({}, "failed", EVIL) if levels["http_version"] == "3" else 1 + block / 100

    found = document(campaign(evil, text))
    assert "<script" not in found
    rows = cells(found)
    assert {len(row) for row in rows} == {len(rows[0]), 4}
    assert [row[1:] for row in rows if "failed" in row] == [["failed", "5", visible(EVIL)]]


def test_an_empty_campaign_has_a_table_without_values() -> None:
    """The answer says that there is nothing yet."""
    text = document(campaign(lambda _levels, _block: None))
    assert [row[2:4] for row in cells(text)[1:]] == [["0", DASH]] * 6
    assert "No trial has a value of request time yet" in text


@pytest.mark.parametrize("outcome", ["failed", "invalid", "timed out", "unsupported"])
def test_a_campaign_without_success_names_the_reasons(outcome: str) -> None:
    """For each treatment, with the number of trials."""
    text = document(campaign(lambda _levels, _block: Ending({}, outcome, "curl: (7) refused")))
    assert "Why trials did not complete" in text
    rows = [row for row in cells(text) if row[-1] == "curl: (7) refused"]
    assert len(rows) == 6
    assert {tuple(row[1:3]) for row in rows} == {(outcome, "5")}


def test_many_reasons_are_counted() -> None:
    """The report has all of them."""
    text = document(campaign(lambda _levels, b: Ending({}, "failed", f"reason {b}")))
    assert "20 further rows are in the HTML report." in text
