"""The report on a terminal: table, answer, evidence and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpbed.addons.claims import claims_section_report as claims_section
from httpbed.addons.handover import handovers_report as handovers
from httpbed.base.errors import visible
from httpbed.experiment.check import LATENESS
from httpbed.report import (
    access,
    levels,
    network,
    roles,
    terminal,
    terminal_columns,
    terminal_matrix,
)
from httpbed.report.answer import answer
from httpbed.report.manifest import archived_tables, certificate, clock, under_test
from httpbed.report.notes import notes
from httpbed.report.phrasing import listed
from httpbed.report.terminal import Console
from httpbed.results.evidence import CheckSummary
from httpbed.results.findings import Findings
from httpbed.store.results import Results

KEY_WIDTH = 9
INDENT = 1
"""Of the table."""
EACH_CLAIM = "httpbed claims DIR shows each of them"


def show(results: Results, findings: Findings, report: Path | None, out: Console) -> None:
    """Print findings; the report's path, if there is one, is the last line."""
    proof = [*evidence(findings), *handovers.evidence(findings), certificate(results.manifest)]
    sentences = answer(findings, results.document, with_link=False)
    counted = claims_section.counted(findings.claims)
    texts = [("claims", f"{counted}; {EACH_CLAIM}")] if counted else []
    texts += [("answer", str(replace(sentence, evidence=""))) for sentence in sentences]
    texts += [("evidence", "; ".join(proof))]
    texts += [("note", line) for line in notes(findings, results)]
    found = terminal_columns.fitted(findings, out.width - INDENT)
    if found.left_out:
        texts.append(("columns", _for_want_of_room(found.left_out, out.width)))
    tables = [found.table]
    if cells := terminal_matrix.fitting(findings, results.experiment.report, out.width - INDENT):
        tables += ["", *cells]
    table = Padding(Group(*tables), (0, 0, 0, INDENT))
    parts = (_facts(_heading(results)), "", table, "", _facts(texts))
    terminal.show(out, parts)
    if report is not None:
        out.print(Text(f"{'report':<{KEY_WIDTH}}  {report}"), soft_wrap=True)


def _for_want_of_room(names: Sequence[str], width: int) -> str:
    return (
        f"{listed(names)} left out, because {width} columns have no room for it; a wider terminal"
        " and the HTML report show it"
    )


def evidence(findings: Findings) -> list[str]:
    """Sum up validity in a line: how many trials are valid, and what each check found."""
    kept, valid = len(findings.invalid), findings.tally.recorded
    trials, attempts = f"trial{'s' * (valid != 1)}", f"attempt{'s' * (kept != 1)}"
    texts = [f"{valid} {trials} valid, {kept} invalid {attempts} kept aside"]
    texts += [_passed(check) for check in findings.checks if check.failed]
    unseen = [one for one in findings.checks if one.not_observed and not one.failed]
    texts += _listed("passed where observed", [_seen_in(one) for one in unseen if one.passed])
    texts += _listed("never observed", [one.name for one in unseen if not one.passed])
    # Directions, hops and parts have checks of their own: told once, where all of them passed.
    broken = {check.kind for check in findings.checks if check.passed != check.total}
    kinds = dict.fromkeys(check.kind for check in findings.checks)
    names = [kind for kind in kinds if kind not in broken]
    texts += _listed("passed in all", names)
    return ["; ".join([*texts, *_lateness(findings)])]


def _listed(what: str, names: list[str]) -> list[str]:
    """List names of checks; a comma in a name would look like the end of it."""
    whole = [name.replace(", ", ": ") for name in names]
    return [f"{what}: {', '.join(whole)}"] if names else []


def _seen_in(check: CheckSummary) -> str:
    return f"{check.name} ({check.passed} of {check.total})"


def _passed(check: CheckSummary) -> str:
    text = f"{check.name} {check.passed}/{check.total}"
    return f"{text} ({check.not_observed} not observed)" if check.not_observed else text


def _lateness(findings: Findings) -> Iterator[str]:
    for check in findings.checks:
        if check.check == LATENESS.id and check.measured is not None:
            yield f"{check.name} at most p99 {check.measured * 1e6:.0f} us"


def _heading(results: Results) -> list[tuple[str, str]]:
    found = [("question", results.experiment.question)]
    found += [("clock", line) for line in [clock(results.manifest)] if line]
    found += [("tables", line) for line in [archived_tables(results)] if line]
    found += [("link", line) for line in network.sentences(results.document)]
    found += [("hand-over", line) for line in [access.line(results.document)] if line]
    found += [("levels", levels.line(legend)) for legend in levels.legends(results.document)]
    found += [("competes", line) for line in roles.competitors(results.document)]
    found += [("left out", line) for line in levels.left_out(results.experiment)]
    programs = [f"{one.name} {one.version}".strip() for one in under_test(results.manifest)]
    return [*found, ("programs", ", ".join(programs))] if programs else found


def _facts(lines: list[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=KEY_WIDTH, no_wrap=True, style="dim")
    grid.add_column()
    for key, line in lines:
        grid.add_row(key, Text(visible(line)))
    return grid
