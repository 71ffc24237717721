"""``httpbed doctor calibrate``: compare the link with arithmetic, and certify what passes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.table import Table
from rich.text import Text

from httpbed.addons.calibration import certificate
from httpbed.addons.calibration.cell import SCALES, Finding, Scale, about
from httpbed.base import units
from httpbed.base.errors import require_none
from httpbed.bed.machine import backend as backends
from httpbed.bed.machine.backend import Backend
from httpbed.bed.toolbox import root_filesystem
from httpbed.cli import options, output_file
from httpbed.cli.echo import echo
from httpbed.cli.options import PATH, OneOf
from httpbed.cli.progress import LiveBar
from httpbed.cli.verb import verb
from httpbed.report import terminal
from httpbed.report.terminal import Console

if TYPE_CHECKING:  # it imports numpy, which only judging needs
    from httpbed.addons.calibration.session import Progress, Verdict

SEED = 3
"""Seed of all cells. Every share lies within three standard errors, so none fails by chance."""
WIDTH_WITHOUT_TERMINAL = 120


@verb("calibrate")
@click.option(
    "--scale",
    type=OneOf(SCALES),
    default="standard",
    show_default=True,
    help=f"smoke: does the link work at all ({about('smoke')}); standard: before measurements"
    f" ({about('standard')}); full: more values, longer flows ({about('full')}).",
)
@click.option(
    "--keep",
    type=PATH,
    metavar="DIR",
    help="Keep every cell's evidence in DIR, which must not exist.",
)
@options.link_backend_option
@options.json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    scale: Scale,
    keep: Path | None,
    backend: Backend | None,
    as_json: bool,
) -> None:
    """Compare the emulated link with arithmetic, and certify the conditions that pass.

    Use it once on every machine that measures, while it is quiet, and again after a change of the
    kernel or of httpbed. It sends known packets through real namespaces and the real emulator. It
    compares rates, delays, losses and queues with arithmetic, packet by packet where possible.
    Campaigns on this machine cite the certificate; `httpbed run --strict` rejects conditions that
    it does not cover.

    Exit codes: 0 every cell passed; 1 some failed; 2 usage; 3 this machine cannot.
    """
    # Judging imports numpy, which --help does without.
    from httpbed.addons.calibration import cells, session
    from httpbed.addons.calibration.cell_runner import Bench

    chosen = cells.all_cells(scale)
    require_none(output_file.new_folder_mistakes("--keep", keep))
    load = os.getloadavg()[0]
    with _Reporter(len(chosen)) as reporter:
        bench = Bench(_root(), SEED, backends.choose(backend))
        run = session.calibrate(chosen, bench, tell=reporter.report, keep=keep)
        verdicts = asyncio.run(run)
    written = certificate.write(verdicts, scale, backend=bench.backend, load_before=load)
    if as_json:
        echo(json.dumps(_summary(verdicts, scale, written), indent=1))
    else:
        show(verdicts, written, _console())
    context.exit(0 if all(verdict.passed for verdict in verdicts) else 1)


def _root() -> Path:
    """Return the root filesystem with ip and ethtool; build it if necessary."""
    return root_filesystem.ensure(root_filesystem.TOOLS, say=lambda line: echo(line, err=True)).path


def _summary(verdicts: Sequence[Verdict], scale: str, written: Path) -> dict[str, Any]:
    return {
        "schema": 1,
        "scale": scale,
        "passed": all(verdict.passed for verdict in verdicts),
        "certificate": str(written),
        "cells": [verdict.as_json() for verdict in verdicts],
    }


def _console() -> Console:
    """Return a console of the terminal's width, or of a fixed width without a terminal."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_WITHOUT_TERMINAL)


def show(verdicts: Sequence[Verdict], written: Path, console: Console) -> None:
    """Print expected and achieved figures, and failures with their reasons."""
    figures = ("expected", "achieved", "tolerance")
    table = terminal.grid(("cell", "", *figures, ""), figures)
    for verdict in verdicts:
        _rows(table, verdict)
    console.print(table)
    console.print(Text("\n".join(_failures(verdicts))))
    console.print(Text(_closing(verdicts, written)))


def _failures(verdicts: Sequence[Verdict]) -> list[str]:
    return [
        f"{verdict.cell}: {finding.what}: {finding.reason}"
        for verdict in verdicts
        for finding in verdict.findings
        if not finding.passed
    ]


def _rows(table: Table, verdict: Verdict) -> None:
    if verdict.broken:
        table.add_row(Text(verdict.cell), Text(verdict.broken), "", "", "", Text("BROKEN", "red"))
    name = verdict.cell
    for finding in _rows_of_interest(verdict.findings):
        mark = Text("ok", "green") if finding.passed else Text("FAILED", "red")
        figures = (_figure(finding, finding.expected), _achieved(finding), _tolerance(finding))
        table.add_row(Text(name), Text(finding.what), *map(Text, figures), mark)
        name = ""


def _rows_of_interest(findings: Sequence[Finding]) -> list[Finding]:
    """Leave findings out that must be zero and are, unless the cell has no others."""
    plain = [finding for finding in findings if not finding.passed or finding.tolerance]
    return plain or list(findings[:1])


def _achieved(finding: Finding) -> str:
    if finding.achieved is None:
        return "not measured"
    return _figure(finding, finding.achieved)


def _tolerance(finding: Finding) -> str:
    if finding.tolerance == 0:
        return "exact"
    if finding.unit == "bit/s" and finding.expected:
        return units.format_share(finding.tolerance / finding.expected, 2)
    return _figure(finding, finding.tolerance)


def _figure(finding: Finding, value: float) -> str:
    if finding.unit == "bit/s":
        return units.format_rate(value)
    if finding.unit == "s":
        return units.format_duration(round(value, 7))
    if finding.unit == "1":
        return units.format_share(value)
    return f"{value:.4g} {finding.unit}"


def _closing(verdicts: Sequence[Verdict], written: Path) -> str:
    failed = sum(not verdict.passed for verdict in verdicts)
    late = max((verdict.lateness_p99_s or 0.0 for verdict in verdicts), default=0.0)
    classes = ", ".join(sorted({verdict.scheduling for verdict in verdicts if verdict.scheduling}))
    passed = f"{len(verdicts) - failed} of {len(verdicts)} cells passed"
    ran = f"the emulator ran as {classes or 'nothing'}"
    lines = [f"{passed}; {ran}, its p99 lateness was at most {units.format_duration(late)}"]
    lines.append(f"certificate: {written}")
    if failed:
        lines.append("failed cells are not covered; a quiet machine and real-time priority help")
    return "\n".join(lines)


class _Reporter(LiveBar):
    """Prints progress: a bar on a terminal, else a line per cell."""

    def __init__(self, total: int) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        super().__init__(*columns, description="", total=total)

    def report(self, progress: Progress) -> None:
        """Print the start or end of one cell."""
        if self.is_live:
            self.show(progress.done, f"{progress.cell}, about {progress.left_s:.0f} s left")
        elif progress.verdict is not None:
            mark = "passed" if progress.verdict.passed else "FAILED"
            number = f"{progress.done} of {progress.total}"
            echo(f"{number}: {progress.cell}: {mark}", err=True)
