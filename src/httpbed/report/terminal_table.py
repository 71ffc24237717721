"""The report on a terminal: table, answer, evidence and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpbed.analysis.evidence import CheckSummary
from httpbed.analysis.findings import Condition, Findings, Row
from httpbed.experiment.check import LATENESS
from httpbed.experiment.errors import visible
from httpbed.experiment.metric import METRICS
from httpbed.report import access, handovers, levels, network, roles
from httpbed.report.answer import answer
from httpbed.report.manifest import certificate, under_test
from httpbed.report.notes import notes
from httpbed.report.pages import bands
from httpbed.report.phrasing import (
    DASH,
    base_name,
    ceiling,
    coverage,
    done,
    goodput_number,
    open_word,
    ratio_interval,
    ratio_text,
    shared,
    table_format,
    title,
)
from httpbed.report.terminal import Console
from httpbed.store.results import Results

KEY_WIDTH = 9


@dataclass(frozen=True)
class _Column:
    """A column of the main table."""

    header: str
    right: bool
    cells: list[Text]
    spare: int = 0
    """Above 0: may be left out where the terminal is narrow, the largest first."""


def show(results: Results, findings: Findings, report: Path | None, out: Console) -> None:
    """Print findings; the report's path, if there is one, is the last line."""
    proof = [*evidence(findings), *handovers.evidence(findings), certificate(results.manifest)]
    sentences = answer(findings, results.document, with_link=False)
    texts = [("answer", f"{sentence.text}.") for sentence in sentences]
    texts += [("evidence", "; ".join(proof))]
    texts += [("note", line) for line in notes(findings, results)]
    parts = (_facts(_heading(results)), "", _fitting(findings, out), "", _facts(texts))
    if out.is_terminal:
        out.print(*parts, sep="\n")
    else:
        _print_unpadded(out, parts)
    if report is not None:
        out.print(Text(f"{'report':<{KEY_WIDTH}}  {report}"), soft_wrap=True)


def _print_unpadded(out: Console, parts: Iterable[RenderableType]) -> None:
    """Print without the blanks at the ends of lines, which only a terminal hides."""
    with out.capture() as captured:
        out.print(*parts, sep="\n")
    for line in captured.get().splitlines():
        out.print(Text.from_ansi(line.rstrip()), soft_wrap=True)


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
    return [f"{what}: {', '.join(names)}"] if names else []


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


def _fitting(findings: Findings, out: Console) -> Padding:
    """Leave out spare columns until the table fits; the others may wrap."""
    columns = list(_columns(findings))
    while True:
        made = Padding(_table(columns), (0, 0, 0, 1))
        needed = Measurement.get(out, out.options.update(width=10_000), made).maximum
        spare = max((column.spare for column in columns), default=0)
        if needed <= out.width or not spare:
            return made
        columns = [column for column in columns if column.spare != spare]


def _table(columns: list[_Column]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(Text(column.header), justify=justify, overflow="fold")
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _columns(findings: Findings) -> Iterator[_Column]:
    rows = list(findings.rows())
    scale = table_format(findings)
    yield from _names(findings)
    yield _Column("n", True, [Text(str(row.sample.n)) for _, row in rows])
    yield _Column(
        title(findings.metric),
        True,
        [Text(scale.bounded(e.median) if (e := row.estimate) else DASH, "bold") for _, row in rows],
    )
    estimates = [row.estimate for _, row in rows]
    covered = coverage(e.interval for e in estimates if e)
    intervals = [scale.interval(e.interval if e else None) for e in estimates]
    yield _Column(
        f"interval\n{covered}".strip(), False, [Text(text) for text in intervals], spare=1
    )
    if any(row.ratio for _, row in rows):
        yield from _ratio_columns(findings)
    if findings.metric != "goodput" and any(row.goodput for _, row in rows):
        yield _goodput_column(rows)
    yield from _fairness(findings)
    for column in (*handovers.brief(findings), *bands.brief(findings)):
        yield _Column(column.header, column.right, [Text(visible(cell)) for cell in column.cells])
    yield _Column("done", True, [_done(row) for _, row in rows])


def _names(findings: Findings) -> Iterator[_Column]:
    rows = list(findings.rows())
    if findings.network:
        first = {id(condition.rows[0]) for condition in findings.conditions}
        labels = [
            ", ".join(condition.levels.values()) if id(row) in first else ""
            for condition, row in rows
        ]
        header = ", ".join(title(name) for name in findings.network)
        yield _Column(header, False, [Text(visible(label)) for label in labels])
    for name in findings.others:
        header = "http" if name == "http_version" else title(name)
        yield _Column(header, False, [Text(visible(row.levels[name])) for _, row in rows])


def _ratio_columns(findings: Findings) -> Iterator[_Column]:
    rows = [row for _, row in findings.rows()]
    header = f"against {base_name(findings).replace('HTTP/', 'H')}"
    yield _Column(header, False, [_ratio(findings.metric, row) for row in rows])
    covered = coverage(row.ratio.interval for row in rows if row.ratio)
    spread = [Text(ratio_interval(row.ratio.interval) if row.ratio else "") for row in rows]
    yield _Column(f"interval\n{covered}".strip(), False, spread, spare=2)


def _ratio(metric: str, row: Row) -> Text:
    if row.is_base:
        return Text("base", "dim")
    if row.ratio is None:
        return Text(DASH)
    text = ratio_text(row.ratio.median)
    judgement = row.ratio.judgement
    if judgement in {"equal", "open"}:
        why = "equal" if judgement == "equal" else open_word(row.ratio)
        return Text(f"{text} ({why})", "dim")
    better = METRICS[metric].better
    improved = better == ("lower" if judgement == "less" else "higher")
    return Text(text, "" if better == "neither" else "green" if improved else "yellow")


def _goodput_column(rows: list[tuple[Condition, Row]]) -> _Column:
    ceilings = {ceiling(row) for _, row in rows}
    differ = len(ceilings) > 1
    cells = []
    for _, row in rows:
        text = goodput_number(row.goodput, row.ceiling_bit_s, 1) if row.goodput else DASH
        cells.append(Text(f"{text} {ceiling(row)}" if differ and row.goodput else text))
    header = "goodput" if differ else "\n".join(["goodput", *ceilings])
    return _Column(header, False, cells, spare=3)


def _fairness(findings: Findings) -> Iterator[_Column]:
    """Yield the fairness columns, where clients compete."""
    for name, cells in shared(findings).items():
        if name != findings.metric:
            yield _Column(title(name), True, [Text(cell) for cell in cells])


def _done(row: Row) -> Text:
    return Text(done(row), "" if row.tally.completed == row.tally.planned else "yellow")
