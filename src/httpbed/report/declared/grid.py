"""Heat maps of ratios over two factors, a panel for each condition."""

from __future__ import annotations

from collections.abc import Sequence

from httpbed.analysis.comparison import Ratio
from httpbed.analysis.figure_values import FigureValue
from httpbed.experiment.figures.placed import PlacedFigure
from httpbed.report.declared import panels
from httpbed.report.pages import heat
from httpbed.report.phrasing import NumberFormat, treatment
from httpbed.report.visible_figure import VisibleFigure


def draw(placed: PlacedFigure, values: Sequence[FigureValue]) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the heat maps; also return the format of their values."""
    stated = placed.stated
    maps: dict[str, dict[tuple[str, str], Ratio]] = {}
    for panel in placed.panels:
        own = {
            (one.cell.y, one.cell.x): one.ratio
            for one in values
            if one.ratio is not None and one.cell.panel == panel
        }
        if own:
            named = dict(zip(stated.panels, panel, strict=True))
            maps[treatment(named, stated.panels) if named else ""] = own
    shown = heat.Map(
        rows=(str(stated.y), str(stated.x)),
        levels=(placed.rows, placed.columns),
        panels=maps,
    )
    return heat.draw(shown, most_panels=len(maps)), panels.RATIO
