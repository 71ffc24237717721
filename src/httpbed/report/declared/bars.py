"""Groups of bars with error bars: a panel for each condition, a colour for each series.

Bars stand where the names of their groups fit below them, and lie where they do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from httpbed.analysis.figure_values import FigureValue
from httpbed.experiment.figures.placed import Levels, PlacedFigure
from httpbed.report.curves import WIDE_IN
from httpbed.report.declared import panels
from httpbed.report.declared.panels import ValueScale
from httpbed.report.figures import INK, QUIET
from httpbed.report.phrasing import NumberFormat, title
from httpbed.report.visible_figure import VisibleFigure, name_marks
from httpbed.web.load.speed_index import MODERATE_FROM_S, SLOW_ABOVE_S

GROUP = 0.8
"""Width of a group, where the next group is 1 away."""
STANDING_IN, ALONE_IN = 2.0, 2.6
BAR_IN, GAP_IN = 0.11, 0.12
"""Of bars that lie: the height of one, and the gap between groups."""
LETTER_IN = 0.085
BANDS_S = (MODERATE_FROM_S, SLOW_ABOVE_S)
"""Limits of the bands of the Speed Index (Liu et al. 2024, section 4.4)."""


@dataclass(frozen=True)
class _Direction:
    """Draws bars that stand or lie."""

    lying: bool

    def bar(self, axes: Axes, at: float, width: float, value: float, **style: object) -> Artist:
        """Draw a bar from zero, or from 1 on a logarithmic axis of ratios."""
        if self.lying:
            container = axes.barh(at, value, width, **style)  # type: ignore[arg-type]
        else:
            container = axes.bar(at, value, width, **style)  # type: ignore[arg-type]
        bar: Artist = container.patches[0]
        return bar

    def line(
        self, axes: Axes, at: Sequence[float], values: Sequence[float], **style: object
    ) -> None:
        """Draw a line or markers."""
        points = (values, at) if self.lying else (at, values)
        axes.plot(*points, **style)  # type: ignore[arg-type]


def draw(placed: PlacedFigure, values: Sequence[FigureValue]) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the bars; also return the format of their values."""
    scale = panels.value_scale(placed, values)
    direction = _Direction(_must_lie(placed))
    signs = {levels: _sign(placed, levels) for levels in placed.series}
    most = min(3, len(placed.panels)) if direction.lying else 2
    shown = panels.panel_grid(
        placed,
        _height_in(placed, lying=direction.lying),
        legend=panels.legend_of(placed, signs),
        most_columns=most,
    )
    of_panel: dict[Levels, list[FigureValue]] = {}
    for one in values:
        of_panel.setdefault(one.cell.panel, []).append(one)
    for panel, axes in shown.axes.items():
        _axes(axes, placed, scale, direction)
        for one in of_panel.get(panel, []):
            _cell(axes, placed, one, scale, direction)
        _mark_published(axes, placed, panel, scale, direction)
    _name_axes(shown, placed, scale.form, direction)
    return shown.figure, scale.form


def _must_lie(placed: PlacedFigure) -> bool:
    """Whether the names of groups are too wide for bars that stand."""
    columns = min(2, len(placed.panels))
    names = _names(placed)
    wide = LETTER_IN * (panels.widest(names) + 1) * len(names)
    bars = 0.07 * len(names) * (len(placed.series) + 1)
    return max(wide, bars) > (WIDE_IN - 0.7 * columns) / columns


def _height_in(placed: PlacedFigure, *, lying: bool) -> float:
    if not lying:
        return ALONE_IN if len(placed.panels) == 1 else STANDING_IN
    return 0.2 + len(placed.columns) * (GAP_IN + BAR_IN * max(1.4, len(placed.series)))


def _names(placed: PlacedFigure) -> list[str]:
    return [panels.level_text(str(placed.stated.x), one) for one in placed.columns]


def _sign(placed: PlacedFigure, levels: Levels) -> Line2D:
    return Line2D(
        [],
        [],
        color=panels.colour(placed, levels),
        alpha=panels.strength(placed, levels),
        marker="s",
        markersize=7,
        linestyle="none",
        label=panels.series_name(placed, levels),
    )


def _place(placed: PlacedFigure, x: str, series: Levels) -> tuple[float, float]:
    """Return the centre of a bar and its width."""
    width = GROUP / len(placed.series)
    shift = placed.series.index(series) - (len(placed.series) - 1) / 2
    return placed.columns.index(x) + width * shift, width


def _cell(
    axes: Axes,
    placed: PlacedFigure,
    one: FigureValue,
    scale: ValueScale,
    direction: _Direction,
) -> None:
    """Draw one bar with its error bar; a bar that is only a bound may reach the axis's end."""
    colour = panels.colour(placed, one.cell.series)
    at, width = _place(placed, one.cell.x, one.cell.series)
    value = scale.shown(one.value.value)
    from_one = bool(placed.stated.ratio_to) and "y" in placed.stated.log
    start = {"left" if direction.lying else "bottom": 1.0} if from_one else {}
    style: Mapping[str, object] = {"color": colour, "edgecolor": colour, "linewidth": 0.8}
    strength = panels.strength(placed, one.cell.series)
    if one.value.beyond:
        style = {**style, "color": "none", "hatch": "////"}
    length = value - 1 if from_one else value
    bar = direction.bar(axes, at, width * 0.92, length, alpha=strength, **style, **start)
    name_marks(bar, [panels.value_words(placed, one, scale.form)])
    far = value
    if one.low is not None and one.high is not None:
        low, far = max(scale.shown(one.low), 0.0), scale.shown(one.high)
        direction.line(axes, (at, at), (low, far), color=INK, linewidth=0.9)
    if one.timed_out or one.value.beyond:
        sign = (">" if direction.lying else "^") if one.value.beyond != "<" else "v"
        places = {"marker": sign, "linestyle": "none", "clip_on": False, "zorder": 5}
        direction.line(axes, [at], [min(far, scale.ends[1])], color=INK, markersize=4.5, **places)


def _mark_published(
    axes: Axes, placed: PlacedFigure, panel: Levels, scale: ValueScale, direction: _Direction
) -> None:
    for cell in placed.cells:
        if cell.panel != panel:
            continue
        at, _ = _place(placed, cell.x, cell.series)
        for low, high in panels.published_ends(placed, cell.treatment, scale):
            if low != high:
                direction.line(axes, (at, at), (low, high), color=INK, linewidth=1.3, alpha=0.6)
            ends: Iterable[float] = dict.fromkeys((low, high))
            for end in ends:
                direction.line(axes, [at], [end], color=INK, linestyle="none", **panels.MARK)


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
    if stated.metric == "speed_index" and not stated.ratio_to:
        for limit_s in BANDS_S:
            line(scale.shown(limit_s), color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    positions = range(len(placed.columns))
    if direction.lying:
        axes.set_yticks(positions, _names(placed))
        axes.set_ylim(len(placed.columns) - 0.5, -0.5)
    else:
        axes.set_xticks(positions, _names(placed))
        axes.set_xlim(-0.5, len(placed.columns) - 0.5)
    axes.tick_params(axis="y" if direction.lying else "x", length=0)
    axis = axes.xaxis if direction.lying else axes.yaxis
    panels.value_axis(axis, scale.ends, log="y" in stated.log)
    panels.grid_lines(axes, "x" if direction.lying else "y")
    axes.spines["left" if direction.lying else "bottom"].set_color(QUIET)


def _name_axes(
    shown: panels.PanelGrid, placed: PlacedFigure, form: NumberFormat, direction: _Direction
) -> None:
    text = panels.value_text(placed, form, placed.stated.shown_statistic)
    group = title(str(placed.stated.x))
    if direction.lying:
        shown.figure.supxlabel(text, fontsize=9)
    else:
        panels.name_vertical_axes(shown.figure, text)
        shown.figure.supxlabel(group, fontsize=9)
