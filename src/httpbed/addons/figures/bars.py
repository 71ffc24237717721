"""Groups of bars with error bars: a panel for each condition, a colour for each series.

Bars stand where the names of their groups fit below them, and lie where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from httpbed.addons.figures import figure_panels
from httpbed.addons.figures.figure_panels import ValueScale
from httpbed.addons.figures.figure_values import FigureValue
from httpbed.addons.figures.stated_figure import FigurePlace, Levels, PlacedFigure
from httpbed.addons.pages.load.speed_index import MODERATE_FROM_S, SLOW_ABOVE_S
from httpbed.addons.pages.report.metrics_table import BANDS
from httpbed.report.phrasing import NumberFormat, title
from httpbed.report.svg import INK, QUIET, WIDE_IN, VisibleFigure, name_marks

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


def draw(
    placed: PlacedFigure, values: Sequence[FigureValue], missing: Mapping[FigurePlace, bool]
) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the bars; also return the format of their values.

    Panels of ratios share the axis of the values. Panels of other values have one each, because
    a network may make all of them ten times as large.
    """
    form = figure_panels.value_format(placed, [value.value.value for value in values])
    lying = _must_lie(placed)
    signs = {levels: _sign(placed, levels) for levels in placed.series}
    has_hatches = bool(placed.stated.absent) or not all(missing.values())
    is_ratio = bool(placed.stated.ratio_to)
    shown = figure_panels.panel_grid(
        placed,
        _height_in(placed, lying=lying),
        heading=figure_panels.heading(placed, (value.n for value in values)),
        legend=figure_panels.legend_of(placed, signs, has_hatches=has_hatches),
        most_columns=min(3, len(placed.panels)) if lying else 2,
        share=(is_ratio or not lying, is_ratio or lying),
    )
    for levels, axes in shown.axes.items():
        scale = figure_panels.value_scale(placed, values, form, None if is_ratio else levels)
        panel = _Panel(axes, placed, levels, scale, lying)
        panel.draw([value for value in values if value.cell.panel == levels], missing)
    text = figure_panels.value_text(placed, form, placed.stated.shown_statistic)
    if lying:
        shown.figure.supxlabel(text, fontsize=9)
    else:
        figure_panels.name_vertical_axes(shown.figure, text)
        shown.figure.supxlabel(title(str(placed.stated.x)), fontsize=9)
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


@dataclass(frozen=True)
class _Panel:
    """Draws the bars of a panel."""

    axes: Axes
    placed: PlacedFigure
    levels: Levels
    scale: ValueScale
    lying: bool
    """Whether the bars lie; else they stand."""

    def draw(self, values: Sequence[FigureValue], missing: Mapping[FigurePlace, bool]) -> None:
        """Draw everything."""
        self._axes()
        if values and self._has_bands:
            self._bands()
        elif not values and not self.placed.stated.ratio_to:
            figure_panels.without_values(self._value_axis)
        self._missing(missing)
        for value in values:
            self._cell(value)
        self._published()

    @property
    def _value_axis(self) -> Axis:
        return self.axes.xaxis if self.lying else self.axes.yaxis

    @property
    def _has_bands(self) -> bool:
        """Whether the values have bands: those of the Speed Index."""
        return self.placed.stated.metric == "speed_index" and not self.placed.stated.ratio_to

    def _axes(self) -> None:
        axes, names = self.axes, _names(self.placed)
        if self.placed.stated.ratio_to:
            self._across(1.0, color=INK, linewidth=0.9)
        if self.lying:
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.5, 1.35 * ABOVE if self._has_bands else -0.5)
        else:
            axes.set_xticks(range(len(names)), names)
            axes.set_xlim(-0.5, len(names) - 0.5)
        axes.tick_params(axis="y" if self.lying else "x", length=0)
        figure_panels.value_axis(self._value_axis, self.scale.ends, log=False)
        axes.grid(axis="x" if self.lying else "y")
        axes.spines["left" if self.lying else "bottom"].set_color(QUIET)

    def _bands(self) -> None:
        """Draw the limits of the Speed Index's bands, and name those that have room."""
        for limit_s in BANDS_S:
            self._across(self.scale.shown(limit_s), color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        limits = [0.0, *map(self.scale.shown, BANDS_S), float("inf")]
        for name, low, high in zip(BANDS, limits, limits[1:], strict=False):
            end = min(high, self.scale.ends[1])
            if (end - low) / self.scale.ends[1] < BAND_ROOM:
                continue
            middle = (low + end) / 2
            style: dict[str, Any] = {"fontsize": 7.5, "color": QUIET, "ha": "center"}
            if self.lying:
                self.axes.text(middle, ABOVE, name, va="center", **style)
            else:
                style |= {"transform": self.axes.get_yaxis_transform(), "rotation": 270}
                self.axes.text(1.0, middle, name, **style)

    def _missing(self, missing: Mapping[FigurePlace, bool]) -> None:
        """Hatch the places of bars that did not run; cross out those that ran without a value."""
        places = [
            (x, series, ran) for (at, series, x, *_), ran in missing.items() if at == self.levels
        ]
        placed = self.placed
        places += [(x, series, False) for x in placed.stated.absent for series in placed.series]
        for x, series, ran in places:
            at, width = _place(placed, x, series)
            if ran:
                self._line([at], [0.0], color=INK, **CROSS)
            else:
                figure_panels.hatch(self.axes, self._whole(at, width * 0.92))

    def _cell(self, figure_value: FigureValue) -> None:
        """Draw one bar with its error bar; a mere bound is hollow."""
        series, scale = figure_value.cell.series, self.scale
        colour = figure_panels.colour(self.placed, series)
        position, width = _place(self.placed, figure_value.cell.x, series)
        value = scale.shown(figure_value.value.value)
        face = "none" if figure_value.value.beyond else colour
        bar = (self.axes.barh if self.lying else self.axes.bar)(
            position,
            value,
            width * 0.92,
            alpha=figure_panels.strength(self.placed, series),
            facecolor=face,
            edgecolor=colour,
            linewidth=0.8,
        ).patches[0]
        name_marks(bar, [figure_panels.value_words(self.placed, figure_value, scale.form)])
        far = value
        if figure_value.low is not None and figure_value.high is not None:
            low, far = max(scale.shown(figure_value.low), 0.0), scale.shown(figure_value.high)
            self._line((position, position), (low, far), color=INK, linewidth=0.9)
        if figure_value.timed_out or figure_value.value.beyond:
            sign = figure_panels.bound_sign(figure_value.value, ">" if self.lying else "^")
            style = {"marker": sign, "linestyle": "none", "clip_on": False, "zorder": 5}
            self._line([position], [min(far, scale.ends[1])], color=INK, markersize=4.5, **style)

    def _published(self) -> None:
        for cell in self.placed.cells:
            if cell.panel != self.levels:
                continue
            at, _ = _place(self.placed, cell.x, cell.series)
            for value in figure_panels.published_values(self.placed, cell.treatment, self.scale):
                self._line([at], [value], color=INK, linestyle="none", **figure_panels.MARK)

    def _whole(self, at: float, width: float) -> Rectangle:
        """Return the place of a bar from end to end of the panel."""
        start = at - width / 2
        if self.lying:
            return Rectangle((0, start), 1, width, transform=self.axes.get_yaxis_transform())
        return Rectangle((start, 0), width, 1, transform=self.axes.get_xaxis_transform())

    def _line(self, at: Sequence[float], values: Sequence[float], **style: object) -> None:
        """Draw a line or markers."""
        points = (values, at) if self.lying else (at, values)
        self.axes.plot(*points, **style)  # type: ignore[arg-type]

    def _across(self, value: float, **style: Any) -> None:
        """Draw a line at a value through all bars."""
        (self.axes.axvline if self.lying else self.axes.axhline)(value, **style)
