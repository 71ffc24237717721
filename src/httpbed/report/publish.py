"""The report of a campaign, built once and rendered as the verbs ask."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup

from httpbed.base import disk
from httpbed.experiment.metric import METRICS
from httpbed.report import notes, sections, svg, templating, terminal, terminal_report
from httpbed.report.answer import answer
from httpbed.report.document import ReportInput
from httpbed.report.sections import Document
from httpbed.results.findings import EXTENSIONS, Findings, Row, find
from httpbed.store.layout import FIGURES, REPORT
from httpbed.store.results import Results

SCRIPT = "sort.js"


def document(results: Results, findings: Findings | None = None, *, draws: bool = True) -> Document:
    """Build the report, with figures if it ``draws``."""
    return sections.document(ReportInput(results, findings or find(results), draws))


def save(
    document: Document,
    directory: Path,
    path: Path | None = None,
    *,
    name: str = REPORT,
    as_pdf: bool = False,
) -> Path:
    """Write the HTML report and its figures; return its path.

    Without a ``path`` of the user's it goes into the campaign, by its ``name``.

    The report appears whole or not at all; figures go to the folder ``figures`` beside it.
    ``as_pdf`` writes them as PDF, too, which takes as long as the rest of the report.
    """
    write = disk.write_output if path else disk.write_beside
    path = path or directory / name
    text = in_html(document)
    folder = path.parent / FIGURES
    for section in document.sections:
        for plot in section.figures():
            plot.save(folder, as_pdf=as_pdf)
    write(path, text.encode())
    return path


def show_and_save(
    results: Results,
    findings: Findings,
    path: Path | None = None,
    *,
    as_pdf: bool = False,
) -> None:
    """Print the report, then draw and write the HTML report, whose path is the last line.

    On a busy machine drawing takes most of a minute, and the answer does not need it.
    """
    source, out = ReportInput(results, findings, draws=False), terminal.console()
    terminal_report.show(sections.document(source), None, out)
    drawn = replace(source, draws=True)
    written = save(sections.document(drawn), results.directory, path, as_pdf=as_pdf)
    terminal_report.show_path(written, out)


def in_html(document: Document) -> str:
    """Return the report as one HTML page that needs nothing else: no network and no font.

    Its one script sorts tables. A policy in the page allows that script by its digest. It allows no
    other script and no address, so a name from a server or a file can neither run nor load
    anything.
    """
    script = (resources.files(__package__) / "templates" / SCRIPT).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return templating.render(
        "report.html.j2",
        report=document,
        svg=svg.inline,
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=f"sha256-{digest}",
    )


def summary(results: Results, findings: Findings, report: Path | None) -> dict[str, Any]:
    """Return findings ready for :func:`json.dumps`; censored figures carry ``beyond``."""
    beside = [extension.values(results, findings) for extension in EXTENSIONS.provided()]
    return {
        "schema": 1,
        "name": results.experiment.name,
        "question": results.experiment.question,
        "clock": results.manifest.get("clock", "real"),
        "metric": findings.metric,
        "unit": METRICS[findings.metric].unit,
        "base": dict(findings.base),
        "answer": [str(sentence) for sentence in answer(findings, results.document)],
        "treatments": [
            {key: value for part in (_treatment(row), *more) for key, value in part.items()}
            for (_, row), *more in zip(findings.rows(), *beside, strict=True)
        ],
        "trials": findings.tally.values(),
        "checks": [asdict(check) for check in findings.checks],
        "invalid_attempts": [
            {**asdict(attempt), "levels": dict(attempt.levels)} for attempt in findings.invalid
        ],
        "notes": notes.notes(ReportInput(results, findings)),
        "report": None if report is None else str(report),
    }


def _treatment(row: Row) -> dict[str, Any]:
    return {
        "levels": dict(row.levels),
        "is_base": row.is_base,
        "estimate": row.estimate and row.estimate.values(),
        "ratio": row.ratio and row.ratio.values(),
        "goodput_bit_s": row.goodput and asdict(row.goodput),
        "ceiling_bit_s": row.ceiling_bit_s,
        "ceiling_changes": row.ceiling_changes,
        "time_limit_s": row.limit_s,
        "not_observed": row.sample.not_observed,
        "trials": row.tally.values(),
    }
