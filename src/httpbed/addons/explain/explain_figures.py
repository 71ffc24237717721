"""Figures of divisions: stacked bars side by side, and one trial's bands over its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.explanation import Divided, Explained, largest_shares
from httpbed.addons.explain.periods import Period
from httpbed.addons.explain.transfer import NS
from httpbed.report.svg import INK, SINCE, STYLE, WIDE_IN, Plot, VisibleFigure

ROW_IN, LINE_IN = 0.34, 0.16
MAX_NAME = 34
"""Letters in a line of a treatment's name beside its bar."""
LEGEND_COLUMNS = 4
LEGEND_ROW_IN = 0.2
SHOWN_SHARE = 0.002
"""Causes with less of every transfer are in the table and not in the legend."""
MAX_POINTS = 1500
MAX_BANDS = 600
"""Parts into which a drawn trial's time is cut; a pixel has no more."""


def bars(rows: Sequence[tuple[str, Divided]]) -> Plot:
    """Draw the division of each trial as one bar, with the names of the treatments."""
    shown = _shown([divided for _, divided in rows])
    names = [wrap(name, MAX_NAME) for name, _ in rows]
    legend_in = LEGEND_ROW_IN * -(-len(shown) // LEGEND_COLUMNS)
    with mpl.rc_context(STYLE):
        row_in = max(ROW_IN, *(LINE_IN * len(lines) for lines in names))
        size = (WIDE_IN, row_in * len(rows) + 0.7 + legend_in)
        figure = VisibleFigure(figsize=size, layout="constrained")
        axes = figure.subplots()
        for place, (_, divided) in enumerate(rows):
            left = 0.0
            for cause, cost in divided.division.costs().items():
                colour = BY_NAME[cause].colour
                axes.barh(place, cost / NS, left=left, color=colour, height=0.72)
                left += cost / NS
        axes.set_yticks(range(len(rows)), ["\n".join(lines) for lines in names])
        axes.invert_yaxis()
        subjects = dict.fromkeys(divided.subject for _, divided in rows)
        axes.set_xlabel(f"time of {' or '.join(subjects)} (s)")
        _legend(figure, shown)
    texts = [f"{name}: {divided.sentences()[0]}" for name, divided in rows]
    return Plot(
        name="explain-divisions",
        caption="What the time of each treatment's typical trial was spent on.",
        alternative="; ".join(texts),
        figure=figure,
    )


def bands(explained: Explained, since: str = SINCE) -> Plot:
    """Draw one trial: bytes in flight and losses over the bands of what was in force."""
    shown = _shown([explained], in_force=True)
    legend_in = LEGEND_ROW_IN * -(-len(shown) // LEGEND_COLUMNS)
    with mpl.rc_context(STYLE):
        figure = VisibleFigure(figsize=(WIDE_IN, 2.6 + legend_in), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        for axes in (above, below):
            for begin_s, end_s, cause in _bands(explained.division.in_force):
                alpha = 0.25 if axes is above else 1.0
                colour = BY_NAME[cause].colour
                axes.axvspan(begin_s, end_s, color=colour, alpha=alpha, linewidth=0)
        _in_flight(above, explained)
        above.set_ylabel("in flight (kB)")
        below.set_yticks([])
        below.set_xlim(0, explained.seconds)
        below.set_xlabel(since)
        _legend(figure, shown)
    return Plot(
        name=f"explain-{explained.block}-{explained.trial}",
        caption="Payload in flight, losses as crosses, and what was in force.",
        alternative=". ".join(explained.sentences()),
        figure=figure,
    )


def _shown(every: Sequence[Divided], *, in_force: bool = False) -> list[str]:
    """Return the causes that a figure shows, in the order of the taxonomy."""
    largest = largest_shares(every, in_force=in_force)
    return [name for name, share in largest.items() if share >= SHOWN_SHARE]


def _bands(periods: Sequence[Period]) -> Iterator[tuple[float, float, str]]:
    """Yield bands that an eye can tell apart: what was in force for most of each short time."""
    width = periods[-1].end / MAX_BANDS
    ends = np.array([period.end for period in periods])
    begin, last = 0, ""
    for number in range(MAX_BANDS):
        low = number * width
        following = periods[int(np.searchsorted(ends, low, side="right")) :]
        cause = _main(following, low, low + width) or last
        if last and cause != last:
            yield begin * width / NS, low / NS, last
            begin = number
        last = cause
    yield begin * width / NS, periods[-1].end / NS, last


def _main(periods: Sequence[Period], low: float, high: float) -> str:
    """Return the cause of most of a time; empty if no period is in it."""
    totals = Counter[str]()
    for period in periods:
        if period.begin >= high:
            break
        totals[period.cause] += int(min(period.end, high) - max(period.begin, low))
    return totals.most_common(1)[0][0] if totals else ""


def _in_flight(axes: Axes, one: Explained) -> None:
    rounds = one.division.rounds
    if rounds is None:
        return
    data = rounds.data
    step = max(1, len(data) // MAX_POINTS)
    kept = np.arange(0, len(data), step)
    sent_s = (data.sent - one.origin) / NS
    axes.plot(sent_s[kept], rounds.in_flight[kept] / 1e3, color=INK, linewidth=0.9)
    lost = np.flatnonzero(data.lost)
    axes.plot(sent_s[lost], rounds.in_flight[lost] / 1e3, "x", color=INK, markersize=4)
    axes.set_ylim(bottom=0)


def _legend(figure: VisibleFigure, shown: Sequence[str]) -> None:
    patches = [Patch(color=BY_NAME[name].colour, label=name) for name in shown]
    figure.legend(
        handles=patches,
        loc="outside lower center",
        ncols=LEGEND_COLUMNS,
        fontsize="small",
    )
