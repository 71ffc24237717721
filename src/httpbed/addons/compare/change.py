"""What a comparison says after its run: the report, the change of a build, the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from httpbed.addons.compare import regression
from httpbed.addons.compare.regression import GateVerdict, TreatmentChange
from httpbed.base.errors import visible
from httpbed.cli import run
from httpbed.cli.echo import echo, say
from httpbed.report import publish, terminal, terminal_report
from httpbed.report.phrasing import few, listed, whole_treatment
from httpbed.results import selection
from httpbed.results.comparison import EQUAL_MARGIN
from httpbed.results.findings import Findings, find
from httpbed.store import query


def report(directory: Path, form: str) -> int:
    """Print the report of a comparison, and return the exit code."""
    return _exit_code(run.report(directory, form))


def report_change(directory: Path, form: str, fail_above: float | None) -> int:
    """Print what the new build changed, beside the report, and return the exit code.

    Args:
        directory: The campaign, which ran both builds.
        form: One of ``options.FORMATS``; Markdown has the change alone.
        fail_above: The share by which a treatment may be worse; None: the change fails nothing.
    """
    results = query.read(directory)
    findings = find(results)
    margin = EQUAL_MARGIN if fail_above is None else fail_above
    metric = findings.metric
    changes = regression.compare_builds(results, metric, margin)
    verdict: GateVerdict = "refused" if findings.selected else regression.verdict(changes)
    last = _closing(verdict, findings, changes)
    if form == "text":
        out = terminal.console()
        terminal_report.show(publish.document(results, findings, draws=False), None, out)
        regression.show(changes, metric, out)
        echo(last)
    document = publish.document(results, findings)
    path = publish.save(document, directory)
    if form == "json":
        change = {**regression.values(changes, metric, margin), "verdict": verdict}
        values = {**publish.summary(results, findings, path), "change": change}
        echo(json.dumps(values, indent=1))
    elif form == "markdown":
        question = results.experiment.question
        text = regression.in_markdown(question, changes, metric, document.notes, last)
        echo(text, nl=False)
    else:
        terminal_report.show_path(path, terminal.console())
    fails = fail_above is not None and verdict in {"regression", "refused"}
    return 1 if fails else _exit_code(findings)


def _closing(verdict: GateVerdict, findings: Findings, changes: tuple[TreatmentChange, ...]) -> str:
    match verdict:
        case "refused":
            arms = "; ".join(map(selection.in_words, findings.selected))
            return visible(f"change: refused: {arms}")
        case "regression":
            return f"change: regression: {listed(regression.causes(changes))}"
        case "inconclusive":
            return "change: inconclusive: the blocks cannot exclude a regression"
    return "change: pass"


def _exit_code(findings: Findings) -> int:
    """Return 1 if a treatment has no result, else as every run does."""
    lacking = list(_without_result(findings))
    if lacking and not run.every_trial_failed(findings.tally):
        say(f"no result: {'; '.join(few(lacking, 'treatments'))}")
    return 1 if lacking else run.exit_code(findings.tally)


def _without_result(findings: Findings) -> Iterator[str]:
    for _, row in findings.rows():
        if row.estimate is None:
            yield whole_treatment(row.levels)
