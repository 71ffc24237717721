"""The report of a campaign as HTML, on the terminal or as JSON: what the verbs call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpbed.addons.figures import section as declared
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import one_load, section
from httpbed.addons.timeline import time_series_report as time_series
from httpbed.addons.timeline import timelines_report as timelines
from httpbed.addons.timeline.timelines import Timeline
from httpbed.base import whole_file
from httpbed.report import figures, html, markdown, one_trial, terminal, terminal_table
from httpbed.report import summary as summaries
from httpbed.report.terminal import Console
from httpbed.results.findings import Findings, find
from httpbed.store.layout import FIGURES, REPORT
from httpbed.store.results import Results


def report(
    results: Results,
    findings: Findings | None = None,
    path: Path | None = None,
    *,
    every_trial: bool = False,
) -> Path:
    """Write the HTML report, by default into the campaign, and its figures; return its path.

    The report appears whole or not at all; figures go to the folder ``figures`` beside it. With
    ``every_trial``, all trials are drawn over time.
    """
    findings = findings or find(results)
    write = whole_file.write if path else whole_file.put
    path = path or results.directory / REPORT
    plots = figures.plots(findings, results.document)
    over_time = timelines.plots(findings, results)
    pages = section.make(findings, results)
    own = declared.make(results)
    series = time_series.make(findings, results, every_trial=every_trial)
    text = html.render(results, findings, plots, html.SectionFigures(over_time, pages, own, series))
    folder = path.parent / FIGURES
    for plot in [*plots, *over_time, *series.plots]:
        plot.save(folder)
    own.save(folder)
    if pages is not None:
        pages.save(folder)
    write(path, text.encode())
    return path


def one(results: Results, trial: Timeline | PageTrial) -> list[Path]:
    """Write the figures of one trial, as SVG and PDF; return what was written."""
    plots = one_load.plots(trial) if isinstance(trial, PageTrial) else one_trial.plots(trial)
    for plot in plots:
        plot.save(results.directory / FIGURES)
    folder = results.directory / FIGURES
    return [folder / f"{plot.name}.{kind}" for plot in plots for kind in ("svg", "pdf")]


def show(
    results: Results,
    path: Path | None,
    findings: Findings | None = None,
    out: Console | None = None,
) -> None:
    """Print table, answer, evidence and notes; the last line is the report's ``path``."""
    terminal_table.show(results, findings or find(results), path, out or terminal.console())


def in_markdown(results: Results, findings: Findings) -> str:
    """Return the report as Markdown."""
    return markdown.document(results, findings)


def summary(
    results: Results, path: Path | None, findings: Findings | None = None
) -> Mapping[str, Any]:
    """Return the report as JSON values."""
    return summaries.summary(results, findings or find(results), path)


def invalid_remain(results: Results, findings: Findings | None = None) -> bool:
    """Whether a trial has no valid attempt."""
    return (findings or find(results)).tally.outcomes["invalid"] > 0
