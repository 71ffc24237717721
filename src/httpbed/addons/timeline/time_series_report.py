"""Figures over time: throughput, round trips, bytes in flight and queue, one above the other.

A figure has the treatments of a condition. Each is drawn by its typical trial, the one nearest to
the median.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from httpbed.addons.timeline import time_series
from httpbed.addons.timeline.time_series import Series, TimeSeries
from httpbed.base import units
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.report import experiment_words
from httpbed.report.document import Figure, Paragraph, ReportInput, Section, SectionMaker
from httpbed.report.figures import looks
from httpbed.report.one_trial import TrialPart, TrialView
from httpbed.report.phrasing import title, treatment
from httpbed.report.svg import (
    DASHES,
    PALETTE,
    SINCE,
    STYLE,
    WIDTH_IN,
    Plot,
    Sign,
    VisibleFigure,
    colour_ranks,
    legend,
    name_points,
    round_ticks,
)
from httpbed.results import attempts
from httpbed.results.findings import Condition, Findings, Row
from httpbed.results.sample import by_treatment, of_trials
from httpbed.store.results import Results

MAX_FIGURES = 6
MAX_TOGETHER = 6
"""Treatments in a figure; more are drawn in several figures."""
PANEL_IN = 1.15
FEW_DROPS = 40
"""More crosses on a curve would hide it."""
ALONE: Sign = (PALETTE[1], "", "-")
"""The sign of a trial that is drawn by itself."""
NAMED = 8
"""Points of a line that have their values where the reader points."""


@dataclass(frozen=True)
class Quantity:
    """A quantity: what it is called, and in which unit it is drawn."""

    name: str
    field: str
    """The quantity's attribute of :class:`~httpbed.addons.timeline.time_series.TimeSeries`."""
    unit: str
    factor: float

    def series(self, trial: TimeSeries) -> Series:
        """Return a trial's values, in bit/s, s or bytes."""
        found: Series = getattr(trial, self.field)
        return found


QUANTITIES = (
    Quantity("throughput", "throughput_bit_s", "Mbit/s", 1e6),
    Quantity("round trip", "rtt_s", "ms", 1e-3),
    Quantity("in flight", "in_flight_bytes", "kB", 1e3),
    Quantity("queue", "queue_s", "ms", 1e-3),
)


def plots(findings: Findings, results: Results) -> tuple[list[Plot], str]:
    """Draw each condition with a record; also return what has no figure."""
    rows = by_treatment(results, attempts.valid(results))
    groups = [
        (condition, group) for condition in findings.conditions for group in _split(condition.rows)
    ]
    made = _Drawn(findings, results, rows, of_trials(results, findings.metric))
    drawn = [
        made.plot(condition, group, number)
        for number, (condition, group) in enumerate(groups[:MAX_FIGURES], start=1)
    ]
    rest = sum(len(group) for _, group in groups[MAX_FIGURES:])
    undrawn = f"{rest} further treatments are not drawn." if rest else ""
    return [plot for plot in drawn if plot is not None], undrawn


def _split(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield treatments in groups that fit into a figure, as equal in size as possible."""
    figures = -(-len(rows) // MAX_TOGETHER)
    for number in range(figures):
        yield rows[number * len(rows) // figures : (number + 1) * len(rows) // figures]


@dataclass(frozen=True)
class _Drawn:
    findings: Findings
    results: Results
    rows: Mapping[TreatmentKey, list[dict[str, Any]]]
    metric: Mapping[tuple[str, int], float]
    """The values that decide which trial is typical, by trial and attempt."""

    def plot(self, condition: Condition, group: Sequence[Row], number: int) -> Plot | None:
        """Draw some treatments of a condition; None if none of their trials has a record."""
        others = self.findings.others
        every = {treatment(row.levels, others): self._typical(row) for row in group}
        shown = {name: trial for name, trial in every.items() if trial}
        if not shown:
            return None
        at = experiment_words.condition(self.results.document, condition.levels)
        where = f", at {at}" if at else ""
        signs = _signs(self.findings)
        with mpl.rc_context(STYLE):
            figure = _figure({name: (trial, signs[name]) for name, trial in shown.items()})
            if len(signs) > 1:
                legend(figure, {name: signs[name] for name in shown}, columns=2)
        return Plot(
            name=f"over-time-{number}",
            caption=f"{self._chosen(shown)}{where}.",
            alternative=f"Throughput, round-trip time, bytes in flight and queue over time{where}. "
            + " ".join(f"{name}: {course(trial)}." for name, trial in shown.items()),
            figure=figure,
        )

    def _typical(self, row: Row) -> TimeSeries | None:
        key = treatment_key(row.levels, self.results.experiment.factors)
        own = self.rows.get(key, [])
        done = [one for one in own if one["outcome"] == "completed"] or own
        first = next(iter(attempts.typical(done, self.metric)), None)
        return None if first is None else time_series.read(self.results, first)

    def _chosen(self, found: Mapping[str, TimeSeries]) -> str:
        what = title(self.findings.metric)
        named = ", ".join(f"{name} {one.block}/{one.trial}" for name, one in found.items())
        return f"The trial of each treatment that is nearest to its median {what} ({named})"


SIGNS = (
    "All from the emulator's packets, in at most 256 steps: in a short step, a packet more or less"
    " may be a throughput above the rate. A round trip lasts until the first packet that is sent"
    " after a packet's delivery has come back. Bytes are in flight until then; of a dropped packet,"
    " until a later one's round trip ends. A cross is a drop. Round trips, bytes in flight, drops"
    " and queue, the mean time that packets waited, are those of the narrowest link. Of a client"
    " that changes its link, the bytes in flight are not known."
)


def plot(trial: TimeSeries) -> Plot:
    """Draw one trial."""
    with mpl.rc_context(STYLE):
        figure = _figure({"": (trial, ALONE)})
    return Plot(
        name=f"trial-{trial.block}-{trial.trial}-over-time",
        caption=f"One trial over time. {SIGNS}",
        alternative=f"Throughput, round-trip time, bytes in flight and queue: {course(trial)}.",
        figure=figure,
    )


def values(trial: TimeSeries) -> dict[str, list[list[float | None]]]:
    """Return a trial's series as pairs of time in s and value, in bit/s, s and bytes."""
    return {
        quantity.field: [
            [round(at, 6), round(value, 6) if np.isfinite(value) else None]
            for at, value in zip(series.times_s.tolist(), series.values.tolist(), strict=True)
        ]
        for quantity in QUANTITIES
        for series in [quantity.series(trial)]
    }


def course(trial: TimeSeries) -> str:
    """Describe a trial's course in a line."""
    digits = units.SHORT_DIGITS
    rtt, in_flight = trial.rtt_s.median, trial.in_flight_bytes.largest
    texts = [
        f"throughput up to {trial.throughput_bit_s.largest / 1e6:.3g} Mbit/s",
        f"median round trip {units.format_duration(rtt, digits)}"
        if np.isfinite(rtt)
        else "no round trip",
        *([f"up to {units.format_size(in_flight, digits)} in flight"] if in_flight else []),
        f"up to {units.format_duration(trial.queue_s.largest, digits)} in the queue",
    ]
    return ", ".join(texts)


def _signs(findings: Findings) -> dict[str, Sign]:
    """Give each treatment its colour, and dashes where an earlier one has the same colour."""
    hues = {name: colour for name, (colour, _) in looks(findings).items()}
    ranks = colour_ranks(hues, len(PALETTE))
    return {name: (hue, "", DASHES[ranks[name] % len(DASHES)]) for name, hue in hues.items()}


def _figure(drawn: Mapping[str, tuple[TimeSeries, Sign]]) -> VisibleFigure:
    """Draw the trial of each treatment by its sign."""
    known = [
        one
        for one in QUANTITIES
        if any(one.series(trial).values.size for trial, _ in drawn.values())
    ]
    figure = VisibleFigure(figsize=(WIDTH_IN, PANEL_IN * len(known) + 0.6), layout="constrained")
    grid = figure.subplots(len(known), 1, sharex=True, squeeze=False)[:, 0]
    for axes, quantity in zip(grid, known, strict=True):
        for name, (trial, sign) in drawn.items():
            _line(axes, quantity, quantity.series(trial), sign)
            _marks(axes, quantity, trial, (name, sign[0]))
        _plain(axes, quantity)
    grid[-1].set_xlim(left=0)
    grid[-1].set_xlabel(SINCE)
    return figure


def _line(axes: Axes, quantity: Quantity, values: Series, sign: Sign) -> None:
    shown, (colour, _, dashes) = values.joined(), sign
    axes.plot(
        shown.times_s,
        shown.values / quantity.factor,
        color=colour,
        linestyle=dashes,
        linewidth=1.3,
        drawstyle="steps-mid" if quantity.name == "throughput" else "default",
        solid_joinstyle="round",
    )


def _marks(axes: Axes, quantity: Quantity, trial: TimeSeries, style: tuple[str, str]) -> None:
    """Mark the drops of a trial, and name some of its values."""
    name, colour = style
    values = quantity.series(trial)
    if quantity.name == "in flight" and values.values.size and trial.drops_s.size <= FEW_DROPS:
        heights = np.interp(trial.drops_s, values.times_s, values.values) / quantity.factor
        axes.plot(trial.drops_s, heights, "x", color=colour, markersize=4.5)
    shown = values.joined()
    points = [*zip(shown.times_s.tolist(), (shown.values / quantity.factor).tolist(), strict=True)]
    before = f"{name}: " if name else ""
    name_points(
        axes,
        [
            (at, y, f"{before}{y:.3g} {quantity.unit} at {at:.3g} s")
            for at, y in points[:: len(points) // NAMED or 1]
            if np.isfinite(y)
        ],
    )


def _plain(axes: Axes, quantity: Quantity) -> None:
    axes.set_ylabel(f"{quantity.name}\n({quantity.unit})")
    axes.set_ylim(bottom=0)
    round_ticks(axes.yaxis, 4)
    axes.grid(axis="y")


def _section(source: ReportInput) -> Section | None:
    if not source.draws:
        return None
    drawn, undrawn = plots(source.findings, source.results)
    if not drawn:
        return None
    signs = Paragraph(f"{SIGNS} {undrawn}".strip())
    alone = Paragraph("One trial:", "httpbed report DIR --trial BLOCK/TRIAL")
    return Section("over-time", "Over time", (*map(Figure, drawn), signs, alone))


SECTION = SectionMaker("timeline", 110, _section)


def _of_trial(results: Results, row: Mapping[str, Any]) -> TrialPart:
    trial = time_series.read(results, row)
    if trial is None:
        return TrialPart((), {"over_time": None}, list)
    lines = (("over time", course(trial)),)
    return TrialPart(lines, {"over_time": values(trial)}, lambda: [plot(trial)])


TRIAL = TrialView("timeline", 20, _of_trial)
