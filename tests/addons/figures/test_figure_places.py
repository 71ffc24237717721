"""Places of declared figures: what did not run, columns that cannot run, axes, words of levels."""

from __future__ import annotations

import pytest
from matplotlib.patches import Rectangle

from campaigns import VERSIONS, Ending, campaign
from declared_figures import HEAD, RATIO, drawn, panels, usual
from httpbed.addons.figures import figures_section
from httpbed.addons.figures.figure_panels import NOT_RUN

BARS = 'kind = "bars"\nx = "loss"\nseries = "http_version"\n'


@pytest.mark.parametrize(
    ("ending", "words", "hatches", "crosses"),
    [
        (None, "2 of 6 cells did not run.", 2, 0),
        (Ending({}, "failed", "no answer"), "2 of 6 cells ran and have no value.", 0, 2),
    ],
    ids=["not run", "failed"],
)
def test_places_without_a_value_are_hatched_or_crossed_out(
    ending: Ending | None, words: str, hatches: int, crosses: int
) -> None:
    """A program that fails is a result, and a cell that did not run is none."""
    results = campaign(
        lambda levels, block: ending if levels["http_version"] == "3" else usual(levels, block),
        VERSIONS + HEAD + 'kind = "bars"\nx = "loss"\nseries = "http_version"',
    )
    plot = drawn("", results)
    assert words in plot.caption
    (axes,) = panels(plot)
    hatched = [
        isinstance(artist, Rectangle) and bool(artist.get_hatch()) for artist in axes.findobj()
    ]
    assert sum(hatched) == hatches
    assert sum(line.get_marker() == "x" for line in axes.lines) == crosses
    legend = [text.get_text() for text in plot.figure.legends[0].get_texts()]
    assert (NOT_RUN in legend) == bool(hatches)


def test_levels_may_have_the_words_of_the_publication() -> None:
    """And columns that the experiment cannot run have a hatched place."""
    plot = drawn(
        'kind = "bars"\nx = "loss"\nseries = "http_version"\nabsent = ["by satellite"]\n'
        'names = { "2" = "the old one", "2 %" = "lossy" }'
    )
    (axes,) = panels(plot)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0 %", "lossy", "by satellite"]
    assert "the old one" in [text.get_text() for text in plot.figure.legends[0].get_texts()]
    assert "3 of 9 cells did not run. No trial can run by satellite." in plot.caption


def test_each_panel_of_bars_has_its_own_axis_unless_they_are_ratios() -> None:
    """With loss all times are three times as long."""
    figure = 'kind = "bars"\nx = "http_version"\npanels = "loss"\n'
    ends = [axes.get_ylim()[1] for axes in panels(drawn(figure))]
    assert ends[1] == pytest.approx(3 * ends[0])
    ratios = [axes.get_ylim()[1] for axes in panels(drawn(figure + RATIO))]
    assert ratios[0] == ratios[1]


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (BARS + 'log = ["y"]', "log does not apply"),
        (f'kind = "cdf"\npanels = "loss"\nseries = "http_version"\n{RATIO}', "over is missing"),
        (
            BARS + 'published = [{ value = "1 .. 2" }]',
            "published.0.value",
        ),
    ],
)
def test_a_form_of_an_earlier_version_is_not_drawn_and_says_why(figure: str, words: str) -> None:
    """Its campaign is still reported."""
    plots, undrawn = figures_section.make(campaign(usual, VERSIONS + HEAD + figure))
    assert plots == []
    assert words in undrawn[0]
