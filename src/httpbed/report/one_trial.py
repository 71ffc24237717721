"""One trial over time, as lines, as JSON values and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
from rich.text import Text

from httpbed.addons.handover.handovers_report import WORDS
from httpbed.addons.pages import loads
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import one_load
from httpbed.addons.timeline import time_series as series_of
from httpbed.addons.timeline import time_series_report as time_series
from httpbed.addons.timeline import timelines
from httpbed.addons.timeline.timelines import Timeline
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake, visible
from httpbed.experiment.handover import HandoverEvent
from httpbed.report import curves
from httpbed.report.figures import STYLE, Plot
from httpbed.report.phrasing import brief_duration, treatment
from httpbed.report.terminal import Console
from httpbed.store.results import Results

KEY_WIDTH = 9
MOST_NAMED = 6
"""Trials that are listed where one is not found."""
MOST_LINES = 20
"""Hand-overs that have lines of their own."""


def find(results: Results, text: str) -> Timeline | PageTrial:
    """Return the trial that ``BLOCK/TRIAL`` names; of TRIAL its first characters suffice.

    It is a page's load where it left one.

    Raises:
        ConfigError: It names none, or several.
    """
    block, slash, name = text.partition("/")
    rows = timelines.attempts(results)
    matching = [
        row
        for row in rows
        if slash
        and name
        and row["trial"].startswith(name)
        and str(row["block"]) == block.lstrip("0")
    ]
    if len(matching) == 1:
        return loads.read(results, matching[0]) or _timeline(results, matching[0])
    found = f"{len(matching)} trials" if matching else "no trial with a valid attempt"
    reason = f"{text!r} matches {found}"
    some = [f"{row['block']}/{row['trial']}" for row in (matching or rows)]
    more = ", ..." if len(some) > MOST_NAMED else ""
    known = ", ".join(some[:MOST_NAMED]) + more
    remedy = f"write BLOCK/TRIAL as in the folder trials; there are: {known or 'none yet'}"
    raise ConfigError([Mistake("--trial", reason, remedy)])


def _timeline(results: Results, row: Mapping[str, Any]) -> Timeline:
    found = timelines.timeline(results, row)
    return replace(found, series=series_of.read(results, row))


def plots(trial: Timeline) -> list[Plot]:
    """Draw its deliveries and its course, as far as it left records of them."""
    found = [time_series.one(trial.series)] if trial.series else []
    return [_deliveries(trial), *found] if trial.curve.end_s else found


def _deliveries(trial: Timeline) -> Plot:
    with mpl.rc_context(STYLE):
        figure = curves.one(trial)
    return Plot(
        name=f"trial-{trial.block}-{trial.trial}",
        caption="Delivered to the client in one trial, and each hand-over from close by.",
        alternative="; ".join(f"{key} {text}" for key, text in lines(trial)),
        figure=figure,
    )


def show(trial: Timeline | PageTrial, figures: list[Path], out: Console) -> None:
    """Print what happened when; the figures' paths are the last lines."""
    course = one_load.lines(trial) if isinstance(trial, PageTrial) else lines(trial)
    texts = [*course, *(("figure", str(path)) for path in figures)]
    for key, text in texts:
        out.print(Text(f"{key:<{KEY_WIDTH}}  {visible(text)}"), soft_wrap=True)


def lines(trial: Timeline) -> Iterator[tuple[str, str]]:
    """Yield the lines of the trial's course, each with its key."""
    yield "trial", f"{trial.block}/{trial.trial}, attempt {trial.attempt}: {trial.outcome}"
    yield "treatment", treatment(trial.levels, trial.levels)
    if trial.series:
        yield "over time", time_series.course(trial.series)
    if not (trial.curve.end_s or trial.series):
        yield "over time", "no record; links of the kernel and earlier versions keep none"
    if trial.curve.end_s:
        links = ", ".join(f"{_size(size)} over {link}" for link, size in trial.by_link.items())
        yield "delivered", f"{links}; the last packet after {brief_duration(trial.curve.end_s)}"
    for event in trial.handovers[:MOST_LINES]:
        yield "hand-over", _event_text(event)
        if event.verdict:
            yield "wire", event.how or WORDS.get(event.verdict, event.verdict)
    if len(trial.handovers) > MOST_LINES:
        yield "hand-over", f"and {len(trial.handovers) - MOST_LINES} more"


def values(trial: Timeline | PageTrial, figures: list[Path]) -> dict[str, Any]:
    """Return the trial as JSON values, with every corner of the curve."""
    if isinstance(trial, PageTrial):
        return one_load.values(trial, [str(path) for path in figures])
    corners = zip(trial.curve.times_s.tolist(), trial.curve.total_bytes.tolist(), strict=True)
    return {
        "schema": 1,
        "block": trial.block,
        "trial": trial.trial,
        "attempt": trial.attempt,
        "levels": dict(trial.levels),
        "outcome": trial.outcome,
        "handovers": [vars(event) for event in trial.handovers],
        "bytes_by_link": dict(trial.by_link),
        "delivered": [[round(at_s, 6), int(total)] for at_s, total in corners],
        "over_time": time_series.values(trial.series) if trial.series else None,
        "figures": [str(path) for path in figures],
    }


def _event_text(event: HandoverEvent) -> str:
    texts = [f"{name} +{brief_duration(at_s - event.at_s)}" for name, at_s in event.milestones()]
    way = f"{event.left} to {event.entered} at {brief_duration(event.at_s)}"
    return f"{event.number}, {way}: {', '.join(texts) or 'nothing followed'}"


def _size(number: float) -> str:
    return units.format_size(number, units.SHORT_DIGITS)
