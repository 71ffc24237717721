"""Figures over time: megabytes delivered to the client, a thin line for each trial.

The size of a figure is bounded: its panels, the treatments in a panel, the replicates of a
treatment, and the corners of all curves together (:func:`thinned`). A line below the figure says
what is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import matplotlib as mpl

from httpbed.addons.handover import handover_timelines
from httpbed.addons.handover import handovers_report as handovers
from httpbed.addons.handover.handover_samples import has_handovers, of_attempt
from httpbed.addons.handover.handover_timelines import Panel, Timeline
from httpbed.addons.handover.handovers_report import WORDS
from httpbed.experiment.document import references, with_nested
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.trial import HandoverEvent
from httpbed.report import experiment_words
from httpbed.report.document import (
    Block,
    Figure,
    Paragraph,
    ReportInput,
    Section,
    SectionMaker,
    Table,
)
from httpbed.report.one_trial import TrialPart, TrialView
from httpbed.report.phrasing import brief_duration, brief_size, level, treatment
from httpbed.report.svg import PALETTE, STYLE, Plot
from httpbed.report.treatments import row_names
from httpbed.results import attempts
from httpbed.results.findings import Condition, Findings, Row
from httpbed.results.sample import by_treatment
from httpbed.store.results import Results

Attempts = Mapping[TreatmentKey, list[dict[str, Any]]]

MAX_FIGURES = 12
MAX_TOGETHER = 4
"""Treatments in one panel; more are split by the first of their factors."""
MAX_PANELS = 8
MAX_COLOURS = len(PALETTE)
"""Treatments in each of several panels."""
MAX_LINES = 160
"""Curves of a figure; of each treatment as many replicates are drawn as fit."""


MEANINGS = Paragraph(
    "Stall: the longest time around the change with fewer than 4000 bytes delivered; silence: with"
    " nothing delivered. On the wire: migrated is the same connection on the new path; stayed: the"
    " client kept the old path, which still worked; silent: nothing was delivered on the new one."
    " An interval stands in brackets where its ends differ by more than a factor of two."
)


def plots(findings: Findings, results: Results) -> list[Plot]:
    """Draw each condition of a campaign with hand-overs; none where there is nothing to draw."""
    if not has_handovers(findings):
        return []
    by_key = by_treatment(results, attempts.valid(results))
    drawn = (
        _plot(findings, results, condition, number, by_key)
        for number, condition in enumerate(findings.conditions[:MAX_FIGURES], start=1)
    )
    return [plot for plot in drawn if plot is not None]


def _example(results: Results) -> str:
    """Name a trial as ``--trial`` of ``httpbed report`` takes it: one with a hand-over, if any."""
    rows = attempts.valid(results)
    changed = (row for row in rows if of_attempt(results, row))
    row = next(changed, rows[0] if rows else None)
    return f"{row['block']}/{row['trial']}" if row else ""


def _plot(
    findings: Findings, results: Results, condition: Condition, number: int, by_key: Attempts
) -> Plot | None:
    panels, left_out = choose(findings, results, condition, by_key)
    trials = [timeline for panel in panels for timeline in panel.every()]
    if not any(trial.curve.end_s for trial in trials):
        return None
    at = experiment_words.condition(results.document, condition.levels)
    where = f", at {at}" if at else ""
    with mpl.rc_context(STYLE):
        figure = handover_timelines.overlay(panels)
    return Plot(
        name=f"handovers-{number}",
        caption=" ".join(
            [f"Delivered to the client{where}: a line for each trial.", *_signs(trials), *left_out]
        ),
        alternative=f"Megabytes delivered to the client over time{where}. " + _alternative(panels),
        figure=figure,
    )


def choose(
    findings: Findings, results: Results, condition: Condition, by_key: Attempts
) -> tuple[list[Panel], list[str]]:
    """Choose what of a condition is drawn; return its panels, and what is left out in words."""
    split = _split(findings, condition, _of_handover(results.document))
    groups: dict[str, list[Row]] = {}
    for row in condition.rows:
        groups.setdefault(level(split, row.levels[split]) if split else "", []).append(row)
    kept = {title: rows[:MAX_COLOURS] for title, rows in list(groups.items())[:MAX_PANELS]}
    rows = [row for group in kept.values() for row in group]
    lines = max(1, MAX_LINES // max(1, len(rows)))
    others, names = _telling(findings, condition, split), results.experiment.factors
    panels = [
        Panel(
            title,
            {
                treatment(row.levels, others): tuple(
                    handover_timelines.timeline(results, attempt)
                    for attempt in by_key.get(treatment_key(row.levels, names), ())[:lines]
                )
                for row in group
            },
        )
        for title, group in kept.items()
    ]
    return panels, [*_left_out(groups, kept), *_fewer(rows, lines)]


def _of_handover(document: Mapping[str, Any]) -> set[str]:
    """Name the factors of the hand-over itself; their levels share a panel."""
    named = (name for _, name in references(document.get("handover")))
    return set(with_nested(document, named))


def _split(findings: Findings, condition: Condition, together: Collection[str]) -> str:
    """Name the factor that panels are for: the first that leaves few treatments in each.

    None where treatments are few; those in ``together`` only where there are no others.
    """
    if len(condition.rows) <= MAX_TOGETHER:
        return ""
    telling = _telling(findings, condition, "")
    names = sorted(telling, key=lambda name: name in together)
    fullest = {
        name: max(Counter(row.levels[name] for row in condition.rows).values()) for name in names
    }
    for most in (MAX_TOGETHER, MAX_COLOURS):
        for name in names:
            if fullest[name] <= most:
                return name
    return min(names, key=lambda name: fullest[name], default="")


def _telling(findings: Findings, condition: Condition, split: str) -> list[str]:
    """Name the factors that distinguish treatments within a panel."""
    return [
        name
        for name in findings.others
        if name != split and len({row.levels[name] for row in condition.rows}) > 1
    ]


def _left_out(groups: Mapping[str, list[Row]], kept: Mapping[str, list[Row]]) -> Iterator[str]:
    if len(groups) > len(kept):
        others = _few(list(groups)[len(kept) :])
        yield f"{len(groups) - len(kept)} further panels are not drawn: {others}."
    most = max((len(rows) for rows in groups.values()), default=0)
    if most > MAX_COLOURS:
        yield f"Of {most} treatments in a panel the first {MAX_COLOURS} are drawn."


def _few(names: list[str]) -> str:
    shown = names[:MAX_PANELS]
    return ", ".join([*shown, *(["…"] if len(names) > len(shown) else [])])


def _fewer(rows: list[Row], lines: int) -> Iterator[str]:
    most = max((row.tally.recorded for row in rows), default=0)
    if most > lines:
        yield f"Of {most} replicates the first {lines} are drawn."


def _signs(trials: list[Timeline]) -> Iterator[str]:
    """Explain the marks that occur."""
    events = [event for trial in trials for event in trial.handovers]
    if events:
        yield "A dashed line is a hand-over."
    alone = handover_timelines.are_alone(trials)
    if alone and any(event.validated_s is not None for event in events):
        yield "A diamond is the new path's validation."
    if any(event.first_byte_s is not None for event in events):
        yield "A dot is the first packet delivered on the new path."
    if any(trial.outcome == "completed" for trial in trials):
        yield "The legend's mark ends a trial that completed."
    if any(trial.outcome != "completed" for trial in trials):
        yield "A cross ends a trial that did not complete."


def _alternative(panels: list[Panel]) -> str:
    """List when each treatment's first trial changed and ended."""
    return " ".join(
        f"{', '.join(filter(None, (panel.title, name)))}: {_course(trials[0])}."
        for panel in panels
        for name, trials in panel.treatments.items()
        if trials
    )


def _course(trial: Timeline) -> str:
    texts = [f"{brief_size(trial.curve.end_bytes)} by {brief_duration(trial.curve.end_s)}"]
    if trial.handovers:
        first = brief_duration(trial.handovers[0].at_s)
        texts.append(f"{len(trial.handovers)} hand-over(s), the first at {first}")
    return ", ".join(texts)


def _section(source: ReportInput) -> Section | None:
    findings, results = source.listed, source.results
    if not has_handovers(findings):
        return None
    table = Table(
        "Table of hand-overs",
        "What hand-overs cost: medians of the trials that completed; probe, validated and first"
        " byte are times after the change.",
        tuple(handovers.whole(findings)),
        row_names(findings, results.document),
        style="tight",
    )
    blocks: list[Block] = [table, MEANINGS]
    if source.draws:
        blocks += map(Figure, plots(source.findings, results))
    rest = len(findings.conditions) - MAX_FIGURES
    if rest > 0:
        blocks.append(Paragraph(f"{rest} further conditions are not drawn; the table has all."))
    if trial := _example(results):
        command = f"httpbed report DIR --trial {trial}"
        blocks.append(Paragraph("One trial alone, with each hand-over from close by:", command))
    evidence = tuple(handovers.evidence(source.findings))
    return Section("handovers", "Hand-overs", tuple(blocks), evidence=evidence)


SECTION = SectionMaker("handover", 80, _section)


MAX_EVENTS = 20
"""Hand-overs that have lines of their own."""


def _part(results: Results, row: Mapping[str, Any]) -> TrialPart:
    trial = handover_timelines.timeline(results, row)
    return TrialPart([*trial_lines(trial)], trial_values(trial), lambda: trial_plots(trial))


def trial_plots(trial: Timeline) -> list[Plot]:
    """Draw its deliveries, if it left a record of them."""
    if not trial.curve.end_s:
        return []
    with mpl.rc_context(STYLE):
        figure = handover_timelines.one_trial(trial)
    plot = Plot(
        name=f"trial-{trial.block}-{trial.trial}",
        caption="Delivered to the client in one trial, and each hand-over from close by.",
        alternative="; ".join(f"{key} {text}" for key, text in trial_lines(trial)),
        figure=figure,
    )
    return [plot]


def trial_lines(trial: Timeline) -> Iterator[tuple[str, str]]:
    """Yield what was delivered, and each hand-over with what followed."""
    if trial.curve.end_s:
        links = ", ".join(f"{brief_size(size)} over {link}" for link, size in trial.by_link.items())
        yield "delivered", f"{links}; the last packet after {brief_duration(trial.curve.end_s)}"
    for event in trial.handovers[:MAX_EVENTS]:
        yield "hand-over", _event_text(event)
        if event.verdict:
            yield "wire", event.how or WORDS.get(event.verdict, event.verdict)
    if len(trial.handovers) > MAX_EVENTS:
        yield "hand-over", f"and {len(trial.handovers) - MAX_EVENTS} more"


def trial_values(trial: Timeline) -> dict[str, Any]:
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


TRIAL = TrialView("handover", 30, _part)
