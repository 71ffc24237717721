"""Critical paths of loads as sentences, tables and JSON values, and the difference of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.addons.pages.load import critical_path
from httpbed.addons.pages.load.browser_load import PageRequest
from httpbed.addons.pages.load.critical_path import SHARES, CriticalPath, Step
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import waterfall
from httpbed.experiment.scenario import Scenario
from httpbed.report.document import Cell, Column, RowName, Table
from httpbed.report.phrasing import brief_duration, sentence_case, title
from httpbed.results.comparison import EQUAL_MARGIN
from httpbed.results.sample import scenario
from httpbed.store.results import Results

DIGITS = 6
MAX_NAMED = 4
"""Steps that a sentence names."""
WORTH = 0.05
"""Share of the time below which no step is named."""
DOCUMENT = "the document"
READING = (
    "The path holds what had to happen one after the other in the metric's time. Browser: it worked"
    " between one resource and the next request or the paint. Queueing: it held a request back."
    " Priorities: the link carried other responses. Server: the wait for an answer beyond an idle"
    " round trip. Network: connections, round trips, and bytes."
)


@dataclass(frozen=True)
class LoadPath:
    """The critical path of a trial's load."""

    trial: PageTrial
    path: CriticalPath
    parts: Mapping[str, float] | None
    """Chrome's, of the largest contentful paint."""
    name: str
    """Of its treatment, beside the others that are shown."""

    def resource(self, request: PageRequest | None) -> str:
        """Name a resource on the path."""
        if request is None:
            return ""
        if request.kind == "Document" and not request.initiator:
            return DOCUMENT
        found = self.path.requests
        return dict(zip((one.id for one in found), waterfall.short_names(found), strict=True))[
            request.id
        ]


def of_trial(results: Results, trial: PageTrial, name: str = "") -> LoadPath | None:
    """Read the path of a trial's load; None if it fetched nothing."""
    described, metric = scenario(results, trial.levels), results.experiment.report.metric
    return of_load(trial, described, metric, name)


def of_load(trial: PageTrial, described: Scenario, metric: str, name: str = "") -> LoadPath | None:
    """Read the path of a load up to the moment of a metric; None if it fetched nothing."""
    link, way = described.bottleneck()
    path = critical_path.critical_path(
        trial.load,
        round_trip_s=described.rtt_s(described.access()),
        rate_bit_s=described.topology.links[link].directions()[way].mean_bit_s(),
        goal=critical_path.goal_of(metric),
    )
    if path is None:
        return None
    return LoadPath(trial, path, critical_path.paint_parts(trial.load), name)


def sentences(one: LoadPath) -> Iterator[str]:
    """Say what is on the path, the longest first; each without its full stop."""
    path = one.path
    count = len(path.requests)
    yield sentence_case(
        f"{title(path.goal)} {brief_duration(path.whole_s)}, on a path of {count}"
        f" resource{'s' * (count != 1)}: {_shares(path)}"
    )
    named = [
        f"{_place(one, step)} {_took(seconds, path.whole_s)}"
        for step, seconds in path.causes()[:MAX_NAMED]
        if seconds >= WORTH * path.whole_s
    ]
    if named:
        yield f"Most of it was {', '.join(named)}"
    if late := _low_priority(one):
        yield late
    load = one.trial.load
    if load.ended != "loaded":
        why = f"{load.ended}: {load.reason}" if load.reason else load.ended
        way_out = (
            "a larger time_limit in the experiment lets it end"
            if load.ended == "time limit"
            else f"httpbed report DIR --trial {one.trial.name} shows what its programs printed"
        )
        yield f"The load is not whole ({why}), so the path is that of what had arrived; {way_out}"


def _place(one: LoadPath, step: Step) -> str:
    name, what = one.resource(step.request), _what(step)
    return f"{what} ({name})" if name else what


def _what(step: Step) -> str:
    if step.behind is None:
        return step.what
    return f"{step.what}, mostly {waterfall.short_name(step.behind)}"


def _took(seconds: float, whole_s: float) -> str:
    return f"{brief_duration(seconds)} ({100 * seconds / max(whole_s, 1e-9):.0f} %)"


def _shares(path: CriticalPath) -> str:
    known = sorted(path.shares().items(), key=lambda one: -one[1])
    return ", ".join(
        f"{share} {100 * seconds / max(path.whole_s, 1e-9):.0f} %" for share, seconds in known
    )


def _low_priority(one: LoadPath) -> str:
    """Say which resource of a low priority waited for its turn."""
    waits = Counter[str]()
    known = {request.id: request for request in one.path.requests}
    for step in one.path.steps:
        if step.request and step.share in {"queueing", "priorities"}:
            waits[step.request.id] += step.lasts_s  # type: ignore[assignment]
    for request, seconds in waits.most_common(1):
        priority = known[request].priority
        if priority in {"Low", "VeryLow"} and seconds >= WORTH * one.path.whole_s:
            name = one.resource(known[request])
            return f"{name} waited {brief_duration(seconds)} for its turn, with priority {priority}"
    return ""


def shares_table(found: Sequence[LoadPath]) -> Table:
    """Return a row for each load: its shares, and Chrome's parts of its largest paint."""
    columns = [
        Column.of("load", (path.name for path in found), is_name=True),
        Column.of("metric", (title(path.path.goal) for path in found), shown="in HTML"),
    ]
    columns.append(Column.of("time", (brief_duration(o.path.whole_s) for o in found), right=True))
    for share in SHARES:
        cells = (_cell(path.path.shares()[share], path.path.whole_s) for path in found)
        columns.append(Column(share, tuple(cells), right=True))
    if any(path.parts for path in found):
        for name in next(path.parts for path in found if path.parts):
            texts = (brief_duration(path.parts[name]) if path.parts else "" for path in found)
            short = name.replace("resource ", "").replace("element ", "")
            columns.append(Column.of(f"LCP: {short}", texts, right=True, shown="if there is room"))
    return Table(
        "Critical paths",
        "Critical paths of the typical loads, and Chrome's four parts of the largest contentful"
        " paint",
        tuple(columns),
        tuple(RowName("", path.name) for path in found),
        name_header="load",
        brief=True,
    )


def steps_table(found: Sequence[LoadPath]) -> Table:
    """Return a row for each step of each path."""
    rows = [(path, step) for path in found for step in path.path.steps]
    return Table(
        "Steps",
        "Every step of each path, in order",
        (
            Column.of("resource", (one.resource(step.request) for one, step in rows)),
            Column.of("from", (brief_duration(step.begin_s) for _, step in rows), right=True),
            Column("lasts", tuple(_cell(s.lasts_s, o.path.whole_s) for o, s in rows), right=True),
            Column.of("share", (step.share for _, step in rows)),
            Column.of("priority", (s.request.priority if s.request else "" for _, s in rows)),
        ),
        tuple(RowName(one.name, _what(step)) for one, step in rows),
        name_header="step",
    )


def _cell(seconds: float, whole_s: float) -> Cell:
    share = seconds / max(whole_s, 1e-9)
    if not seconds:
        return Cell("", share=share)
    return Cell(brief_duration(seconds), f"({100 * share:.0f} %)", share=share)


@dataclass(frozen=True)
class PathDifference:
    """Why the path of one load is longer than that of another."""

    fast: LoadPath
    slow: LoadPath

    @property
    def whole_s(self) -> float:
        """How much longer the slower one is."""
        return self.slow.path.whole_s - self.fast.path.whole_s

    def shares(self) -> Mapping[str, float]:
        """Return each share's part of the difference; they add up to it."""
        before, after = self.fast.path.shares(), self.slow.path.shares()
        return {share: after[share] - before[share] for share in SHARES}

    def resources(self) -> list[tuple[str, float]]:
        """Return each resource's part of the difference, the largest first."""
        totals = Counter[str]()
        for sign, one in ((1, self.slow), (-1, self.fast)):
            for step in one.path.steps:
                totals[one.resource(step.request)] += sign * step.lasts_s  # type: ignore[assignment]
        return sorted(((n, float(s)) for n, s in totals.items()), key=lambda one: -abs(one[1]))

    def sentences(self) -> Iterator[str]:
        """Say it, each without its full stop."""
        fast, slow = self.fast, self.slow
        yield sentence_case(
            f"{title(slow.path.goal)} of {slow.name} was {brief_duration(self.whole_s)} longer than"
            f" that of {fast.name}: {self._listed(self.shares().items())}"
        )
        named = [(name, seconds) for name, seconds in self.resources() if name][:MAX_NAMED]
        if named:
            yield f"By resource: {self._listed(named)}"
        more = [n for n in self._names(slow) if n not in self._names(fast)]
        if more:
            yield f"Only on the path of {slow.name}: {', '.join(more[:MAX_NAMED])}"

    @staticmethod
    def _names(one: LoadPath) -> list[str]:
        return [one.resource(request) for request in one.path.requests]

    def _listed(self, parts: Any) -> str:
        least = WORTH * self.whole_s
        return ", ".join(
            f"{'+' if seconds > 0 else '-'}{brief_duration(abs(seconds))} {name}"
            for name, seconds in sorted(parts, key=lambda part: -abs(part[1]))
            if abs(seconds) >= least
        )

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "fast": self.fast.trial.name,
            "slow": self.slow.trial.name,
            "seconds": round(self.whole_s, DIGITS),
            "shares": {name: round(value, DIGITS) for name, value in self.shares().items()},
            "resources": {name: round(value, DIGITS) for name, value in self.resources()},
        }


def difference(found: Sequence[LoadPath]) -> PathDifference | None:
    """Return the difference of the slowest and the fastest load with one goal; None without.

    Only completed loads count: the path of one that was cut off ends with what had arrived. Two
    that differ by less than :data:`EQUAL_MARGIN` took the same time.
    """
    completed = [path for path in found if path.trial.outcome == "completed"]
    by_time = sorted(completed, key=lambda path: path.path.whole_s)
    if not by_time or len({path.path.goal for path in completed}) > 1:
        return None
    difference = PathDifference(by_time[0], by_time[-1])
    is_different = difference.whole_s > EQUAL_MARGIN * difference.slow.path.whole_s
    return difference if is_different else None


def values(one: LoadPath) -> dict[str, Any]:
    """Return a path as JSON values, times in seconds."""
    path = one.path
    return {
        "block": one.trial.block,
        "trial": one.trial.trial,
        "attempt": one.trial.attempt,
        "levels": dict(one.trial.levels),
        "outcome": one.trial.outcome,
        "metric": path.goal,
        "seconds": round(path.whole_s, DIGITS),
        "sentence": ". ".join(sentences(one)) + ".",
        "shares": {name: round(value, DIGITS) for name, value in path.shares().items()},
        "largest_contentful_paint": (
            {name: round(value, DIGITS) for name, value in one.parts.items()} if one.parts else None
        ),
        "steps": [
            {
                "begin_s": round(step.begin_s, DIGITS),
                "end_s": round(step.end_s, DIGITS),
                "share": step.share,
                "what": step.what,
                "url": step.request.url if step.request else "",
                "behind": step.behind.url if step.behind else "",
                "priority": step.request.priority if step.request else "",
            }
            for step in path.steps
        ],
    }
