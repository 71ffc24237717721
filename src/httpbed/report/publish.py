"""The report of a campaign, written, shown or handed over as values: what the verbs call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from httpbed.analysis.findings import Findings, find
from httpbed.analysis.timelines import Timeline
from httpbed.report import figures, html, one_trial, tables, timelines
from httpbed.report import summary as summaries
from httpbed.store.results import Results

REPORT = "report.html"
FIGURES = "figures"


def report(results: Results, findings: Findings | None = None, path: Path | None = None) -> Path:
    """Write the page, by default into the campaign, and its figures as SVG and PDF; return it.

    The page appears whole or not at all; figures stand in the campaign's folder ``figures``.
    """
    findings = findings or find(results)
    path = path or results.directory / REPORT
    plots = figures.plots(findings, results.document)
    over_time = timelines.plots(findings, results)
    text = html.render(results, findings, plots, over_time)
    for plot in [*plots, *over_time]:
        plot.save(results.directory / FIGURES)
    _replace(path, text)
    return path


def one(results: Results, trial: Timeline) -> list[Path]:
    """Write the figure of one trial, as SVG and PDF; return what was written."""
    plot = one_trial.plot(trial)
    if plot is None:
        return []
    plot.save(results.directory / FIGURES)
    return [results.directory / FIGURES / f"{plot.name}.{kind}" for kind in ("svg", "pdf")]


def show(
    results: Results,
    path: Path | None,
    findings: Findings | None = None,
    out: Console | None = None,
) -> None:
    """Print the table, the evidence and the notes; ``path`` of the report is the last line."""
    tables.show(results, findings or find(results), path, out or tables.console())


def summary(
    results: Results, path: Path | None, findings: Findings | None = None
) -> Mapping[str, Any]:
    """Return the same as values that JSON can hold."""
    return summaries.summary(results, findings or find(results), path)


def invalid_remain(results: Results, findings: Findings | None = None) -> bool:
    """Tell whether a trial is left without a valid attempt."""
    return (findings or find(results)).tally.outcomes["invalid"] > 0


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
