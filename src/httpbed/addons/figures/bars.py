"""Groups of bars with error bars: a panel for each condition, a colour for each series.

Bars stand where the names of their groups fit below them, and lie where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from httpbed.addons.figures import figure_panels
from httpbed.addons.figures.figure_panels import ValueScale
from httpbed.addons.figures.figure_values import FigureValue
from httpbed.addons.figures.stated_figure import FigurePlace, Levels, PlacedFigure
from httpbed.addons.pages.load.speed_index import MODERATE_FROM_S, SLOW_ABOVE_S
from httpbed.addons.pages.report.metrics_table import BANDS
from httpbed.report.figures import WIDE_IN
from httpbed.report.phrasing import NumberFormat, title
from httpbed.report.svg import INK, QUIET, VisibleFigure, name_marks

GROUP = 0.8
"""Width of a group, where the next group is 1 away."""
STANDING_IN, ALONE_IN = 2.0, 2.6
BAR_IN, GAP_IN = 0.11, 0.12
"""The height of a bar that lies, and the gap between groups of them."""
LETTER_IN = 0.085
CROSS = {"marker": "x", "markersize": 5, "linestyle": "none", "clip_on": False}
ABOVE = -0.8
"""Place of the bands' names above the first group of bars that lie."""
BAND_ROOM = 0.13
"""Share of a panel that the name of a band needs."""
BANDS_S = (MODERATE_FROM_S, SLOW_ABOVE_S)
"""Limits of the bands of the Speed Index (Liu et al. 2024, section 4.4)."""


@dataclass(frozen=True)
class _Direction:
    """Draws bars that stand or lie."""

    lying: bool

    def bar(self, axes: Axes, place: float, width: float, value: float, **style: object) -> Artist:
        """Draw a bar from zero."""
        if self.lying:
            container = axes.barh(place, value, width, **style)  # type: ignore[arg-type]
        else:
            container = axes.bar(place, value, width, **style)  # type: ignore[arg-type]
        bar: Artist = container.patches[0]
        return bar

    def whole(self, axes: Axes, at: float, width: float) -> Rectangle:
        """Return the place of a bar from end to end of the panel."""
        start = at - width / 2
        if self.lying:
            return Rectangle((0, start), 1, width, transform=axes.get_yaxis_transform())
        return Rectangle((start, 0), width, 1, transform=axes.get_xaxis_transform())

    def line(
        self, axes: Axes, at: Sequence[float], values: Sequence[float], **style: object
    ) -> None:
        """Draw a line or markers."""
        points = (values, at) if self.lying else (at, values)
        axes.plot(*points, **style)  # type: ignore[arg-type]


def draw(
    placed: PlacedFigure, values: Sequence[FigureValue], missing: Mapping[FigurePlace, bool]
) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the bars; also return the format of their values.

    Panels of ratios share the axis of the values. Panels of other values have one each, because
    a network may make all of them ten times as large.
    """
    form = figure_panels.value_format(placed, [value.value.value for value in values])
    direction = _Direction(_must_lie(placed))
    signs = {levels: _sign(placed, levels) for levels in placed.series}
    has_hatches = bool(placed.stated.absent) or not all(missing.values())
    most = min(3, len(placed.panels)) if direction.lying else 2
    is_ratio = bool(placed.stated.ratio_to)
    shown = figure_panels.panel_grid(
        placed,
        _height_in(placed, lying=direction.lying),
        heading=figure_panels.heading(placed, (value.n for value in values)),
        legend=figure_panels.legend_of(placed, signs, has_hatches=has_hatches),
        most_columns=most,
        share=(is_ratio or not direction.lying, is_ratio or direction.lying),
    )
    for panel, axes in shown.axes.items():
        scale = figure_panels.value_scale(placed, values, form, None if is_ratio else panel)
        _axes(axes, placed, scale, direction)
        if any(value.cell.panel == panel for value in values):
            _bands(axes, placed, scale, direction)
        elif not is_ratio:
            figure_panels.without_values(axes.xaxis if direction.lying else axes.yaxis)
        _missing(axes, placed, panel, missing, direction)
        for value in values:
            if value.cell.panel == panel:
                _cell(axes, placed, value, scale, direction)
        _mark_published(axes, placed, panel, scale, direction)
    _name_axes(shown, placed, form, direction)
    return shown.figure, form


def _must_lie(placed: PlacedFigure) -> bool:
    """Whether the names of groups are too wide for bars that stand."""
    columns = min(2, len(placed.panels))
    names = _names(placed)
    wide = LETTER_IN * (figure_panels.widest(names) + 1) * len(names)
    bars = 0.07 * len(names) * (len(placed.series) + 1)
    return max(wide, bars) > (WIDE_IN - 0.7 * columns) / columns


def _height_in(placed: PlacedFigure, *, lying: bool) -> float:
    if not lying:
        return ALONE_IN if len(placed.panels) == 1 else STANDING_IN
    return 0.2 + len(_groups(placed)) * (GAP_IN + BAR_IN * max(1.4, len(placed.series)))


def _groups(placed: PlacedFigure) -> list[str]:
    """Return the levels that have a group, those that cannot run last."""
    return [*placed.columns, *placed.stated.absent]


def _names(placed: PlacedFigure) -> list[str]:
    return [
        figure_panels.level_text(placed, str(placed.stated.x), group) for group in _groups(placed)
    ]


def _sign(placed: PlacedFigure, levels: Levels) -> Line2D:
    return Line2D(
        [],
        [],
        color=figure_panels.colour(placed, levels),
        alpha=figure_panels.strength(placed, levels),
        marker="s",
        markersize=7,
        linestyle="none",
        label=figure_panels.series_name(placed, levels),
    )


def _place(placed: PlacedFigure, x: str, series: Levels) -> tuple[float, float]:
    """Return the centre of a bar and its width."""
    width = GROUP / len(placed.series)
    shift = placed.series.index(series) - (len(placed.series) - 1) / 2
    return _groups(placed).index(x) + width * shift, width


def _missing(
    axes: Axes,
    placed: PlacedFigure,
    panel: Levels,
    missing: Mapping[FigurePlace, bool],
    direction: _Direction,
) -> None:
    """Hatch the places of bars that did not run, and cross out those that ran without a value."""
    own = [(x, series, ran) for (at, series, x, *_), ran in missing.items() if at == panel]
    own += [(x, series, False) for x in placed.stated.absent for series in placed.series]
    for x, series, ran in own:
        at, width = _place(placed, x, series)
        if ran:
            direction.line(axes, [at], [0.0], color=INK, **CROSS)
        else:
            figure_panels.hatch(axes, direction.whole(axes, at, width * 0.92))


def _cell(
    axes: Axes,
    placed: PlacedFigure,
    figure_value: FigureValue,
    scale: ValueScale,
    direction: _Direction,
) -> None:
    """Draw one bar with its error bar; one that is only a bound is hollow."""
    colour = figure_panels.colour(placed, figure_value.cell.series)
    position, width = _place(placed, figure_value.cell.x, figure_value.cell.series)
    value = scale.shown(figure_value.value.value)
    style: Mapping[str, object] = {"color": colour, "edgecolor": colour, "linewidth": 0.8}
    strength = figure_panels.strength(placed, figure_value.cell.series)
    if figure_value.value.beyond:
        style = {"facecolor": "none", "edgecolor": colour, "linewidth": 0.8}
    bar = direction.bar(axes, position, width * 0.92, value, alpha=strength, **style)
    name_marks(bar, [figure_panels.value_words(placed, figure_value, scale.form)])
    far = value
    if figure_value.low is not None and figure_value.high is not None:
        low, far = max(scale.shown(figure_value.low), 0.0), scale.shown(figure_value.high)
        direction.line(axes, (position, position), (low, far), color=INK, linewidth=0.9)
    if figure_value.timed_out or figure_value.value.beyond:
        sign = (">" if direction.lying else "^") if figure_value.value.beyond != "<" else "v"
        places = {"marker": sign, "linestyle": "none", "clip_on": False, "zorder": 5}
        direction.line(
            axes, [position], [min(far, scale.ends[1])], color=INK, markersize=4.5, **places
        )


def _mark_published(
    axes: Axes, placed: PlacedFigure, panel: Levels, scale: ValueScale, direction: _Direction
) -> None:
    for cell in placed.cells:
        if cell.panel != panel:
            continue
        at, _ = _place(placed, cell.x, cell.series)
        for value in figure_panels.published_values(placed, cell.treatment, scale):
            direction.line(axes, [at], [value], color=INK, linestyle="none", **figure_panels.MARK)


def _axes(
    axes: Axes,
    placed: PlacedFigure,
    scale: ValueScale,
    direction: _Direction,
) -> None:
    stated = placed.stated
    line = axes.axvline if direction.lying else axes.axhline
    if stated.ratio_to:
        line(1.0, color=INK, linewidth=0.9)
    groups = len(_groups(placed))
    positions = range(groups)
    if direction.lying:
        axes.set_yticks(positions, _names(placed))
        axes.set_ylim(groups - 0.5, 1.35 * ABOVE if _has_bands(placed) else -0.5)
    else:
        axes.set_xticks(positions, _names(placed))
        axes.set_xlim(-0.5, groups - 0.5)
    axes.tick_params(axis="y" if direction.lying else "x", length=0)
    axis = axes.xaxis if direction.lying else axes.yaxis
    figure_panels.value_axis(axis, scale.ends, log=False)
    axes.grid(axis="x" if direction.lying else "y")
    axes.spines["left" if direction.lying else "bottom"].set_color(QUIET)


def _has_bands(placed: PlacedFigure) -> bool:
    return placed.stated.metric == "speed_index" and not placed.stated.ratio_to


def _bands(axes: Axes, placed: PlacedFigure, scale: ValueScale, direction: _Direction) -> None:
    """Draw the limits of the Speed Index's bands, and name those that have room."""
    if not _has_bands(placed):
        return
    line = axes.axvline if direction.lying else axes.axhline
    for limit_s in BANDS_S:
        line(scale.shown(limit_s), color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    limits = [0.0, *map(scale.shown, BANDS_S), float("inf")]
    for name, low, high in zip(BANDS, limits, limits[1:], strict=False):
        end = min(high, scale.ends[1])
        if (end - low) / scale.ends[1] < BAND_ROOM:
            continue
        middle = (low + end) / 2
        style: dict[str, Any] = {"fontsize": 7.5, "color": QUIET, "ha": "center"}
        if direction.lying:
            axes.text(middle, ABOVE, name, va="center", **style)
        else:
            style |= {"transform": axes.get_yaxis_transform(), "rotation": 270}
            axes.text(1.0, middle, name, **style)


def _name_axes(
    shown: figure_panels.PanelGrid, placed: PlacedFigure, form: NumberFormat, direction: _Direction
) -> None:
    text = figure_panels.value_text(placed, form, placed.stated.shown_statistic)
    group = title(str(placed.stated.x))
    if direction.lying:
        shown.figure.supxlabel(text, fontsize=9)
    else:
        figure_panels.name_vertical_axes(shown.figure, text)
        shown.figure.supxlabel(group, fontsize=9)
