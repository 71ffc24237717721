"""The layout of a declared figure: its panels, their titles, the legend and the axes' names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
)

from httpbed.addons.figures.figure_values import FigureValue
from httpbed.addons.figures.stated_figure import Levels, PlacedFigure, parse_published
from httpbed.experiment.factorial import selects
from httpbed.report.phrasing import NumberFormat, level, number_format, title, treatment
from httpbed.report.svg import (
    INK,
    PALETTE,
    QUIET,
    WIDE_IN,
    VisibleFigure,
    colour_ranks,
    colours,
    round_ticks,
)
from httpbed.results.sample import Bounded

COLUMNS = 3
TITLE_LETTERS_IN = 13.5
"""Letters of a panel's title in an inch."""
NAME_LETTERS_IN = 14.0
"""Letters of an axis's name in an inch."""
LEGEND_LETTERS = 100
"""In one line above the panels, with the signs."""
SIGN_LETTERS = 7
LINE_IN = 0.19
PAD_IN = 0.06
DECADES, OCTAVES = 30.0, 5.0
"""Spans of a logarithmic axis above which decades, or 1, 2 and 5, are enough ticks."""
LOG_MARGIN = 1.3
"""Factor between the ends of a logarithmic axis and the values."""
PUBLISHED, NOT_RUN = "published", "not run"
HATCH = {"facecolor": "none", "edgecolor": QUIET, "hatch": "/////", "linewidth": 0, "alpha": 0.45}
MARK = {"marker": "D", "markersize": 5.5, "markerfacecolor": "none", "markeredgewidth": 1.3}
RATIO = NumberFormat(1.0, "", 2)
STRENGTHS = (1.0, 0.5, 0.25)
"""Opacities of areas in one colour."""
TONES = ((1.0, 0.0), (0.5, 0.5), (0.72, 0.0))
"""Lines of one colour differ in how much of it remains, and in the white that is added."""
HEADING_LETTERS = 88
"""In a line of the heading."""
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class ValueScale:
    """The axis of values."""

    form: NumberFormat
    ends: tuple[float, float]
    """In the unit of the format."""

    def shown(self, value: float) -> float:
        """Return a value in the unit of the axis."""
        return value / self.form.factor


@dataclass(frozen=True)
class PanelGrid:
    """A figure with one pair of axes for each panel."""

    figure: VisibleFigure
    axes: Mapping[Levels, Axes]
    columns: int


def panel_grid(  # noqa: PLR0913 - each is a word of the layout
    placed: PlacedFigure,
    panel_in: float,
    *,
    heading: str,
    legend: Sequence[Artist],
    most_columns: int = COLUMNS,
    share: tuple[bool, bool] = (True, True),
) -> PanelGrid:
    """Make the axes, the panels' titles and the legend.

    Args:
        placed: The figure.
        panel_in: Height of a panel in inches, without its title.
        heading: What the figure shows, for readers who have only its file.
        legend: The signs of the series.
        most_columns: Panels in a row.
        share: Whether panels have the same horizontal and the same vertical axis.
    """
    count = len(placed.panels)
    columns = _columns(placed.panels, most_columns)
    rows = math.ceil(count / columns)
    titles = {panel: _title(placed, panel, columns) for panel in placed.panels}
    lines = max(one.count("\n") + 1 if one else 0 for one in titles.values())
    height = rows * (panel_in + 0.16 * lines + 0.1) + 0.35
    per_line = _per_line([str(artist.get_label()) for artist in legend])
    words = wrap(heading, HEADING_LETTERS)
    height += LINE_IN * (len(words) + math.ceil(len(legend) / per_line))
    layout = ConstrainedLayoutEngine(w_pad=PAD_IN, h_pad=PAD_IN)
    figure = VisibleFigure(figsize=(WIDE_IN, height), layout=layout)
    grid = figure.subplots(rows, columns, sharex=share[0], sharey=share[1], squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_visible(False)
    by_panel = dict(zip(placed.panels, grid.flat, strict=False))
    for index, (panel, axes) in enumerate(by_panel.items()):
        axes.set_title(titles[panel], fontsize=8.5)
        axes.tick_params(labelsize=8.5, labelbottom=index + columns >= count or not share[0])
    figure.legend(
        handles=list(legend),
        loc="outside upper left",
        ncols=per_line,
        title="\n".join(words).replace(NO_BREAK, " "),
        title_fontproperties={"weight": "bold", "size": 9},
        alignment="left",
    )
    return PanelGrid(figure, by_panel, columns)


def heading(placed: PlacedFigure, counts: Iterable[int]) -> str:
    """Name the published figure, what is drawn, and the number of values."""
    stated = placed.stated
    source = f"{stated.source}: " if stated.source else ""
    number = f"(n = {span(counts)})".replace(" ", NO_BREAK)
    return f"{source}{stated.title.rstrip('.')} {number}"


def span(counts: Iterable[int]) -> str:
    """Write the least and the largest of some counts."""
    found = set(counts)
    low, high = min(found), max(found)
    return str(low) if low == high else f"{low} to {high}"


def hatch(axes: Axes, place: Rectangle) -> None:
    """Mark a place as not run."""
    place.set(**HATCH)
    axes.add_artist(place)


def hatch_all(axes: Axes) -> None:
    """Mark a panel as not run; its axis of values has no numbers."""
    hatch(axes, Rectangle((0, 0), 1, 1, transform=axes.transAxes))


def without_values(axis: Axis) -> None:
    """Remove the numbers of an axis along which nothing is drawn."""
    axis.set_major_locator(NullLocator())
    axis.set_minor_locator(NullLocator())


def series_name(placed: PlacedFigure, levels: Levels) -> str:
    """Name a series by its levels."""
    named = zip(placed.stated.series, levels, strict=True)
    return ", ".join(placed.stated.names.get(text) or level(name, text) for name, text in named)


def colour(placed: PlacedFigure, levels: Levels) -> str:
    """Return the colour of a series."""
    names = {one: series_name(placed, one) for one in placed.series}
    return colours(names.values())[names[levels]]


def tone(placed: PlacedFigure, levels: Levels) -> str:
    """Return the colour of a line: of one colour the second is lighter."""
    factor, white = TONES[_rank(placed, levels) % len(TONES)]
    red, green, blue = (white + factor * one for one in to_rgb(colour(placed, levels)))
    return to_hex((red, green, blue))


def strength(placed: PlacedFigure, levels: Levels) -> float:
    """Return the opacity of a series' areas: those of one colour differ in it."""
    return STRENGTHS[_rank(placed, levels) % len(STRENGTHS)]


def _rank(placed: PlacedFigure, levels: Levels) -> int:
    """Return how many earlier series have the same colour."""
    names = [series_name(placed, one) for one in placed.series]
    return colour_ranks(names, len(PALETTE))[series_name(placed, levels)]


def legend_of(
    placed: PlacedFigure, signs: Mapping[Levels, Artist], *, has_hatches: bool
) -> list[Artist]:
    """Return the signs of the series, if there are several, of published values and of hatches."""
    entries = list(signs.values()) if len(signs) > 1 else []
    if placed.stated.published:
        entries.append(Line2D([], [], color=INK, linestyle="none", label=PUBLISHED, **MARK))  # type: ignore[arg-type]
    if has_hatches:
        entries.append(Patch(label=NOT_RUN, **HATCH))  # type: ignore[arg-type]
    return entries


def value_format(placed: PlacedFigure, values: Sequence[float]) -> NumberFormat:
    """Choose the unit of the values' axis."""
    return RATIO if placed.stated.ratio_to else number_format(placed.stated.metric, values)


def value_text(placed: PlacedFigure, form: NumberFormat, statistic: str = "") -> str:
    """Name the values: ``mean request time (s)``."""
    stated = placed.stated
    what = title(stated.metric)
    if stated.ratio_to:
        base = ", ".join(
            stated.names.get(one[0]) or full_level(name, one[0])
            for name, one in stated.ratio_to.items()
        )
        return f"{what}, ratio to {base}"
    unit = f" ({form.unit})" if form.unit else ""
    return f"{statistic} {what}{unit}".strip()


def name_vertical_axes(figure: VisibleFigure, text: str) -> None:
    """Write the name of the vertical axes, in as many lines as the figure's height needs."""
    letters = int(NAME_LETTERS_IN * (figure.get_figheight() - 1.9))
    figure.supylabel("\n".join(wrap(text, max(letters, 12))), fontsize=9)


def value_words(placed: PlacedFigure, figure_value: FigureValue, form: NumberFormat) -> str:
    """Write a value with its treatment and its bar, for readers who point at it."""
    stated = placed.stated
    names = dict.fromkeys(name for name in (*stated.panels, stated.x, *stated.series) if name)
    where = treatment(figure_value.cell.treatment, names)
    bar = ""
    if figure_value.low is not None and figure_value.high is not None:
        bar = f" [{form.number(figure_value.low)}, {form.number(figure_value.high)}]"
    return f"{where}: {form.bounded(figure_value.value)}{bar}, n = {figure_value.n}"


def bound_sign(value: Bounded, higher: str) -> str:
    """Return the marker of a value that is not certain; ``higher`` if it may only be higher."""
    return {"<": "v", "?": "D"}.get(value.beyond, higher)


def value_axis(axis: Axis, ends: tuple[float, float], *, log: bool) -> None:
    """Set the ends and the ticks of an axis of values."""
    axes, is_x = axis.axes, axis is axis.axes.xaxis
    if log:
        axes.set_xscale("log") if is_x else axes.set_yscale("log")
    axes.set_xlim(ends) if is_x else axes.set_ylim(ends)
    span = ends[1] / ends[0] if log else 1.0
    if span > DECADES:
        axis.set_major_locator(LogLocator(10))
        axis.set_minor_formatter(NullFormatter())
    elif span > OCTAVES:
        axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_minor_locator(NullLocator())
    if span > OCTAVES:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        round_ticks(axis, 5)


def value_scale(
    placed: PlacedFigure,
    values: Sequence[FigureValue],
    form: NumberFormat,
    panel: Levels | None = None,
) -> ValueScale:
    """Return the axis of a panel's values, or of all: it shows what is known, not every bound.

    The bound of a trial that timed out is its time limit, often far above all other values.
    """
    stated = placed.stated
    values = [value for value in values if panel in {None, value.cell.panel}]
    treatments = [cell.treatment for cell in placed.cells if panel in {None, cell.panel}]
    known = [number for value in values for number in value.known]
    known += [value for one in values for value in one.trials] if stated.points else []
    known += [
        parse_published(value.value, stated.unit)
        for value in stated.published
        if any(selects(value.at, treatment) for treatment in treatments)
    ]
    known = known or [value.value.value for value in values] or [form.factor]
    shown = [number / form.factor for number in known if np.isfinite(number)]
    shown += [1.0] if stated.ratio_to else []
    if "y" not in stated.log:
        return ValueScale(form, (0.0, 1.06 * max(shown) or 1.0))
    positive = [one for one in shown if one > 0] or [1.0]
    return ValueScale(form, (min(positive) / LOG_MARGIN, max(positive) * LOG_MARGIN))


def published_values(
    placed: PlacedFigure, levels: Mapping[str, str], scale: ValueScale
) -> list[float]:
    """Return the published values of a treatment, in the unit of the axis."""
    return [
        scale.shown(parse_published(value.value, placed.stated.unit))
        for value in placed.stated.published
        if selects(value.at, levels)
    ]


def full_level(name: str, text: str) -> str:
    """Write a level with the name of its factor."""
    return level(name, text) if name == "http_version" else f"{title(name)} {text}"


def level_text(placed: PlacedFigure, name: str, text: str) -> str:
    """Write a level at an axis that names its factor."""
    written = level(name, text) if name == "http_version" else text
    return placed.stated.names.get(text, written)


def widest(texts: Sequence[str]) -> int:
    """Return the number of letters of the longest text."""
    return max(map(len, texts), default=0)


def _columns(panels: Sequence[Levels], most: int) -> int:
    """Return the panels in a row: a row shows all levels of the last factors, if they fit."""
    if len(panels) <= most:
        return len(panels)
    last = [len({panel[at:] for panel in panels}) for at in range(len(panels[0]))]
    balanced = math.ceil(len(panels) / math.ceil(len(panels) / most))
    return max((count for count in last if 1 < count <= most), default=balanced)


def _title(placed: PlacedFigure, panel: Levels, columns: int) -> str:
    """Name a panel; its lines end between levels."""
    named = zip(placed.stated.panels, panel, strict=True)
    names = placed.stated.names
    levels = [(names.get(text) or level(name, text)).replace(" ", NO_BREAK) for name, text in named]
    letters = int(TITLE_LETTERS_IN * (WIDE_IN - 0.6) / columns)
    lines = wrap(", ".join(levels), letters, max_lines=3, placeholder=" …")
    return "\n".join(lines).replace(NO_BREAK, " ")


def _per_line(names: Sequence[str]) -> int:
    """Return how many signs of a legend fit in a line: all have the width of the longest."""
    return max(1, min(max(len(names), 1), LEGEND_LETTERS // (widest(names) + SIGN_LETTERS)))
