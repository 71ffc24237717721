"""Figures of a test: envelopes, and bytes in flight over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import matplotlib as mpl
from matplotlib.axes import Axes

from httpbed.addons.conformance import bcp133
from httpbed.addons.conformance.envelope import Envelope
from httpbed.addons.conformance.envelope_suite import by_network
from httpbed.addons.conformance.properties import SenderTransfer, Transfers
from httpbed.report.svg import INK, PALETTE, QUIET, STYLE, WIDTH_IN, Plot, VisibleFigure

PANEL_IN = 1.9
FAR, FAR_BESIDE_LOSS = 10, 2
"""Do not draw a reference line more than 10 times above the largest window, or twice if there was a
loss: it would squash the curve."""


def plots(transfers: Transfers) -> list[Plot]:
    """Draw what a test shows."""
    with mpl.rc_context(STYLE):
        return [*_envelopes(transfers), *_windows(transfers)]


def time_panels(titles: Mapping[str, str]) -> tuple[VisibleFigure, dict[str, Axes]]:
    """Make a panel for each network, below each other: full packets over a sender's time."""
    size = (WIDTH_IN, 0.5 + PANEL_IN * len(titles))
    figure = VisibleFigure(figsize=size, layout="constrained")
    column = figure.subplots(len(titles), 1, squeeze=False)[:, 0]
    for axes, (name, title) in zip(column, titles.items(), strict=True):
        axes.set_title(f"{name}: {title}")
        axes.set_ylabel("full packets")
    column[-1].set_xlabel("time since the sender's first packet (s)")
    return figure, dict(zip(titles, column, strict=True))


def _windows(transfers: Transfers) -> Iterator[Plot]:
    titles = {network.name: network.title for network in transfers.planned if network.title}
    first = {name: transfers.in_network(name)[0] for name in titles if transfers.in_network(name)}
    if not first:
        return
    figure, panels = time_panels({name: titles[name] for name in first})
    for name, transfer in first.items():
        _draw_windows(panels[name], transfer)
    yield Plot(
        name="bytes-in-flight",
        caption="Most in flight in each round trip. Crosses are packets that were lost; the lines"
        " are the bandwidth-delay product, and with the queue what the network can hold.",
        alternative="Packets in flight over time: "
        + "; ".join(
            f"{name}: at most {transfer.flight.largest_window:.0f}"
            for name, transfer in first.items()
        ),
        figure=figure,
    )


def _draw_windows(axes: Axes, transfer: SenderTransfer) -> None:
    times, windows = [one.begin_s for one in transfer.flight.rounds], transfer.flight.windows
    axes.step(times, windows, where="post", color=PALETTE[1], linewidth=1.1)
    lost = transfer.flight.packets.lost
    axes.plot(
        transfer.flight.packets.sent_s[lost],
        transfer.flight.in_flight[lost],
        "x",
        color=PALETTE[2],
        markersize=4,
    )
    _bounds(axes, transfer, float(windows.max()) if len(windows) else 1.0)


def _bounds(axes: Axes, transfer: SenderTransfer, largest: float) -> None:
    """Draw what the network can hold; say it where a line would flatten what the panel is for."""
    bdp = transfer.pipe.bdp
    far = FAR_BESIDE_LOSS if transfer.network.lost else FAR
    top = (bdp if largest < bdp <= far * largest else largest) * 1.15
    for level, label in ((bdp, "BDP"), (transfer.pipe.holds, "BDP and queue")):
        if level <= top:
            axes.axhline(level, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
            _at_the_right(axes, f"{label}: {level:.0f}", level / top, "bottom")
    if bdp > top:
        _at_the_right(axes, f"BDP: {bdp:.0f}, above", 1.0, "top")
    axes.set_ylim(0, top)


def _at_the_right(axes: Axes, label: str, height: float, side: str) -> None:
    """Write at a height, as a share of the panel's, below or above it."""
    axes.annotate(
        label,
        (1.0, height),
        xycoords="axes fraction",
        color=INK,
        fontsize=8,
        ha="right",
        va=side,
        bbox={"facecolor": "none", "edgecolor": "none", "pad": 1.5},
    )


def _envelopes(transfers: Transfers) -> Iterator[Plot]:
    """Draw a panel for each network in which both envelopes are seen."""
    drawn = [
        (envelopes, envelopes.sender, envelopes.references[envelopes.kernel])
        for envelopes in by_network(transfers)
        if envelopes.sender is not None and envelopes.kernel in envelopes.references
    ]
    if not drawn:
        return
    figure = VisibleFigure(figsize=(WIDTH_IN, 3.2), layout="constrained")
    panels = figure.subplots(1, len(drawn), squeeze=False)[0]
    for axes, (envelopes, sender, kernel) in zip(panels, drawn, strict=True):
        _draw_envelope(axes, kernel, f"the kernel's {bcp133.TITLES[envelopes.kernel]}", QUIET)
        _draw_envelope(axes, sender, "the sender", PALETTE[1])
        axes.set_title(f"{envelopes.network.title}: {sender.conformance(kernel):.2f}")
        axes.set_xlabel("queueing delay (ms)")
        axes.set_ylabel("throughput (Mbit/s)")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
    yield Plot(
        name="envelopes",
        caption="Throughput against queueing delay, a point for each ten round trips, beside a flow"
        " of the kernel. The regions hold the 95 % of the points nearest to the mean; the figure is"
        " the conformance of both.",
        alternative="Regions of delay and throughput of the sender and of the kernel's.",
        figure=figure,
    )


def _draw_envelope(axes: Axes, region: Envelope, label: str, colour: str) -> None:
    axes.fill(*region.corners.T, color=colour, alpha=0.25, linewidth=0)
    axes.plot(*region.points.T, "o", color=colour, markersize=3, label=label)
