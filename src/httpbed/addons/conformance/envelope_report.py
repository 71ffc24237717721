"""The figure of envelopes: delay and throughput of a sender and of the kernel's, as regions."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
from matplotlib.axes import Axes

from httpbed.addons.conformance import bcp133
from httpbed.addons.conformance.envelope import Envelope
from httpbed.addons.conformance.envelope_suite import Compared, compared
from httpbed.addons.conformance.properties import Transfers
from httpbed.report.figures import STYLE, WIDTH_IN, Plot
from httpbed.report.svg import PALETTE, QUIET, VisibleFigure


def plots(transfers: Transfers) -> Iterator[Plot]:
    """Draw a panel for each network in which both envelopes are seen."""
    drawn = [
        (one, one.sender, one.envelopes[one.kernel])
        for one in compared(transfers)
        if one.sender is not None and one.kernel in one.envelopes
    ]
    if not drawn:
        return
    with mpl.rc_context(STYLE):
        figure = VisibleFigure(figsize=(WIDTH_IN, 3.2), layout="constrained")
        panels = figure.subplots(1, len(drawn), squeeze=False)[0]
        for axes, (one, sender, kernel) in zip(panels, drawn, strict=True):
            _panel(axes, one, sender, kernel)
    yield Plot(
        name="envelopes",
        caption="Throughput against queueing delay, a point for each ten round trips, beside a flow"
        " of the kernel. The regions hold the 95 % of the points nearest to the mean; the figure is"
        " the conformance of both.",
        alternative="Regions of delay and throughput of the sender and of the kernel's.",
        figure=figure,
    )


def _panel(axes: Axes, one: Compared, sender: Envelope, kernel: Envelope) -> None:
    _draw(axes, kernel, f"the kernel's {bcp133.TITLES[one.kernel]}", QUIET)
    _draw(axes, sender, "the sender", PALETTE[1])
    title = f"{one.network.title}: {sender.conformance(kernel):.2f}"
    axes.set_title(title, loc="left", fontsize=9, fontweight="bold")
    axes.set_xlabel("queueing delay (ms)")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _draw(axes: Axes, one: Envelope, label: str, colour: str) -> None:
    axes.fill(*one.corners.T, color=colour, alpha=0.25, linewidth=0)
    axes.plot(*one.points.T, "o", color=colour, markersize=3, label=label)
