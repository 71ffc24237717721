"""Figures drawn from a campaign with known values."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from campaigns import VERSIONS, Ending, campaign, timed
from httpbed.addons.figures import figures_section
from httpbed.report.svg import Plot
from httpbed.store.results import Results

SECONDS = {"1.1": 2.0, "2": 1.0, "3": 0.5}
HEAD = '\n[[figure]]\nid = "one"\ntitle = "What is drawn"\nmetric = "request_time"\n'
RATIO = 'ratio_to = { http_version = "2" }'
SPREAD = {1: -0.2, 2: -0.1, 3: 0.0, 4: 0.1, 5: 0.2}


def usual(levels: Mapping[str, str], block: int) -> Ending:
    """Return times with a mean of 2, 1 and 0.5 s, three times as long with loss."""
    seconds = SECONDS[levels["http_version"]] * (3.0 if levels["loss"] == "2 %" else 1.0)
    return timed(seconds * (1 + SPREAD[block]))


def drawn(figure: str, results: Results | None = None) -> Plot:
    """Draw a figure of the campaign, the only one that it declares."""
    plots, undrawn = figures_section.make(results or campaign(usual, VERSIONS + HEAD + figure))
    assert undrawn == []
    (plot,) = plots
    return plot


def panels(plot: Plot) -> list[Axes]:
    """Return the axes that show something, without the key of the colours."""
    shown = [axes for axes in plot.figure.axes if axes.get_visible()]
    return [axes for axes in shown if axes.get_label() != "<colorbar>"]


def heading(plot: Plot) -> str:
    """Return what the figure itself says about its content."""
    return plot.figure.legends[0].get_title().get_text().replace("\n", " ")
