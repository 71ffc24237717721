"""A bar from the start to the end of each item: a row for each, a colour for each series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from httpbed.addons.figures import figure_panels
from httpbed.addons.figures.stated_figure import Levels, PlacedFigure
from httpbed.experiment.factorial import treatment_key
from httpbed.report.phrasing import NumberFormat, number_format
from httpbed.report.svg import QUIET, VisibleFigure
from httpbed.results.sample import named_items
from httpbed.store.results import Results


@dataclass(frozen=True)
class ItemSpan:
    """An item's medians over the trials that have it."""

    name: str
    start: float
    end: float
    trials: int


MAX_ROWS = 60
"""Items that a panel shows: those that start first."""
MAX_NAMED = 30
"""Rows that have room for their names."""
NAME_LETTERS = 24
BAR_IN, GAP_IN = 0.1, 0.06
Spans = Mapping[tuple[Levels, Levels], Sequence[ItemSpan]]


def draw(placed: PlacedFigure, item_spans: Spans) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the spans; also return the format of their times."""
    names = rows(item_spans)
    ends = [span.end for own in item_spans.values() for span in own]
    form = number_format(placed.stated.metric, ends)
    signs = {levels: _sign(placed, levels) for levels in placed.series}
    empty = [one for one in placed.panels if all(at != one for at, _ in item_spans)]
    shown = figure_panels.panel_grid(
        placed,
        0.2 + len(names) * (GAP_IN + BAR_IN * len(placed.series)),
        heading=figure_panels.heading(
            placed, (span.trials for own in item_spans.values() for span in own)
        ),
        legend=figure_panels.legend_of(placed, signs, has_hatches=bool(empty)),
        most_columns=2,
    )
    for panel, axes in shown.axes.items():
        if panel in empty:
            figure_panels.hatch_all(axes)
        for series in placed.series:
            _bars(axes, placed, series, item_spans.get((panel, series), ()), (names, form))
        _axes(axes, names, 1.03 * max(ends) / form.factor)
    shown.figure.supxlabel(f"time from the start ({form.unit})", fontsize=9)
    return shown.figure, form


def rows(found: Spans) -> list[str]:
    """Return the names of the rows: the items of all panels by their first start."""
    first: dict[str, float] = {}
    for span in chain.from_iterable(found.values()):
        first[span.name] = min(span.start, first.get(span.name, span.start))
    return sorted(first, key=lambda name: (first[name], name))[:MAX_ROWS]


def _sign(placed: PlacedFigure, levels: Levels) -> Patch:
    label = figure_panels.series_name(placed, levels)
    strength = figure_panels.strength(placed, levels)
    return Patch(color=figure_panels.colour(placed, levels), alpha=strength, label=label)


def _bars(
    axes: Axes,
    placed: PlacedFigure,
    series: Levels,
    spans: Sequence[ItemSpan],
    scale: tuple[Sequence[str], NumberFormat],
) -> None:
    names, form = scale
    places = {name: at for at, name in enumerate(names)}
    height = 0.8 / len(placed.series)
    shift = height * (placed.series.index(series) - (len(placed.series) - 1) / 2)
    placed_spans = [span for span in spans if span.name in places]
    axes.barh(
        [places[span.name] + shift for span in placed_spans],
        [(span.end - span.start) / form.factor for span in placed_spans],
        height * 0.92,
        left=[span.start / form.factor for span in placed_spans],
        color=figure_panels.colour(placed, series),
        alpha=figure_panels.strength(placed, series),
    )


def _axes(axes: Axes, names: Sequence[str], end: float) -> None:
    named = len(names) <= MAX_NAMED
    axes.set_yticks(range(len(names)) if named else [], map(_short, names) if named else [])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    figure_panels.value_axis(axes.xaxis, (0.0, end), log=False)
    axes.grid(axis="x")
    axes.spines["left"].set_color(QUIET)


def _short(name: str) -> str:
    return name if len(name) <= NAME_LETTERS else f"…{name[1 - NAME_LETTERS :]}"


def item_spans(
    placed: PlacedFigure, results: Results
) -> dict[tuple[Levels, Levels], list[ItemSpan]]:
    """Return the spans of a figure by panel and series, those that start first in front.

    Panels and series without any item are left out.
    """
    starts, lengths = (
        named_items(results, str(name)) for name in (placed.stated.metric, placed.stated.length)
    )
    drawn = {}
    for cell in placed.cells:
        key = treatment_key(cell.treatment)
        if own := _spans(starts.get(key, {}), lengths.get(key, {})):
            drawn[cell.panel, cell.series] = own
    return drawn


ByBlock = Mapping[int, Mapping[str, float]]


def _spans(starts: ByBlock, lengths: ByBlock) -> list[ItemSpan]:
    ends: dict[str, list[tuple[float, float]]] = {}
    for block in starts.keys() & lengths.keys():
        for name in starts[block].keys() & lengths[block].keys():
            start = starts[block][name]
            ends.setdefault(name, []).append((start, start + lengths[block][name]))
    spans = [ItemSpan(name, *_middle(own), len(own)) for name, own in ends.items()]
    return sorted(spans, key=lambda span: (span.start, span.end, span.name))


def _middle(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    start, end = np.median(ends, axis=0).tolist()
    return start, end
