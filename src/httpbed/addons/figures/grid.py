"""Ratio heat maps: two factors on the axes, a ratio of two levels of a third in the cells.

As Figure 3 of Biswal and Gnawali (2016): the size and the number of objects, and the ratio of two
protocols, a panel for each condition. Every cell says its ratio, so that no colour has to be looked
up; what is within noise stands in brackets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, to_hex
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from httpbed.addons.figures import figure_panels
from httpbed.addons.figures.figure_panels import PanelGrid
from httpbed.addons.figures.figure_values import FigureValue
from httpbed.addons.figures.stated_figure import FigurePlace, Levels, PlacedFigure
from httpbed.report.phrasing import NumberFormat, ratio_brackets, ratio_number, ratio_text, title
from httpbed.report.svg import QUIET, WIDE_IN, VisibleFigure, name_marks
from httpbed.results.comparison import Ratio

COLUMNS = 3
CELL_IN, KEY_IN = 0.3, 0.7
KEY_STEPS = 64
FULL = 2.0
"""Ratio from which on, either way, a colour does not get any stronger."""
LESS, MORE = (0.05, 0.42, 0.62), (0.78, 0.36, 0.05)
"""Blue and orange, which the colour-blind tell apart."""
DARK, LIGHT = "#111111", "#fefefe"
"""Numbers in cells have not the page's ink, because cells keep their colours in the dark."""
LETTER_IN = 0.075
"""Width of a letter beside an axis, with its share of the space between words."""
SLANT = 35
"""Names below columns slant by so many degrees where they do not fit side by side."""


def draw(
    placed: PlacedFigure, values: Sequence[FigureValue], missing: Mapping[FigurePlace, bool]
) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the heat maps; also return the format of their values."""
    wide = LETTER_IN * len(placed.columns) * (2 + figure_panels.widest(placed.columns))
    shown = figure_panels.panel_grid(
        placed,
        CELL_IN * len(placed.rows),
        heading=figure_panels.heading(placed, (value.n for value in values)),
        legend=[],
        most_columns=min(COLUMNS, max(1, int(WIDE_IN * 0.85 / wide))),
    )
    ratios = {value.cell.place: value.ratio for value in values if value.ratio is not None}
    for index, (panel, axes) in enumerate(shown.axes.items()):
        _panel(axes, placed, panel, ratios, missing)
        if index % shown.columns == 0:
            axes.set_ylabel(title(str(placed.stated.y)), fontsize=8)
        if index + shown.columns >= len(shown.axes):
            axes.set_xlabel(title(str(placed.stated.x)), fontsize=8)
        if shown.columns == 1 and wide > 0.75 * WIDE_IN:
            axes.tick_params(axis="x", labelrotation=SLANT)
    shown.figure.set_figheight(shown.figure.get_figheight() + KEY_IN)
    _key(shown, placed, has_hatches=not all(missing.values()))
    return shown.figure, figure_panels.RATIO


def _key(shown: PanelGrid, placed: PlacedFigure, *, has_hatches: bool) -> None:
    """Add the colours with their ratios."""
    steps = [math.exp(at * math.log(FULL) / KEY_STEPS) for at in range(-KEY_STEPS, KEY_STEPS + 1)]
    scale = ScalarMappable(LogNorm(1 / FULL, FULL), ListedColormap(list(map(shade, steps))))
    place: dict[str, Any] = {"location": "bottom", "shrink": 0.45, "aspect": 35, "pad": 0.01}
    bar = shown.figure.colorbar(scale, ax=list(shown.axes.values()), extend="both", **place)
    bar.set_ticks([0.5, 0.7, 1.0, 1.4, 2.0], labels=["0.5", "0.7", "1", "1.4", "2"])
    bar.ax.xaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(labelsize=8)
    quantity = figure_panels.value_text(placed, figure_panels.RATIO)
    hatched = "; hatched: not run" if has_hatches else ""
    bar.set_label(f"{quantity}; in brackets: within noise{hatched}", fontsize=8)
    bar.outline.set_visible(False)


def _panel(
    axes: Axes,
    placed: PlacedFigure,
    panel: Levels,
    ratios: Mapping[FigurePlace, Ratio],
    missing: Mapping[FigurePlace, bool],
) -> None:
    """Draw a cell for each place of a panel that the design has."""
    for cell in placed.cells:
        if cell.panel != panel:
            continue
        x, y = placed.columns.index(cell.x), placed.rows.index(cell.y)
        ratio, is_idle = ratios.get(cell.place), missing.get(cell.place) is False
        face = shade(ratio.value.value) if ratio else "none"
        square = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=face)
        square.set(edgecolor=QUIET, linewidth=0.4)
        if is_idle:
            square.set(hatch="/////", alpha=0.6)
        axes.add_patch(square)
        if ratio:
            name_marks(square, [_words(cell.y, cell.x, ratio)])
            words = ratio_number(ratio.value.value)
            words = f"({words})" if ratio.judgement == "open" else words
            ink = LIGHT if _strength(ratio.value.value) > 0.72 else DARK
            axes.text(x, y, words, ha="center", va="center", fontsize=8, color=ink)
    columns, rows = len(placed.columns), len(placed.rows)
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(-0.5, rows - 0.5))
    axes.set_xticks(range(columns), placed.columns)
    axes.set_yticks(range(rows), placed.rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _words(row: str, column: str, ratio: Ratio) -> str:
    """Write a cell's ratio with its interval, for readers who point at it."""
    interval = ratio_brackets(ratio.interval)
    return f"{row}, {column}: {ratio_text(ratio.value)} {interval}, n = {ratio.n}"


def shade(ratio: float) -> str:
    """Return a ratio's colour: white at 1, stronger the farther it is, on a logarithmic scale."""
    strength = _strength(ratio)
    red, green, blue = (1 - strength * (1 - one) for one in (LESS if ratio < 1 else MORE))
    return to_hex((red, green, blue))


def _strength(ratio: float) -> float:
    if ratio <= 0:
        return 1.0
    return min(1.0, abs(math.log(ratio)) / math.log(FULL))
