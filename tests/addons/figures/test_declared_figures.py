"""Declared figures: what is drawn from a campaign with known values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

import reports
from campaigns import VERSIONS, Ending, Ends, campaign, timed
from declared_figures import HEAD, RATIO, SECONDS, SPREAD, drawn, heading, panels, usual
from httpbed.addons.figures import cdf, figures_section, grid
from httpbed.addons.figures.figure_panels import PUBLISHED
from httpbed.report.svg import INK, PALETTE
from httpbed.results.findings import find
from httpbed.store.results import Results


def heights(axes: Axes) -> list[float]:
    return [patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)]


def xs(line: Line2D) -> list[float]:
    """Return the horizontal places of a line's points."""
    return [float(x) for x in np.asarray(line.get_xdata())]


def ys(line: Line2D) -> list[float]:
    """Return the vertical places of a line's points."""
    return [float(y) for y in np.asarray(line.get_ydata())]


def published(axes: Axes) -> list[tuple[float, float]]:
    """Return where published values are marked."""
    return [
        (x, y)
        for line in axes.lines
        if line.get_marker() == "D" and line.get_color() == INK
        for x, y in zip(xs(line), ys(line), strict=True)
    ]


def test_bars_show_means_and_standard_deviations() -> None:
    """One group for each level of x, one bar for each series."""
    (axes,) = panels(drawn('kind = "bars"\nx = "loss"\nseries = "http_version"'))
    assert sorted(heights(axes)) == pytest.approx([0.5, 1.0, 1.5, 2.0, 3.0, 6.0])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0 %", "2 %"]
    bars = [ys(line) for line in axes.lines if line.get_color() == INK]
    ends = sorted(high - low for low, high in bars)
    deviation = math.sqrt(0.1 / 4)
    assert ends == pytest.approx([2 * deviation * one for one in (0.5, 1.0, 1.5, 2.0, 3.0, 6.0)])


def test_published_values_stand_at_their_bars() -> None:
    """With the same unit as the axis."""
    plot = drawn(
        'kind = "bars"\nx = "loss"\nseries = "http_version"\npublished = [\n'
        '{ at = { loss = "2 %", http_version = "3" }, value = "2 s" },\n'
        '{ at = { loss = "0 %", http_version = "2" }, value = "900 ms" },\n]'
    )
    (axes,) = panels(plot)
    marks = published(axes)
    assert sorted(y for _, y in marks) == pytest.approx([0.9, 2.0])
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    centres = {round(bar.get_height(), 6): bar.get_x() + bar.get_width() / 2 for bar in bars}
    places = {round(y, 6): x for x, y in marks}
    assert places[2.0] == pytest.approx(centres[1.5])
    assert places[0.9] == pytest.approx(centres[1.0])
    assert PUBLISHED in [text.get_text() for text in plot.figure.legends[0].get_texts()]


def test_bars_of_ratios_are_medians_of_paired_ratios() -> None:
    """A line marks 1, and the base has no bars."""
    (axes,) = panels(
        drawn(
            'kind = "bars"\nx = "loss"\nseries = "http_version"\nratio_to = { http_version = "2" }'
        )
    )
    assert sorted(heights(axes)) == pytest.approx([0.5, 0.5, 2.0, 2.0])
    assert any(ys(line) == [1.0, 1.0] for line in axes.lines)


def test_ratios_may_be_those_of_medians() -> None:
    """As papers with one median per treatment publish them; they have no interval."""
    times = {"1.1": (9, 9, 9, 9, 9), "2": (1, 2, 3, 4, 5), "3": (5, 4, 3, 2, 1)}
    figure = 'kind = "bars"\nx = "loss"\nseries = "http_version"\nstatistic = "ratio of medians"\n'
    results = campaign(
        lambda levels, block: timed(times[levels["http_version"]][block - 1]),
        VERSIONS + HEAD + figure + RATIO,
    )
    (axes,) = panels(drawn("", results))
    assert sorted(heights(axes)) == pytest.approx([1.0, 1.0, 3.0, 3.0])
    assert len(axes.lines) == 1, "the line at 1"


def test_bars_lie_where_names_are_long() -> None:
    """Names below each other never overlap."""
    names = [f"a-very-long-name-of-a-level-{number}" for number in range(6)]
    levels = ", ".join(f'"{name}" = "{number} %"' for number, name in enumerate(names))
    text = VERSIONS.replace('loss = ["0 %", "2 %"]', f"loss = {{ {levels} }}")
    results = campaign(
        lambda *_: timed(1.0),
        text + HEAD + 'kind = "bars"\nx = "loss"\nseries = "http_version"',
    )
    (axes,) = panels(drawn("", results))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == names


def test_lines_go_over_a_numeric_factor_on_logarithmic_axes() -> None:
    """The axes have the scales that the figure asks for."""
    text = VERSIONS.replace('loss = ["0 %", "2 %"]', 'loss = ["0.1 %", "1 %", "10 %"]')
    figure = 'kind = "lines"\nx = "loss"\nseries = "http_version"\nlog = ["x", "y"]\npoints = true'
    results = campaign(
        lambda levels, block: timed(SECONDS[levels["http_version"]] + block / 10),
        text + HEAD + figure,
    )
    (axes,) = panels(drawn("", results))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    lines = [line for line in axes.lines if line.get_color() in PALETTE and len(xs(line)) == 3]
    assert [ys(line)[0] for line in lines] == pytest.approx([2.3, 1.3, 0.8])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.1", "1", "10"]
    dots = [line for line in axes.lines if line.get_marker() == "o" and line.get_alpha()]
    assert sum(len(xs(line)) for line in dots) == 3 * 3 * 5


def test_a_grid_has_a_panel_for_each_condition() -> None:
    """Each cell tells its ratio."""
    text = VERSIONS.replace("[factors]", '[factors]\nsize = ["1 kB", "1 MB"]').replace(
        'size = "1 MB"', 'size = { factor = "size" }'
    )
    figure = 'kind = "grid"\nx = "loss"\ny = "size"\npanels = "http_version"\n'
    results = campaign(usual, text + HEAD + figure + 'ratio_to = { http_version = "2" }')
    plot = drawn("", results)
    shown = panels(plot)
    (key,) = set(plot.figure.axes) - set(shown)
    assert "ratio to HTTP/2" in key.get_xlabel()
    assert [axes.get_title(loc="left") for axes in shown] == ["HTTP/1.1", "HTTP/3"]
    assert [[text.get_text() for text in axes.texts] for axes in shown] == [
        ["2.00"] * 4,
        ["0.50"] * 4,
    ]


def test_a_cdf_ends_below_one_where_trials_timed_out() -> None:
    """One of five trials timed out."""
    results = campaign(
        lambda levels, block: Ending({}, "timed out") if block == 5 else usual(levels, block),
        VERSIONS + HEAD + 'kind = "cdf"\nseries = "http_version"\npanels = "loss"',
    )
    plot = drawn("", results)
    shown = panels(plot)
    assert [axes.get_title(loc="left") for axes in shown] == ["loss 0 %", "loss 2 %"]
    for axes in shown:
        curves = [line for line in axes.lines if line.get_alpha() is None]
        assert [ys(line)[-1] for line in curves] == pytest.approx([80, 80, 80])
    assert "end below 100 %" in plot.caption


def test_a_cdf_of_ratios_has_one_value_for_each_combination() -> None:
    """A published share stands at its value."""
    plot = drawn(
        'kind = "cdf"\nseries = "http_version"\nover = "loss"\nratio_to = { http_version = "2" }\n'
        'published = [{ value = "1", share = "60 %" }]'
    )
    (axes,) = panels(plot)
    curves = [line for line in axes.lines if line.get_color() in PALETTE]
    assert [xs(line)[1:3] for line in curves] == [[2.0, 2.0], [0.5, 0.5]]
    assert published(axes) == [(1.0, 60.0)]
    assert "n = 2" in heading(plot)
    assert "losses" in axes.figure.get_supylabel()


@pytest.mark.parametrize(
    ("noun", "several"), [("proxy", "proxies"), ("delay", "delays"), ("address", "addresses")]
)
def test_the_values_of_a_cdf_are_named_in_the_plural(noun: str, several: str) -> None:
    """By the title of the factor that they are over."""
    assert cdf.plural(noun) == several


def test_every_item_of_a_trial_is_a_value_of_a_cdf() -> None:
    """Metrics of files and resources have no value of the trial."""
    figure = (
        HEAD.replace("request_time", "resource_time")
        + 'kind = "cdf"\nwhere = { loss = "0 %" }\nseries = "http_version"\n'
    )
    results = campaign(usual, VERSIONS + figure)
    rows = results.observations.to_pylist()
    items = [
        {**row, "metric": "resource_time", "item": f"file-{number}", "value": float(number)}
        for row in rows
        if row["metric"] == "request_time"
        for number in (1, 2, 3)
    ]
    table = results.observations.from_pylist(rows + items, schema=results.observations.schema)
    plot = drawn("", Results(**{**vars(results), "observations": table}))
    assert "n = 15" in heading(plot)
    (axes,) = panels(plot)
    assert ys(axes.lines[0])[5] == pytest.approx(100 / 3)


SPANS = (
    '\n[[figure]]\nid = "one"\ntitle = "What is drawn"\nkind = "spans"\nmetric = "resource_start"\n'
    'length = "resource_time"\nwhere = { loss = "0 %", http_version = ["2", "3"] }\n'
)


def with_items(figure: str, items: Mapping[str, tuple[float, float]], blocks: int = 5) -> Results:
    """Make a campaign whose trials have items with these starts and lengths, later by block."""
    results = campaign(usual, VERSIONS.replace("= 5", f"= {blocks}") + figure)
    rows = results.observations.to_pylist()
    found = [
        {**row, "metric": metric, "item": name, "value": value * (1 + SPREAD[row["block"]])}
        for row in rows
        if row["metric"] == "request_time"
        for name, (start, length) in items.items()
        for metric, value in (("resource_start", start), ("resource_time", length))
    ]
    table = results.observations.from_pylist(rows + found, schema=results.observations.schema)
    return Results(**{**vars(results), "observations": table})


def test_spans_go_from_the_median_start_to_the_median_end() -> None:
    """A row for each item, the first to start at the top; a bar in it for each series."""
    results = with_items(SPANS + 'series = "http_version"\n', {"/b": (2.0, 1.0), "/a": (1.0, 4.0)})
    (axes,) = panels(plot := drawn("", results))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["/a", "/b"]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [bar.get_x() for bar in bars] == pytest.approx([1.0, 2.0, 1.0, 2.0], abs=0.01)
    assert [bar.get_width() for bar in bars] == pytest.approx([4.0, 1.0, 4.0, 1.0], abs=0.01)
    assert "n = 5" in heading(plot)
    assert "HTTP/2: starts from 1.00 to 2.00, last end 5.00 s" in plot.alternative


def test_many_spans_have_no_names_and_the_caption_counts_them() -> None:
    """Seventy items: sixty are drawn."""
    many = {f"/{number:02}": (1.0 + number, 1.0) for number in range(70)}
    results = with_items(SPANS + 'panels = "http_version"\n', many, blocks=1)
    plot = drawn("", results)
    assert len(panels(plot)) == 2
    assert all(len(axes.patches) == 60 for axes in panels(plot))
    assert "The 60 items that start first are shown, of 70." in plot.caption
    assert not any(text.get_text() for text in panels(plot)[0].get_yticklabels())


def test_a_mean_says_how_many_trials_timed_out() -> None:
    """A cell in which all did has a bar up to the limit, which leaves the panel."""
    results = campaign(
        lambda levels, block: (
            Ending({}, "timed out") if levels["http_version"] == "1.1" else usual(levels, block)
        ),
        VERSIONS + HEAD + 'kind = "bars"\nx = "loss"\nseries = "http_version"',
    )
    plot = drawn("", results)
    assert "10 trials timed out" in plot.caption
    (axes,) = panels(plot)
    assert heights(axes).count(600.0) == 2
    assert axes.get_ylim()[1] < 10


def spoilt(levels: Mapping[str, str], block: int) -> Ending:
    """Leave two blocks of HTTP/1.1 without a valid attempt."""
    is_spoilt = levels["http_version"] == "1.1" and block <= 2
    return Ending({}, "invalid") if is_spoilt else timed(float(block))


@pytest.mark.parametrize(
    ("statistic", "said", "bar"),
    [
        ("mean", "4 trials without a valid attempt: means lack them.", (3 + 4 + 5) / 3),
        ("median", "A diamond marks a value that may be lower or higher.", 4.0),
    ],
)
def test_a_figure_says_that_trials_have_no_valid_attempt(
    statistic: str, said: str, bar: float
) -> None:
    """The bed spoilt them, so their values are no bounds, and no triangle marks them."""
    rows = f'kind = "bars"\nx = "loss"\nseries = "http_version"\nstatistic = "{statistic}"'
    plot = drawn("", campaign(spoilt, VERSIONS + HEAD + rows))
    assert said in plot.caption
    assert "timed out" not in plot.caption
    (axes,) = panels(plot)
    assert heights(axes).count(bar) == 2
    markers = {line.get_marker() for line in axes.lines}
    assert ("D" in markers, "^" in markers) == (statistic == "median", False)


EVERY_KIND = """
kind = "bars"
x = "loss"
series = "http_version"
%s
[[figure]]
id = "two"
title = "Lines"
metric = "request_time"
kind = "lines"
x = "http_version"
series = "loss"
points = true
log = ["x", "y"]
[[figure]]
id = "three"
title = "Grid"
metric = "request_time"
kind = "grid"
x = "loss"
y = "http_version"
ratio_to = { http_version = "2" }
[[figure]]
id = "four"
title = "CDF"
metric = "request_time"
kind = "cdf"
series = "http_version"
over = "loss"
%s
"""


@pytest.mark.parametrize("ratio", ["", RATIO])
@pytest.mark.parametrize(
    "ends",
    [
        lambda *_: None,
        lambda *_: 0.0001,
        lambda *_: Ending({"request_time": 0.0}),
        lambda *_: Ending({}, "failed", "no answer"),
        lambda *_: Ending({}, "timed out"),
        lambda _, block: 1.0 if block == 1 else None,
        lambda levels, _: Ending({}, "timed out") if levels["loss"] == "2 %" else 1.0,
        lambda levels, _: Ending({}, "timed out") if levels["http_version"] == "2" else 1.0,
    ],
    ids=["none", "short", "zero", "failed", "all late", "one block", "some late", "late base"],
)
def test_no_outcome_stops_the_report(ends: Ends, ratio: str) -> None:
    """Each figure is drawn, or says why not."""
    results = campaign(ends, VERSIONS + HEAD + EVERY_KIND % (ratio, ratio))
    plots, undrawn = figures_section.make(results)
    assert len(plots) + len(undrawn) == 4
    assert all("<svg" in plot.svg() for plot in plots)


def test_the_report_shows_declared_figures_and_keeps_their_files(tmp_path: Path) -> None:
    """In a section of their own."""
    results = campaign(
        usual, VERSIONS + HEAD + 'kind = "bars"\nx = "loss"\nseries = "http_version"', tmp_path
    )
    page = reports.saved(results, find(results)).read_text()
    assert '<section id="declared">' in page
    assert "What is drawn." in page
    assert (tmp_path / "figures/declared-one.svg").is_file()
    assert "Declared figures" not in reports.page(campaign(usual, VERSIONS))


def test_colours_of_ratios_are_symmetric() -> None:
    """White at 1, and as strong for a half as for the double; never an error."""
    assert grid.shade(1.0) == "#ffffff"
    assert grid.shade(0.5) == grid.shade(0.1) == grid.shade(0.0)
    assert grid.shade(2.0) == grid.shade(9.0)
