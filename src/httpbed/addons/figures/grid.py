"""Heat maps of ratios over two factors, a panel for each condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from httpbed.addons.figures import panels
from httpbed.addons.figures.figure_values import FigureValue
from httpbed.addons.figures.placed import FigurePlace, PlacedFigure
from httpbed.addons.pages.report import heat
from httpbed.report.phrasing import NumberFormat, treatment
from httpbed.report.visible_figure import VisibleFigure


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
    shown = heat.Map(
        rows=(str(stated.y), str(stated.x)),
        levels=(placed.rows, placed.columns),
        panels=maps,
        heading=panels.heading(placed, (one.n for one in values)),
        quantity=panels.value_text(placed, panels.RATIO),
        hatched=frozenset(hatched),
    )
    return heat.draw(shown, most_panels=len(maps)), panels.RATIO
