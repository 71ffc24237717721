"""One trial's deliveries and hand-overs, as lines, as JSON values and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import matplotlib as mpl

from httpbed.addons.handover import curves, timelines
from httpbed.addons.handover.handovers_report import WORDS
from httpbed.addons.handover.timelines import Timeline
from httpbed.base import units
from httpbed.experiment.handover import HandoverEvent
from httpbed.report.figures import STYLE, Plot
from httpbed.report.one_trial import TrialPart, TrialView
from httpbed.report.phrasing import brief_duration
from httpbed.store.results import Results

MAX_LINES = 20
"""Hand-overs that have lines of their own."""


def _part(results: Results, row: Mapping[str, Any]) -> TrialPart:
    trial = timelines.timeline(results, row)
    return TrialPart([*lines(trial)], values(trial), lambda: plots(trial))


def plots(trial: Timeline) -> list[Plot]:
    """Draw its deliveries, if it left a record of them."""
    if not trial.curve.end_s:
        return []
    with mpl.rc_context(STYLE):
        figure = curves.one(trial)
    plot = Plot(
        name=f"trial-{trial.block}-{trial.trial}",
        caption="Delivered to the client in one trial, and each hand-over from close by.",
        alternative="; ".join(f"{key} {text}" for key, text in lines(trial)),
        figure=figure,
    )
    return [plot]


def lines(trial: Timeline) -> Iterator[tuple[str, str]]:
    """Yield what was delivered, and each hand-over with what followed."""
    if trial.curve.end_s:
        links = ", ".join(f"{_size(size)} over {link}" for link, size in trial.by_link.items())
        yield "delivered", f"{links}; the last packet after {brief_duration(trial.curve.end_s)}"
    for event in trial.handovers[:MAX_LINES]:
        yield "hand-over", _event_text(event)
        if event.verdict:
            yield "wire", event.how or WORDS.get(event.verdict, event.verdict)
    if len(trial.handovers) > MAX_LINES:
        yield "hand-over", f"and {len(trial.handovers) - MAX_LINES} more"


def values(trial: Timeline) -> dict[str, Any]:
    """Return the same as JSON values, with every corner of the curve."""
    corners = zip(trial.curve.times_s.tolist(), trial.curve.total_bytes.tolist(), strict=True)
    return {
        "handovers": [vars(event) for event in trial.handovers],
        "bytes_by_link": dict(trial.by_link),
        "delivered": [[round(at_s, 6), int(total)] for at_s, total in corners],
    }


def _event_text(event: HandoverEvent) -> str:
    texts = [f"{name} +{brief_duration(at_s - event.at_s)}" for name, at_s in event.milestones()]
    way = f"{event.left} to {event.entered} at {brief_duration(event.at_s)}"
    return f"{event.number}, {way}: {', '.join(texts) or 'nothing followed'}"


def _size(number: float) -> str:
    return units.format_size(number, units.SHORT_DIGITS)


TRIAL = TrialView("handover", 30, _part)
