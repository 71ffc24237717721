"""Ratio heat maps: two factors on the axes, a ratio of two levels of a third in the cells.

As Figure 3 of Biswal and Gnawali (2016): the size and the number of objects, and the ratio of two
protocols, a panel for each condition. Every cell says its ratio, so that no colour has to be looked
up; what is within noise stands in brackets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, to_hex
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from httpbed.addons.figures import figure_panels
from httpbed.addons.figures.figure_values import FigureValue
from httpbed.addons.figures.stated_figure import FigurePlace, PlacedFigure
from httpbed.report.figures import WIDE_IN
from httpbed.report.phrasing import (
    NumberFormat,
    ratio_brackets,
    ratio_number,
    ratio_text,
    title,
    treatment,
)
from httpbed.report.svg import QUIET, VisibleFigure, name_marks
from httpbed.results.comparison import Ratio

COLUMNS = 3
CELL_IN, FRAME_IN, KEY_IN = 0.3, 0.6, 0.9
KEY_STEPS = 64
HEADING_LETTERS = 88
FULL = 2.0
"""Ratio from which on, either way, a colour does not get any stronger."""
LESS, MORE = (0.05, 0.42, 0.62), (0.78, 0.36, 0.05)
"""Blue and orange, which the colour-blind tell apart."""
DARK, LIGHT = "#111111", "#fefefe"
"""Numbers in cells have not the page's ink, because cells keep their colours in the dark."""
TITLE_LETTERS, TITLE_LINES = 32, 3
NO_BREAK = "\N{NO-BREAK SPACE}"
LETTER_IN = 0.075
"""Width of a letter beside an axis, with its share of the space between words."""
SLANT = 35
"""Names below columns slant by so many degrees where they do not fit side by side."""

Cells = Mapping[tuple[str, str], Ratio]


@dataclass(frozen=True)
class Map:
    """What a heat map shows."""

    rows: tuple[str, str]
    """Factors on the axes: of the rows and of the columns."""
    levels: tuple[tuple[str, ...], tuple[str, ...]]
    panels: Mapping[str, Cells]
    """One panel for each combination of the remaining factors; the key is its title."""
    heading: str = ""
    """What the figure shows, for readers who have only its file."""
    quantity: str = "ratio"
    """What the colours stand for."""
    hatched: frozenset[tuple[str, str, str]] = frozenset()
    """Panel, row and column of each cell that did not run."""


def draw(
    placed: PlacedFigure, values: Sequence[FigureValue], missing: Mapping[FigurePlace, bool]
) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the heat maps; also return the format of their values."""
    stated = placed.stated
    maps, hatched = {}, set()
    for panel in placed.panels:
        named = dict(zip(stated.panels, panel, strict=True))
        name = treatment(named, stated.panels) if named else ""
        maps[name] = {
            (one.cell.y, one.cell.x): one.ratio
            for one in values
            if one.ratio is not None and one.cell.panel == panel
        }
        own = (place for place, ran in missing.items() if place[0] == panel and not ran)
        hatched |= {(name, y, x) for _, _, x, y, _ in own}
    shown = Map(
        rows=(str(stated.y), str(stated.x)),
        levels=(placed.rows, placed.columns),
        panels=maps,
        heading=figure_panels.heading(placed, (one.n for one in values)),
        quantity=figure_panels.value_text(placed, figure_panels.RATIO),
        hatched=frozenset(hatched),
    )
    return _draw(shown), figure_panels.RATIO


def _draw(shown: Map) -> VisibleFigure:
    """Draw the panels."""
    panels = list(shown.panels.items())
    wide = LETTER_IN * len(shown.levels[1]) * (2 + max(map(len, shown.levels[1])))
    columns = min(_columns(len(panels)), max(1, int(WIDE_IN * 0.85 / wide)))
    slant = SLANT if columns == 1 and wide > 0.75 * WIDE_IN else 0
    rows = math.ceil(len(panels) / columns)
    tall = rows * (FRAME_IN + CELL_IN * len(shown.levels[0])) + slant / SLANT + KEY_IN
    figure = VisibleFigure(figsize=(WIDE_IN, tall), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    beside = LETTER_IN * max(map(len, shown.levels[0]))
    letters = min(TITLE_LETTERS, int((WIDE_IN - beside) / columns / LETTER_IN))
    for index, (axes, (name, cells)) in enumerate(zip(grid.flat, panels, strict=False)):
        _panel(axes, shown, name, cells)
        axes.set_title(_wrapped(name, letters), loc="left", fontsize=8, fontweight="bold")
        axes.tick_params(labelbottom=index + columns >= len(panels), length=0, labelsize=8)
        if index + columns >= len(panels):
            axes.set_xlabel(title(shown.rows[1]), fontsize=8)
            side: Literal["right", "center"] = "right" if slant else "center"
            for tick in axes.get_xticklabels():
                tick.set(rotation=slant, ha=side, rotation_mode="anchor" if slant else "default")
    for axes in grid[:, 0]:
        axes.set_ylabel(title(shown.rows[0]), fontsize=8)
    _key(figure, grid, shown)
    return figure


def _key(figure: VisibleFigure, grid: Any, shown: Map) -> None:
    """Add the heading and the colours with their ratios."""
    if shown.heading:
        lines = "\n".join(wrap(shown.heading, HEADING_LETTERS)).replace(NO_BREAK, " ")
        figure.suptitle(lines, x=0.01, ha="left", fontsize=9, fontweight="bold")
    steps = [math.exp(at * math.log(FULL) / KEY_STEPS) for at in range(-KEY_STEPS, KEY_STEPS + 1)]
    scale = ScalarMappable(LogNorm(1 / FULL, FULL), ListedColormap(list(map(shade, steps))))
    place: dict[str, Any] = {"location": "bottom", "shrink": 0.45, "aspect": 35, "pad": 0.01}
    bar = figure.colorbar(scale, ax=grid, extend="both", **place)
    bar.set_ticks([0.5, 0.7, 1.0, 1.4, 2.0], labels=["0.5", "0.7", "1", "1.4", "2"])
    bar.ax.xaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(labelsize=8)
    hatched = "; hatched: not run" if shown.hatched else ""
    bar.set_label(f"{shown.quantity}; in brackets: within noise{hatched}", fontsize=8)
    bar.outline.set_visible(False)


def _columns(panels: int) -> int:
    """Three in a row, or two where that leaves no hole."""
    return min(panels, COLUMNS - 1 if panels == 4 else COLUMNS)


def _wrapped(name: str, letters: int = TITLE_LETTERS) -> str:
    """Write a panel's name so that it stays above its panel; lines end between levels."""
    levels = ", ".join(one.replace(" ", NO_BREAK) for one in name.split(", "))
    lines = wrap(levels, letters, max_lines=TITLE_LINES, placeholder=" …")
    return "\n".join(lines).replace(NO_BREAK, " ")


def _panel(axes: Axes, shown: Map, name: str, cells: Cells) -> None:
    vertical, horizontal = shown.levels
    for y, row in enumerate(vertical):
        for x, column in enumerate(horizontal):
            ratio = cells.get((row, column))
            face = shade(ratio.value.value) if ratio else "none"
            hatch = "/////" if (name, row, column) in shown.hatched else None
            place = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=face, hatch=hatch)
            place.set(edgecolor=QUIET, linewidth=0.4, alpha=0.6 if hatch else 1.0)
            cell = axes.add_patch(place)
            if ratio:
                name_marks(cell, [_words(row, column, ratio)])
                words = ratio_number(ratio.value.value)
                words = f"({words})" if ratio.judgement == "open" else words
                ink = LIGHT if _strength(ratio.value.value) > 0.72 else DARK
                axes.text(x, y, words, ha="center", va="center", fontsize=8, color=ink)
    axes.set(xlim=(-0.5, len(horizontal) - 0.5), ylim=(-0.5, len(vertical) - 0.5))
    axes.set_xticks(range(len(horizontal)), horizontal)
    axes.set_yticks(range(len(vertical)), vertical)
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
