"""The table of page metrics: every metric of each treatment, with its ratio to the base."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import reports
from campaigns import Ending, campaign
from httpbed.addons.pages.report import metrics_table, section
from httpbed.report.document import Cell, ReportInput, Table
from httpbed.report.publish import summary
from httpbed.results.findings import find
from page_campaigns import PAGES

FACTORS = {"1.1": 2.0, "2": 1.0, "3": 0.5}
EVIL = "<script>alert(1)</script>"


def loads(levels: Mapping[str, str], block: int) -> Ending:
    """Return loads whose times differ between blocks, and whose counts do not."""
    seconds = FACTORS[levels["http_version"]] * (1 + block / 100)
    return Ending(
        {
            "page_time_to_first_byte": 0.1 * seconds,
            "first_contentful_paint": 0.4 * seconds,
            "largest_contentful_paint": 0.8 * seconds,
            "speed_index": 0.6 * seconds,
            "onload_time": 0.9 * seconds,
            "page_load_time": seconds,
            "page_requests": 17,
            "page_connections": 6 if levels["http_version"] == "1.1" else 1,
            "page_bytes": 1_400_000,
        }
    )


@pytest.fixture(scope="module")
def table() -> Table:
    results = campaign(loads, PAGES)
    made = metrics_table.make(results, find(results))
    assert made is not None
    return made


def row(table: Table, name: str) -> dict[str, Cell]:
    """Return the first row of a treatment, by column."""
    _, columns = table.heads
    cells = next(cells for _, rows in table.groups() for own, cells in rows if own == name)
    return {column.header: cell for column, cell in zip(columns, cells, strict=True)}


def test_every_metric_has_a_column_with_its_ratio_to_the_base(table: Table) -> None:
    """In the order of a load; counts that do not vary have no interval."""
    assert [column.header for column in table.heads[1]] == [
        "TTFB", "FCP", "LCP", "Speed Index", "onload", "PLT", "requests", "connections", "bytes",
        "loads by band",
    ]  # fmt: skip
    assert [len(rows) for _, rows in table.groups()] == [3, 3]
    found = row(table, "HTTP/3")
    ratios = {name: cell.below for name, cell in found.items() if cell.below}
    assert (ratios["PLT"].text, ratios["PLT"].tone) == ("0.50x", "better")
    assert (ratios["TTFB"].shape, ratios["TTFB"].aside) == ("▼", "")
    of_first = row(table, "HTTP/1.1")["connections"].below
    assert of_first
    assert of_first.tone == "settled"
    assert row(table, "HTTP/2")["PLT"] == Cell("1.04 s", "[1.01, 1.06]")
    found = row(table, "HTTP/1.1")
    assert found["requests"] == Cell("17", below=Cell("1.00x", "", "settled", "="))
    assert found["connections"].text == "6"
    assert found["bytes"].text == "1.40 MB"


def test_a_metric_without_values_has_no_column() -> None:
    """Archives of an older httpbed have no time to first byte."""
    results = campaign(lambda _levels, block: Ending({"onload_time": 1 + block / 10}), PAGES)
    made = metrics_table.make(results, find(results))
    assert made is not None
    assert [column.header for column in made.heads[1]] == ["onload"]


@pytest.mark.parametrize("outcome", ["failed", "invalid"])
def test_loads_without_any_value_have_no_table(outcome: str) -> None:
    """The section has none, and the report is made."""
    results = campaign(lambda _levels, _block: Ending({}, outcome, EVIL), PAGES)
    findings = find(results)
    made = section.SECTION.make(ReportInput(results, findings))
    assert made is not None
    assert not [block for block in made.blocks if isinstance(block, Table)]
    assert "Table of page metrics" not in reports.page(results, findings)


def test_the_table_is_in_the_report_and_in_its_values() -> None:
    """With names of levels as text; JSON has every figure unrounded."""
    results = campaign(loads, PAGES.replace('"2 %"]', f'"2 %"]\nplace = ["{EVIL}", "b|c"]'))
    findings = find(results)
    page = reports.page(results, findings)
    assert ">TTFB</th>" in page
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    first = summary(results, findings, None)["treatments"][0]
    assert first["page_metrics"]["page_requests"]["estimate"]["median"]["value"] == 17
