"""The report of a campaign, built once and rendered as the verbs ask."""

from __future__ import annotations

from pathlib import Path

from httpbed.base import whole_file
from httpbed.report import html, markdown, sections, terminal, terminal_report
from httpbed.report.document import ReportInput
from httpbed.report.sections import Document
from httpbed.report.terminal import Console
from httpbed.results.findings import Findings, find
from httpbed.store.layout import FIGURES, REPORT
from httpbed.store.results import Results


def document(
    results: Results,
    findings: Findings | None = None,
    *,
    draws: bool = True,
    every_trial: bool = False,
) -> Document:
    """Build the report, with figures if it ``draws``; ``every_trial`` draws all over time."""
    source = ReportInput(results, findings or find(results), draws, every_trial)
    return sections.document(source)


def save(document: Document, directory: Path, path: Path | None = None) -> Path:
    """Write the HTML report, by default into the campaign, and its figures; return its path.

    The report appears whole or not at all; figures go to the folder ``figures`` beside it.
    """
    write = whole_file.write if path else whole_file.put
    path = path or directory / REPORT
    text = html.render(document)
    folder = path.parent / FIGURES
    for section in document.sections:
        for plot in section.figures():
            plot.save(folder)
        for name, data in section.files.items():
            folder.mkdir(parents=True, exist_ok=True)
            whole_file.put(folder / name, data)
    write(path, text.encode())
    return path


def show(document: Document, path: Path | None, out: Console | None = None) -> None:
    """Print table, answer, evidence and notes; the last line is the report's ``path``."""
    terminal_report.show(document, path, out or terminal.console())


def in_markdown(results: Results, findings: Findings) -> str:
    """Return the report as Markdown."""
    return markdown.render(document(results, findings, draws=False))
