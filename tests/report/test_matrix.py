"""The matrix of treatments, and the axes that it chooses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.experiment.experiment import ReportOptions
from httpbed.report.document import Cell
from httpbed.report.phrasing import DASH
from httpbed.report.treatments import Axes, Matrix, choose, matrix
from httpbed.results.findings import Findings, find
from httpbed.store.results import Results

TIMES = {"1.1": 1.3, "2": 1.0, "3": 0.8}
THREE = VERSIONS.replace(
    "[factors]", '[factors]\nkind = ["a", "b", "c", "d"]\nplace = ["x", "y", "z"]'
)


def apart(levels: Mapping[str, str], block: int) -> float:
    """Give the versions times that are clearly apart."""
    return TIMES[levels["http_version"]] * (1 + block / 100)


def made(results: Results) -> Matrix:
    """Arrange a campaign as its experiment says."""
    return matrix(find(results), results.experiment.report)


@pytest.fixture(scope="module")
def three() -> Findings:
    """Provide a campaign of four factors."""
    return find(campaign(apart, THREE))


def test_the_compared_factor_is_in_the_columns() -> None:
    """Each cell has the ratio with its interval, and the base its median."""
    found = made(campaign(apart))
    (page,) = found.pages
    assert (found.corner, found.across) == (("loss",), "HTTP version")
    assert page.columns == ("HTTP/1.1", "HTTP/2", "HTTP/3")
    assert [row.headings for row in page.rows] == [(("0 %", 1),), (("2 %", 1),)]
    slower, base, faster = page.rows[0].cells
    assert slower == Cell(
        "1.30x",
        "[1.30, 1.30]",
        "worse",
        "▲",
        about="loss 0 %, HTTP/1.1: request time 1.34 s [1.31, 1.37]",
    )
    assert base
    assert (base.text, base.tone, base.shape) == ("1.03 s", "base", "")
    assert faster
    assert (faster.shape, faster.tone) == ("▼", "better")
    assert found.shapes == (("▼", "less"), ("▲", "more"))


def test_factors_become_rows_while_the_rows_are_few(three: Findings) -> None:
    """Four by three rows fit; the loss then has a matrix for each level."""
    assert choose(three, ReportOptions()) == Axes(("kind", "place"), ("http_version",), ("loss",))
    found = matrix(three, ReportOptions())
    assert [page.name for page in found.pages] == ["loss 0 %", "loss 2 %"]
    assert [len(page.rows) for page in found.pages] == [12, 12]
    assert [row.headings[0] for row in found.pages[0].rows][:4] == [
        ("a", 3),
        ("a", 0),
        ("a", 0),
        ("b", 3),
    ]


def test_all_factors_of_the_base_are_columns_while_they_are_few(three: Findings) -> None:
    """Then each row has its base."""
    text = THREE + '\n[report]\nbase = { http_version = "2", place = "x" }\n'
    found = find(campaign(apart, text.replace('"1.1", "2"', '"2"')))
    assert choose(found, ReportOptions()).columns == ("place", "http_version")
    assert choose(three, ReportOptions(rows=["loss"], pages=["kind", "place"])) == Axes(
        ("loss",), ("http_version",), ("kind", "place")
    )


def test_the_experiment_names_the_axes(three: Findings) -> None:
    """What it does not name is chosen."""
    options = ReportOptions(rows=["loss"], columns=["kind"], pages=["place"])
    assert choose(three, options) == Axes(("loss",), ("kind",), ("place", "http_version"))
    assert len(matrix(three, options).pages) == 6
    assert len(matrix(three, options).folded) == 3


def test_a_treatment_outside_the_design_has_an_empty_cell() -> None:
    """An unfinished treatment has its count instead."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if levels["http_version"] == "3":
            return Ending({}, "failed", "broken")
        return timed(apart(levels, block))

    excluded = '\n[[exclude]]\nlevels = { http_version = ["1.1"], loss = ["2 %"] }\nreason = "no"\n'
    (page,) = made(campaign(ends, VERSIONS + excluded)).pages
    assert page.rows[1].cells[0] is None
    failed = page.rows[0].cells[2]
    assert failed
    assert (failed.text, failed.detail) == (DASH, "0/5")


def test_many_levels_of_the_only_factor_are_rows() -> None:
    """A row of many columns would be too wide."""
    many = [f"{index} %" for index in range(10)]
    text = VERSIONS.replace('["1.1", "2", "3"]', '["2"]').replace('["0 %", "2 %"]', str(many))
    found = find(campaign(lambda _levels, block: 1 + block / 100, text))
    assert choose(found, ReportOptions()) == Axes(("loss",), (), ())
