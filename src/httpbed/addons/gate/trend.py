"""The series of a history: what each treatment took from commit to commit, and where it changed.

A rank statistic finds the place (Pettitt 1979): the split at which the ranks before and after
differ most. Its p-value comes from permutations of the series, so it needs no distribution and
holds for short series and for exact values that repeat. A series that changed is split there, and
both parts are searched again. If nothing changes, and the values are exchangeable, a series has a
change point with a probability of 1 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import MaxNLocator
from scipy import stats

from httpbed.addons.gate.benchmark_formats import benchmarks_of
from httpbed.addons.gate.history import Entry, rounded
from httpbed.base import disk, units
from httpbed.experiment.metric import METRICS
from httpbed.report import svg, templating
from httpbed.report.phrasing import few, number_format, sentence_case, title
from httpbed.report.svg import PALETTE, STYLE, Plot, VisibleFigure
from httpbed.results.findings import default_metric
from httpbed.results.sample import Floats
from httpbed.store.results import Results

MIN_CHANGE = 0.001
"""Smaller changes of level are not named: readings of the clock differ by nanoseconds."""


@dataclass(frozen=True)
class Trend:
    """One treatment of one scenario over commits."""

    scenario: str
    clock: str
    metric: str
    treatment: str
    entries: Sequence[Entry]
    """In the order of the history, the latest of each commit."""

    @cached_property
    def medians(self) -> list[float]:
        """The value of each commit."""
        return [one.values[self.treatment][0] for one in self.entries]

    @cached_property
    def changes(self) -> list[ChangePoint]:
        """Where its level changed."""
        return [point for point in change_points(self.medians) if abs(point.ratio - 1) > MIN_CHANGE]

    @property
    def levels(self) -> Iterator[tuple[int, int, float]]:
        """Yield where each level begins, where the next one does, and its value."""
        edges = [0, *(change.index for change in self.changes), len(self.entries)]
        values = [change.before for change in self.changes]
        values += [self.changes[-1].after] if self.changes else []
        for (begin, end), value in zip(pairwise(edges), values, strict=False):
            yield begin, end, value

    def is_worse(self, change: ChangePoint) -> bool:
        """Whether a change is for the worse."""
        return (change.ratio > 1) == METRICS[self.metric].lower_is_better

    def words(self, change: ChangePoint) -> str:
        """Say what changed, and by how much."""
        form = number_format(self.metric, [change.before, change.after])
        levels = f"{form.number(change.before)} to {form.number(change.after)} {form.unit}".rstrip()
        return f"{self.treatment} {percent(change)} ({levels})"


@dataclass(frozen=True)
class CommitChange:
    """What changed with one commit."""

    is_worse: bool
    places: Sequence[tuple[Trend, ChangePoint]]

    @property
    def heading(self) -> str:
        """Name the commit, and say how many treatments changed by how much."""
        points = sorted((point for _, point in self.places), key=lambda point: point.ratio)
        ends = dict.fromkeys(percent(point) for point in (points[0], points[-1]))
        size = " to ".join(ends)
        count = units.format_count(len(points), "treatment")
        chance = max(point.p_value for point in points)
        kind = "worse" if self.is_worse else "better"
        trend, first = self.places[0]
        entry = trend.entries[first.index]
        commit = f"{entry.commit[:12]}, {entry.subject}"
        return f"{commit}: {count} {kind}, {size} (p <= {chance:.2g})"

    @property
    def treatments(self) -> str:
        """Name the treatments, the largest change first."""
        ordered = sorted(self.places, key=lambda place: -abs(place[1].ratio - 1))
        return "; ".join(few([trend.words(change) for trend, change in ordered], "treatments"))


def percent(change: ChangePoint) -> str:
    """Write a change of level in percent."""
    return f"{100 * (change.ratio - 1):+.1f} %"


def by_commit(trends: Iterable[Trend]) -> list[CommitChange]:
    """Gather the changes of level by commit and direction."""
    places = dict[tuple[str, bool], list[tuple[Trend, ChangePoint]]]()
    for trend in trends:
        for change in trend.changes:
            key = (trend.entries[change.index].commit, trend.is_worse(change))
            places.setdefault(key, []).append((trend, change))
    return [CommitChange(is_worse, changed) for (_, is_worse), changed in places.items()]


def entry(results: Results, commit: str, date: str, subject: str) -> Entry:
    """Return what a history keeps of a campaign; treatments without a median are left out."""
    benchmarks, _ = benchmarks_of(results)
    values = {
        benchmark.name: [
            rounded(value)
            for value in (benchmark.estimate.median.value, *(benchmark.interval or ()))
        ]
        for benchmark in benchmarks
    }
    return Entry(
        commit=commit,
        date=date,
        subject=subject,
        scenario=results.experiment.name,
        clock=results.manifest.get("clock", "real"),
        metric=default_metric(results),
        values=values,
    )


def trends(entries: Iterable[Entry]) -> list[Trend]:
    """Return the series of a history, in the order in which they first appear."""
    series = dict[tuple[str, str, str, str], dict[str, Entry]]()
    for entry in entries:
        for name in entry.values:
            key = (entry.scenario, entry.clock, entry.metric, name)
            series.setdefault(key, {})[entry.commit] = entry
    return [Trend(*key, list(latest.values())) for key, latest in series.items()]


def values_for_json(trends: Sequence[Trend]) -> Iterator[Mapping[str, Any]]:
    """Yield the trends for :func:`json.dumps`."""
    for trend in trends:
        yield {
            "scenario": trend.scenario,
            "clock": trend.clock,
            "metric": trend.metric,
            "treatment": trend.treatment,
            "commits": len(trend.entries),
            "latest": trend.medians[-1],
            "changes": [
                {
                    "commit": trend.entries[change.index].commit,
                    "before": change.before,
                    "after": change.after,
                    "ratio": change.ratio,
                    "p_value": change.p_value,
                    "worse": trend.is_worse(change),
                }
                for change in trend.changes
            ],
        }


SIGNIFICANCE = 0.01
PERMUTATIONS = 1999
"""The smallest p-value is 1 in 2,000."""
MIN_VALUES = 10
"""In fewer, no order of different values has a probability of 1 %: 2 of 126 ways to place 4 of 9
values have all the smaller ones on one side."""
MAX_VALUES = 1000
"""The latest values of a longer series are searched."""


@dataclass(frozen=True)
class ChangePoint:
    """A change of level."""

    index: int
    """Of the first value of the new level."""
    before: float
    """Median from the previous change point on."""
    after: float
    """Median up to the next one."""
    p_value: float

    @property
    def ratio(self) -> float:
        """The new level over the old one; inf for an old level of zero."""
        return self.after / self.before if self.before else float("inf")


def change_points(values: Sequence[float]) -> list[ChangePoint]:
    """Find the changes of a series, in its order."""
    skipped = max(0, len(values) - MAX_VALUES)
    series = np.array(values[skipped:], dtype=float)
    splits = sorted(_splits(series, 0))
    edges = [0, *(index for index, _ in splits), len(series)]
    levels = [float(np.median(series[a:b])) for a, b in pairwise(edges) if b > a]
    return [
        ChangePoint(skipped + index, levels[number], levels[number + 1], p)
        for number, (index, p) in enumerate(splits)
    ]


def _splits(series: Floats, offset: int) -> Iterator[tuple[int, float]]:
    """Yield the index of each change with its p-value."""
    if len(series) < MIN_VALUES or np.ptp(series) == 0:
        return
    ranks = stats.rankdata(series)
    strength = _strength(ranks)
    index = int(np.argmax(strength)) + 1
    shuffled = np.random.default_rng(1).permuted(np.tile(ranks, (PERMUTATIONS, 1)), axis=1)
    as_extreme = int(np.sum(_strength(shuffled).max(axis=-1) >= strength.max() * (1 - 1e-12)))
    p_value = (1 + as_extreme) / (1 + PERMUTATIONS)
    if p_value <= SIGNIFICANCE:
        yield offset + index, p_value
        yield from _splits(series[:index], offset)
        yield from _splits(series[index:], offset + index)


def _strength(ranks: Floats) -> Floats:
    """Return for each split how far the ranks before it are from what chance gives, in deviations.

    Pettitt's statistic over its deviation at that split, so that a change near an end counts as
    much as one in the middle.
    """
    n = ranks.shape[-1]
    before = np.arange(1, n)
    excess = np.cumsum(ranks, axis=-1)[..., :-1] - before * (n + 1) / 2
    strength: Floats = np.abs(excess) / np.sqrt(before * (n - before))
    return strength


PAGE, BADGE = "history.html", "badge.svg"
WIDTH_IN, HEIGHT_IN = 7.0, 1.5
LINE, WORSE = PALETTE[1], PALETTE[2]
GREEN, RED = "#2f7d32", "#b23b00"
MAX_COMMITS = 300
"""The latest commits are drawn: a point of each is in the page, with its words."""
RECENT = 20
"""Commits whose changes the badge names."""


def save(trends: Sequence[Trend], folder: Path) -> Path:
    """Write the page and the badge into a folder; return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    message, is_worse = verdict(trends)
    disk.write_output(folder / PAGE, page(trends, message).encode())
    disk.write_output(folder / BADGE, badge(message, is_worse=is_worse).encode())
    return folder / PAGE


def verdict(trends: Sequence[Trend]) -> tuple[str, bool]:
    """Name the largest change for the worse within the latest commits, and say if there is one."""
    worse = [
        (abs(change.ratio - 1), f"{percent(change)} {trend.treatment}")
        for trend in trends
        for change in trend.changes
        if trend.is_worse(change) and change.index >= len(trend.entries) - RECENT
    ]
    if worse:
        return max(worse)[1], True
    return f"no change in {min(RECENT, max(len(trend.entries) for trend in trends))} commits", False


def page(trends: Sequence[Trend], message: str) -> str:
    """Lay out the page, which needs nothing else."""
    return templating.render(
        "history.html.j2",
        "httpbed.addons.gate",
        httpbed=metadata.version("httpbed"),
        message=message,
        changes=by_commit(trends),
        trends=[
            {
                "name": trend.treatment,
                "where": f"{trend.scenario}, {title(trend.metric)}, {trend.clock} time",
                "plot": svg.inline(_plot(number, trend)),
            }
            for number, trend in enumerate(trends)
        ],
    )


def _plot(number: int, trend: Trend) -> Plot:
    """Draw a point for each commit, and a line at each level."""
    form = number_format(trend.metric, trend.medians)
    first = max(0, len(trend.entries) - MAX_COMMITS)
    shown = list(enumerate(trend.medians))[first:]
    with mpl.rc_context(STYLE):
        figure = VisibleFigure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
        axes = figure.subplots()
        places, values = zip(*shown, strict=True)
        heights = [value / form.factor for value in values]
        (points,) = axes.plot(places, heights, "o", color=LINE, markersize=2.5)
        points.set_gid(f"trend-{number}")
        figure.words[f"trend-{number}"] = [
            f"{one.commit[:12]} {one.date[:10]} {one.subject}: {form.number(value)} {form.unit}"
            for one, value in zip(trend.entries[first:], values, strict=True)
        ]
        for begin, end, level in trend.levels:
            if end > first:
                ends = [max(begin, first), end - 1]
                axes.plot(ends, [level / form.factor] * 2, color=WORSE, linewidth=1.2)
        axes.grid(axis="y")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_xlabel("commit")
        axes.set_ylabel(form.unit)
    words = "; ".join(map(trend.words, trend.changes)) or "no change of level"
    text = f"{sentence_case(title(trend.metric))} over {len(trend.entries)} commits: {words}"
    return Plot(name=f"trend-{number}", caption=text, alternative=text, figure=figure)


def badge(message: str, *, is_worse: bool) -> str:
    """Draw a badge."""
    return templating.render(
        "badge.svg.j2",
        "httpbed.addons.gate",
        message=message,
        colour=RED if is_worse else GREEN,
        width=round(7 * len(message)) + 12,
    )
