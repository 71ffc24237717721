"""A campaign's report as tests want it: as text, or written."""

from __future__ import annotations

from pathlib import Path

from httpbed.report import notes as report_notes
from httpbed.report import publish, terminal_report
from httpbed.report.document import ReportInput
from httpbed.report.terminal import Console
from httpbed.results.findings import Findings
from httpbed.store.results import Results


def page(results: Results, findings: Findings | None = None, *, draws: bool = False) -> str:
    """Return the HTML report, with its figures if it ``draws``."""
    return publish.in_html(publish.document(results, findings, draws=draws))


def saved(
    results: Results,
    findings: Findings | None = None,
    path: Path | None = None,
    *,
    as_pdf: bool = False,
) -> Path:
    """Write the HTML report and its figures; return its path."""
    document = publish.document(results, findings)
    return publish.save(document, results.directory, path, as_pdf=as_pdf)


def show(results: Results, findings: Findings, path: Path | None, out: Console) -> None:
    """Print the report."""
    terminal_report.show(publish.document(results, findings, draws=False), path, out)


def notes(results: Results, findings: Findings) -> list[str]:
    """Return the report's notes."""
    return report_notes.notes(ReportInput(results, findings))
