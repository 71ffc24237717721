"""How far a campaign is: what ended and why, the estimates so far, and the time left.

One document for ``httpbed report --status``, its JSON, and ``--watch``. It has numbers for scripts,
and the same numbers as text. The estimates are those of the report. They change until the campaign
ends.

Watching takes CPU time from the trials, so it is bounded: after each reading, the watcher rests a
hundred times as long as its process has used the CPU since the reading before. So it uses at most
1 % of a core, however large the campaign is; the views of a large one change less often. The start
is not counted, because it happens once: Python, the statistics, and the first reading.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpbed.base import units
from httpbed.base.errors import ConfigError, visible
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.metric import METRICS
from httpbed.report import terminal
from httpbed.report.phrasing import (
    DASH,
    NumberFormat,
    bracketed,
    coverage,
    number_format,
    title,
    whole_treatment,
)
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.findings import default_metric
from httpbed.results.sample import Sample, by_treatment, planned_blocks, samples, scenario
from httpbed.store import campaign_folder, layout
from httpbed.store.finished import GrowingCampaign
from httpbed.store.results import Results

MIN_ATTEMPTS_FOR_TIME_LEFT = 3
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
Row = Mapping[str, Any]
PROVISIONAL = (
    "Estimates change until the campaign ends. A rule that stops at a difference finds differences"
    " that do not exist."
)
"""docs/guides/grow.md has the numbers."""


def document(results: Results, metric: str, *, running: bool) -> dict[str, Any]:
    """Describe how far a campaign is, with estimates of one metric, for :func:`json.dumps`.

    ``running``: whether a run works on the campaign now.
    """
    rows = sorted(results.trials.to_pylist(), key=itemgetter("started", "attempt"))
    last = results.last_attempts
    outcomes = Counter(row["outcome"] for row in last)
    spoilt = [row for row in rows if row["outcome"] == "invalid"]
    left_s = time_left_s(rows, _missing(results, last), results.experiment.factors)
    most = "at most " if results.manifest.get("until") else ""  # treatments may stop earlier
    found = [(sample, estimate(sample)) for sample in samples(results, metric).values()]
    known = [one for _, one in found if one]
    scale = number_format(metric, (one.median.value for one in known))
    return {
        "schema": 1,
        "directory": str(results.directory),
        "name": results.experiment.name,
        "question": results.experiment.question,
        "planned": results.planned,
        "ended": outcomes.total(),
        "outcomes": dict(sorted(outcomes.items())),
        "running": running,
        "left_s": left_s,
        "progress": f"{outcomes.total()} of {most}{results.planned} trials ended",
        "state": _state(left_s, running=running),
        "counts": _counts(outcomes, len(spoilt)),
        "invalid_attempts": [*_reasons((row, ()) for row in spoilt)],
        "failures": [*_failures(results, last)],
        "last_invalid": _ended(results, spoilt[-1]) if spoilt else None,
        "metric": {
            "name": metric,
            "title": title(metric),
            "unit": METRICS[metric].unit,
            "coverage": coverage(one.interval for one in known),
        },
        "treatments": [_treatment(sample, one, scale) for sample, one in found],
        "damaged": layout.damage_values(results.damaged),
        "note": PROVISIONAL if running else "",
    }


def _state(left_s: float | None, *, running: bool) -> str:
    left = units.format_long_duration(left_s) if left_s else ""
    if running:
        return "a run is in progress" + (f", about {left} left" if left else "")
    return "no run is in progress" + (f", the rest takes about {left}" if left else "")


def _counts(outcomes: Mapping[str, int], spoilt: int) -> str:
    """Say how the trials ended, and how many attempts were invalid."""
    ended = [f"{count} {kind}" for kind, count in sorted(outcomes.items())]
    attempts = [f"{units.format_count(spoilt, 'invalid attempt')} kept aside"] if spoilt else []
    return "; ".join([", ".join(ended) or "none yet", *attempts])


def _failures(results: Results, last: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Yield why trials have an outcome but did not complete, with the programs of these trials."""
    known: dict[TreatmentKey, tuple[str, ...]] = {}

    def programs(row: Row) -> tuple[str, ...]:
        key = treatment_key(row, results.experiment.factors)
        if key not in known:
            levels = dict(zip(results.experiment.factors, key, strict=True))
            implementations = scenario(results, levels).implementations.values()
            known[key] = tuple(dict.fromkeys(implementations))
        return known[key]

    failed = [row for row in last if row["outcome"] not in {"completed", "invalid"}]
    yield from _reasons((row, programs(row)) for row in sorted(failed, key=itemgetter("started")))


def _reasons(rows: Iterable[tuple[Row, tuple[str, ...]]]) -> Iterator[dict[str, Any]]:
    """Yield the reasons of attempts, which are in order of time; the commonest first.

    Reasons that differ only in their numbers, such as a lateness, count as one; the latest stands
    for all.
    """
    counts: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    latest: dict[tuple[str, str, tuple[str, ...]], str] = {}
    for row, programs in rows:
        reason = row["reason"] or "no reason given"
        kind = (row["outcome"], _NUMBER.sub("0", reason), programs)
        counts[kind] += 1
        latest[kind] = reason
    for kind, count in counts.most_common():
        outcome, _, programs = kind
        about = {"count": count, "outcome": outcome, "programs": ", ".join(programs)}
        yield about | {"reason": latest[kind]}


def _ended(results: Results, row: Row) -> dict[str, Any]:
    levels = results.levels(row)
    names = ("started", "block", "trial", "attempt", "levels", "outcome", "reason", "treatment")
    known = {**row, "levels": dict(levels), "treatment": whole_treatment(levels)}
    return {name: known[name] for name in names}


def _treatment(sample: Sample, found: Estimate | None, scale: NumberFormat) -> dict[str, Any]:
    return {
        "levels": dict(sample.levels),
        "treatment": whole_treatment(sample.levels),
        "n": sample.n,
        "completed": sample.tally.completed,
        "planned": sample.tally.planned,
        "estimate": None if found is None else _numbers(found),
        "median": DASH if found is None else scale.bounded(found.median),
        "interval": "" if found is None else bracketed(scale, found.interval),
    }


def _numbers(found: Estimate) -> dict[str, Any]:
    interval = None if found.interval is None else asdict(found.interval)
    return {"median": asdict(found.median), "interval": interval}


def _missing(results: Results, last: Sequence[Row]) -> dict[TreatmentKey, int]:
    """Return how many trials of each treatment have no attempt."""
    ended = by_treatment(results, [dict(row) for row in last])
    planned = planned_blocks(results)
    return {key: max(0, blocks - len(ended.get(key, ()))) for key, blocks in planned.items()}


def time_left_s(
    rows: Sequence[Row], missing: Mapping[TreatmentKey, int], factors: Iterable[str]
) -> float | None:
    """Return how long the missing trials take, each like the attempts at its treatment.

    A trial takes the median of its treatment, or of all attempts if its treatment has none, as many
    times as trials needed attempts so far. The usual distance between two starts, beside the usual
    length of an attempt, shows how many run side by side; its median ignores pauses between runs.

    Args:
        rows: The attempts, in order of their starts.
        missing: How many trials of each treatment have no attempt.
        factors: The names of the columns that make up a treatment's key.

    Returns:
        Seconds; None with fewer than three attempts.
    """
    starts = [datetime.fromisoformat(row["started"]).timestamp() for row in rows]
    usual_s = median(row["wall_s"] for row in rows) if rows else 0.0
    if len(starts) < MIN_ATTEMPTS_FOR_TIME_LEFT or not usual_s:
        return None
    names = [*factors]
    lengths: dict[TreatmentKey, list[float]] = {}
    for row in rows:
        lengths.setdefault(treatment_key(row, names), []).append(row["wall_s"])
    whole_s = sum(
        count * (median(lengths[key]) if key in lengths else usual_s)
        for key, count in missing.items()
    )
    distance_s = median(later - earlier for earlier, later in pairwise(starts))
    attempts = len(rows) / len({row["trial"] for row in rows})
    return whole_s * attempts * distance_s / usual_s


SHARE = 0.01
"""The largest share of a core that watching takes."""
MIN_REST_S = 2.0
GLANCE_S = 1.0
"""How often a resting watcher looks whether the run still holds the campaign."""


def once(directory: Path) -> dict[str, Any]:
    """Return the status of a campaign as a document.

    Raises:
        ConfigError: The folder is not a campaign.
    """
    return next(documents(directory))


def documents(
    directory: Path,
    sleep: Callable[[float], None] = time.sleep,
    cpu_s: Callable[[], float] = time.process_time,
) -> Iterator[dict[str, Any]]:
    """Yield the status of a campaign now, after each change, and when no run works on it any more.

    Raises:
        ConfigError: The folder is not a campaign.
    """
    running = campaign_folder.is_locked(directory)  # first: what a run adds later is not missed
    campaign = GrowingCampaign(directory)
    yield _now(campaign, running=running)
    at_s = cpu_s()
    while running:
        _rest(directory, rest_s(cpu_s() - at_s), sleep)
        at_s = cpu_s()
        running = campaign_folder.is_locked(directory)
        if _refreshed(campaign, running=running) or not running:
            yield _now(campaign, running=running)


def _now(campaign: GrowingCampaign, *, running: bool) -> dict[str, Any]:
    return document(campaign.results, default_metric(campaign.results), running=running)


def rest_s(used_s: float) -> float:
    """Return how long to rest after so many CPU seconds."""
    return max(MIN_REST_S, used_s / SHARE)


def _rest(directory: Path, whole_s: float, sleep: Callable[[float], None]) -> None:
    """Rest so long, or until the run ends."""
    while whole_s > 0 and campaign_folder.is_locked(directory):
        sleep(min(GLANCE_S, whole_s))
        whole_s -= GLANCE_S


def _refreshed(campaign: GrowingCampaign, *, running: bool) -> bool:
    """Read what is new; a run that replaces the campaign's files is read at the next time."""
    try:
        return campaign.refresh()
    except ConfigError:
        if running:
            return False
        raise


MAX_REASONS = 5
"""So many reasons are shown of each list; the others are counted."""
ROWS_BESIDE = 7
"""Rows of the heading, the table's heading, the note and the lines between."""


def whole(status: Row, rows: int) -> RenderableType:
    """Lay out what a watch shows: what fits into so many rows."""
    return Group(Text(visible(heading(status))), details(status, rows))


def details(status: Row, rows: int | None = None) -> RenderableType:
    """Lay out what stands below the heading: everything, or what fits into so many rows."""
    damaged = [layout.Damage(one["place"], tuple(one["reasons"])) for one in status["damaged"]]
    facts = [("question", status["question"]), *_endings(status)]
    most = None if rows is None else max(1, rows - len(facts) - len(damaged) - ROWS_BESIDE)
    return Group(
        *map(Text, layout.damage_lines(damaged, status["directory"])),
        terminal.facts(facts),
        Padding(treatments(status, most), (1, 0, 0, 1)),
        *([Text(status["note"], "dim")] if status["note"] else []),
    )


def heading(status: Row) -> str:
    """Say in a line how far a campaign is, and how its trials ended."""
    ended = f"{status['directory']}: {status['progress']}: {status['counts']}"
    return f"{ended}; {status['state']}"


def _endings(status: Row) -> Iterator[tuple[str, str]]:
    for key, reasons in (
        ("failures", status["failures"]),
        ("invalid", status["invalid_attempts"]),
    ):
        for row in reasons[:MAX_REASONS]:
            whose = f"{row['programs']}: " if row["programs"] else ""
            kind = f"{row['outcome']}: " if row["outcome"] not in {"failed", "invalid"} else ""
            yield key, f"{row['count']}x {kind}{whose}{row['reason']}"
        if rest := sum(row["count"] for row in reasons[MAX_REASONS:]):
            yield key, f"{rest}x for {len(reasons) - MAX_REASONS} further reasons"
    if last := status["last_invalid"]:
        where = f"{last['treatment']}, block {last['block']}, attempt {last['attempt']}"
        yield "latest", f"invalid attempt of {where}: {last['reason']}"


def treatments(status: Row, most: int | None = None) -> RenderableType:
    """Lay out the estimates of the treatments, or of the first ones."""
    rows = status["treatments"]
    metric = status["metric"]
    covered = f" [{metric['coverage']}]" if metric["coverage"] else ""
    names = [" ".join(name.split("_")) for name in (rows[0]["levels"] if rows else ())]
    headers = [*names, "n", f"{metric['title']}{covered}", "done"]
    table = terminal.grid(headers, ["n", "done"])
    for row in rows[:most]:
        levels = [Text(visible(level), overflow="fold") for level in row["levels"].values()]
        value = Text.assemble((row["median"], "bold"), f" {row['interval']}".rstrip())
        done = f"{row['completed']}/{row['planned']}"
        table.add_row(*levels, str(row["n"]), value, done)
    rest = len(rows[most:]) if most is not None else 0
    return Group(table, Text(f"and {rest} more treatments", "dim")) if rest else table
