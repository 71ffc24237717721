"""Figures that an experiment file declares: what is accepted, and every mistake at its place."""

from __future__ import annotations

import pytest

import campaigns
import toml_documents
from httpbed.addons.figures.stated_figure import PlacedFigure, parse_published, place
from httpbed.experiment import parser

BARS = """
[[figure]]
id = "time-by-loss"
title = "Request time at each loss"
kind = "bars"
metric = "request_time"
x = "loss"
series = "http_version"
published = [{ at = { loss = "2 %" }, value = "9 s" }]
"""
CDF = """
[[figure]]
id = "ratios"
title = "Ratios to HTTP/2"
kind = "cdf"
metric = "request_time"
series = "http_version"
over = "loss"
ratio_to = { http_version = "2" }
"""


SPANS = """
[[figure]]
id = "requests"
title = "Resources from their request on"
kind = "spans"
metric = "resource_start"
length = "resource_time"
series = "http_version"
where = { loss = "0 %" }
"""


def mistakes(figure: str, text: str = campaigns.VERSIONS) -> dict[str, str]:
    """Return the mistakes of an experiment with these figures: place -> text."""
    return {mistake.place: str(mistake) for mistake in parser.read(text + figure).mistakes}


def changed(figure: str, old: str, new: str) -> dict[str, str]:
    """Return the mistakes of a figure with one part replaced."""
    assert old in figure
    return mistakes(figure.replace(old, new))


def placed(figure: str) -> PlacedFigure:
    """Place the only figure of a valid experiment."""
    read = parser.read(campaigns.VERSIONS + figure)
    assert read.mistakes == ()
    assert read.experiment is not None
    (stated,) = read.experiment.figures
    return place(stated, read.experiment.factors, read.treatments)


@pytest.mark.parametrize("figure", [BARS, CDF, SPANS])
def test_a_figure_is_accepted_by_parser_and_schema(figure: str) -> None:
    """Editors validate against the published schema."""
    assert mistakes(figure) == {}
    document = parser.read(campaigns.VERSIONS + figure).document
    assert toml_documents.schema_errors(document) == []


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        (
            '"time-by-loss"',
            '"Time by loss"',
            "id",
            "lower-case letters, digits and hyphens",
        ),
        ('"bars"', '"bar"', "kind", "did you mean 'bars'?"),
        ('"request_time"', '"requesttime"', "metric", "must be one of"),
        ('x = "loss"', "", "x", "is missing in a figure of kind 'bars'; name a factor"),
        ('x = "loss"', 'x = "lost"', "x", "unknown factor 'lost'; known: http_version"),
        ('x = "loss"', 'x = "http_version"', "series[0]", "http_version is already in x"),
        ('"bars"', '"lines"', "", ""),
        ('"bars"', '"lines"\nlog = ["x"]', "log", "no place for '0 %' of loss"),
        ('x = "loss"\nseries = "http_version"', 'x = "http_version"', "where", "differ in loss"),
        ('"bars"', '"bars"\npoints = true', "points", "does not apply to a figure of kind"),
        ('"bars"', '"bars"\nlog = ["y"]', "log", "does not apply to a figure of kind 'bars'"),
        ('"bars"', '"bars"\nabsent = ["0 %"]', "absent[0]", "'0 %' is a level of loss"),
        ('"bars"', '"bars"\nnames = { "9 %" = "much" }', "names.9 %", "no level of any factor"),
        (
            '"bars"',
            '"lines"\nratio_to = { http_version = "2" }',
            "ratio_to",
            "does not apply to a figure of kind 'lines'",
        ),
        ('"request_time"', '"resource_time"', "metric", "draw a CDF without over"),
        ('"9 s"', '"9"', "published[0].value", "the unit is missing in '9'"),
        ('"9 s"', '"9 s", share = "50 %"', "published[0].share", "does not apply"),
        ('{ loss = "2 %" }', '{ loss = "3 %" }', "published[0].at.loss", "'3 %' is not a level"),
        ('"bars"', '"bars"\nwhere = { loss = "9 %" }', "where.loss", "known: 0 %, 2 %"),
        (
            '"bars"',
            '"bars"\nwhere = [{ loss = "0 %" }, { lost = "2 %" }]',
            "where[1].lost",
            "unknown factor 'lost'",
        ),
        (
            '"bars"',
            '"bars"\nwhere = { loss = "0 %" }',
            "published[0].at",
            "the figure has no cell with these levels",
        ),
        (
            '"bars"',
            '"bars"\nstatistic = "mean"\nratio_to = { http_version = "2" }',
            "statistic",
            "a ratio is no mean; use",
        ),
        ('"bars"', '"bars"\nstatistic = "ratio of medians"', "statistic", "needs a base"),
        (
            '"bars"',
            '"bars"\nwhere = { http_version = "2" }\nratio_to = { http_version = "2" }',
            "ratio_to",
            "no treatment of the figure has a base",
        ),
    ],
)
def test_a_mistake_is_reported_at_its_place(old: str, new: str, place: str, words: str) -> None:
    """With the reason and the way out."""
    found = changed(BARS, old, new)
    if not words:
        assert found == {}
        return
    where = f"figure[0].{place}"
    assert where in found
    assert words in found[where]


def test_lines_need_a_numeric_factor() -> None:
    """Bars do not."""
    found = changed(
        BARS.replace('"bars"', '"lines"'),
        'x = "loss"\nseries = "http_version"',
        'x = "http_version"\nseries = "loss"',
    )
    assert found == {}, "versions are numbers"
    named = campaigns.VERSIONS.replace(
        'loss = ["0 %", "2 %"]', "loss = { low = '0 %', high = '2 %' }"
    )
    figure = BARS.replace('"bars"', '"lines"').replace('"2 %"', '"low"')
    assert 'use kind = "bars"' in mistakes(figure, named)["figure[0].x"]


def test_every_mistake_is_reported_at_once() -> None:
    """In all figures, and a figure with a mistake of its own hides no other."""
    found = mistakes(
        BARS.replace('x = "loss"', 'x = "lost"').replace('"9 s"', '"nine"')
        + CDF.replace('"cdf"', '"cfd"')
        + CDF.replace('"ratios"', '"time-by-loss"').replace('over = "loss"', "")
    )
    assert set(found) == {
        "figure[0].x",
        "figure[0].published[0].value",
        "figure[1].kind",
        "figure[2].id",
        "figure[2].over",
    }


def test_a_base_has_no_cell_of_its_own() -> None:
    """It would be 1 everywhere."""
    figure = placed(CDF)
    assert figure.series == (("1.1",), ("3",))
    assert all(cell.base is not None and cell.base["http_version"] == "2" for cell in figure.cells)


def test_several_selections_are_drawn_together() -> None:
    """Panels need not be a full factorial."""
    figure = placed(
        BARS.replace(
            "published",
            'where = [{ http_version = "2" }, { http_version = "3", loss = "2 %" }]\npublished',
        )
    )
    assert [(cell.x, cell.series) for cell in figure.cells] == [
        ("0 %", ("2",)),
        ("2 %", ("2",)),
        ("2 %", ("3",)),
    ]
    assert figure.columns == ("0 %", "2 %")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("15 s", "s", 15),
        ("62 kB/s", "byte/s", 62_000),
        ("0.8", "1", 0.8),
        ("85 %", "1", 0.85),
        ("2 s/GB", "s/GB", 2),
    ],
)
def test_published_values_have_the_unit_of_the_metric(text: str, unit: str, value: float) -> None:
    """Ratios and shares have none."""
    assert parse_published(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("15", "s"), ("fast", "1"), ("62 kB", "byte/s"), ("1 .. 2", "1"), ("nan", "1")],
)
def test_other_published_values_are_rejected(text: str, unit: str) -> None:
    """With an example."""
    with pytest.raises(ValueError, match=r"write|unit"):
        parse_published(text, unit)


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ('length = "resource_time"\n', "", "length", "name the metric of the lengths"),
        ('"resource_time"', '"request_time"', "length", "there are no items to draw"),
        ('"resource_start"', '"request_time"', "metric", "there are no items to draw"),
        ('"resource_time"', '"rate_while_shared"', "length", "have different units"),
        ("where", "points = true\nwhere", "points", "does not apply to a figure of kind 'spans'"),
        ('series = "http_version"', "", "where", "or name the factor in series or panels"),
    ],
)
def test_spans_need_two_metrics_of_items(old: str, new: str, place: str, words: str) -> None:
    """Each mistake has its place and the way out."""
    assert words in changed(SPANS, old, new)[f"figure[0].{place}"]


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ('over = "loss"\n', "", "over", "name the factors whose levels have a ratio each"),
        ("ratio_to", 'published = [{ value = "1" }]\nratio_to', "published[0].share", "is missing"),
        ('"request_time"', '"resource_time"', "metric", "has a value for each item"),
    ],
)
def test_distributions_of_ratios_and_published_shares(
    old: str, new: str, place: str, words: str
) -> None:
    """A ratio belongs to a combination of levels, and a published value to a share."""
    assert words in changed(CDF, old, new)[f"figure[0].{place}"]
