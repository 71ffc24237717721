"""Plots of bytes in flight over time, a panel for each network, and of goodput against models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from httpbed.analysis.sender import delivery, models
from httpbed.conformance.evidence import Run, Runs
from httpbed.report.figures import INK, PALETTE, QUIET, STYLE, WIDTH_IN, Plot

PANEL_IN = 1.9
TITLES = {
    "start": "start: deep queue, no loss",
    "loss": "loss: exactly two packets",
    "brim": "brim: queue of one BDP",
}
MOST_PANELS = 3


def plots(runs: Runs) -> list[Plot]:
    """Draw what there is: windows, what was delivered at the start, goodput against the models."""
    with mpl.rc_context(STYLE):
        return [*_windows(runs), *_delivery(runs), *_goodput(runs)]


def _windows(runs: Runs) -> Iterator[Plot]:
    first = {name: runs.of(name)[0] for name in TITLES if runs.of(name)}
    if not first:
        return
    size = (WIDTH_IN, 0.5 + PANEL_IN * len(first))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(first), 1, squeeze=False)[:, 0]
    for axes, (name, run) in zip(panels, first.items(), strict=True):
        _panel(axes, run)
        axes.set_title(TITLES[name], loc="left", fontsize=9, fontweight="bold")
    panels[-1].set_xlabel("time since the sender's first packet (s)")
    yield Plot(
        name="bytes-in-flight",
        caption="Most in flight in each round trip. Crosses are packets that were lost; the lines"
        " are the bandwidth-delay product, and with the queue what the network can hold.",
        alternative="Packets in flight over time: "
        + "; ".join(
            f"{name}: at most {run.flight.largest_window:.0f}" for name, run in first.items()
        ),
        figure=figure,
    )


def _panel(axes: Axes, run: Run) -> None:
    rounds = run.flight.rounds
    times = [one.begin_s for one in rounds]
    windows = [one.window for one in rounds]
    axes.step(times, windows, where="post", color=PALETTE[1], linewidth=1.1)
    lost = run.flight.packets.lost
    axes.plot(
        run.flight.packets.sent_s[lost],
        run.flight.in_flight[lost],
        "x",
        color=PALETTE[2],
        markersize=4,
    )
    top = max(windows, default=1.0) * 1.12
    for level, label in (
        (run.pipe.bdp, "BDP"),
        (run.pipe.bdp + run.pipe.queue_packets, "BDP and queue"),
    ):
        if level <= top:
            axes.axhline(level, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
            axes.annotate(label, (axes.get_xlim()[1], level), color=INK, fontsize=8, ha="right")
    axes.set_ylim(0, top)
    axes.set_ylabel("full packets")
    axes.spines[["top", "right"]].set_visible(False)


def _delivery(runs: Runs) -> Iterator[Plot]:
    starts = runs.of("start")
    if not starts:
        return
    figure = Figure(figsize=(WIDTH_IN, 2.4), layout="constrained")
    axes = figure.subplots()
    times, total = delivery.delivered(starts[0].flight)
    part = total <= 2e6  # noqa: PLR2004 - short transfers: the first 2 MB
    axes.step(
        times[part] + starts[0].flight.asked_s, total[part] / 1e3, where="post", color=PALETTE[1]
    )
    axes.set_xlabel("time since the client's first packet (s)")
    axes.set_ylabel("kB delivered")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    yield Plot(
        name="delivered",
        caption="What had been delivered when, at the start over the deep queue: the first 2 MB.",
        alternative="Kilobytes delivered over time, from the client's first packet.",
        figure=figure,
    )


def _goodput(runs: Runs) -> Iterator[Plot]:
    grid = runs.grid()
    if not grid:
        return
    figure = Figure(figsize=(WIDTH_IN, 2.8), layout="constrained")
    axes = figure.subplots()
    rtts = sorted({cell.rtt_s for cell in grid})
    for rtt_s, colour in zip(rtts, PALETTE[1:], strict=False):
        trials = [run for cell, found in grid.items() if cell.rtt_s == rtt_s for run in found]
        _against_loss(axes, rtt_s, trials, colour)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("loss as it happened (%)")
    axes.set_ylabel("full packets per second")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    yield Plot(
        name="goodput-against-loss",
        caption="Goodput in the steady state against loss, a dot for each trial; lines are PFTK.",
        alternative="Packets per second against loss, for each round-trip time, with the model.",
        figure=figure,
    )


def _against_loss(axes: Axes, rtt_s: float, trials: Sequence[Run], colour: str) -> None:
    losses = [run.loss * 100 for run in trials]
    axes.plot(losses, [run.rate_pps for run in trials], "o", color=colour, markersize=4)
    low, high = math.log10(min(losses)), math.log10(max(losses))
    curve = np.logspace(low, high, 50)
    expected = [models.pftk(loss / 100, rtt_s) for loss in curve]
    axes.plot(curve, expected, color=colour, linewidth=1, label=f"{rtt_s * 1e3:g} ms")
