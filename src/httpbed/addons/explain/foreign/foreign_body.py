"""Explains a file of somebody else's, prints the answer, and writes the experiment for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from httpbed.addons.explain import explain_report
from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.explanation import Explained, Unexplained, explained
from httpbed.addons.explain.foreign import evidence_file, reproduction, requests
from httpbed.addons.explain.foreign.evidence_file import Evidence, size_text, time_text
from httpbed.addons.explain.foreign.one_sided import Side
from httpbed.base import disk
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli.echo import echo
from httpbed.programs.catalog import Catalog
from httpbed.report import markdown, terminal, terminal_report
from httpbed.report.document import Column, Facts, Listing, Section, Table
from httpbed.report.phrasing import Sentence
from httpbed.report.sections import Document

MAX_LINES = 20
"""Connections or requests that are listed; more are counted."""


def run(
    path: Path,
    catalog: Catalog,
    *,
    chosen: str | None,
    side: Side | None,
    experiment: Path | None,
    form: str,
) -> None:
    """Explain a file.

    :raises ConfigError: when it cannot be read, or nothing of it can be explained.
    """
    evidence = _read(path, catalog, chosen, side)
    known = explained(evidence.found)
    if not known:
        raise ConfigError(
            Mistake(str(path), f"{one.trial}: {one.reason}")
            for one in evidence.found
            if isinstance(one, Unexplained)
        )
    written = ""
    if experiment is not None:
        text, lacks = reproduction.text(known[0], evidence, path.name)
        if experiment.exists():
            raise ConfigError([Mistake("--experiment", f"{experiment} is there already")])
        disk.write_output(experiment, text.encode())
        written = f"{experiment} is written: httpbed run {experiment}"
        evidence = Evidence(
            evidence.kind,
            evidence.unit,
            evidence.lines,
            evidence.found,
            (*evidence.notes, *lacks, written),
        )
    shown = _Shown(path, evidence)
    if form == "json":
        echo(json.dumps(shown.values()))
    elif form == "markdown":
        echo(markdown.render(shown.document()), nl=False)
    else:
        terminal_report.show(shown.document(), None, terminal.console())


def _read(path: Path, catalog: Catalog, chosen: str | None, side: Side | None) -> Evidence:
    kind = evidence_file.kind_of(path)
    if side and kind != "capture":
        raise ConfigError([Mistake("--side", f"a {kind} says whose it is")])
    if kind == "capture":
        return evidence_file.of_capture(path, catalog, chosen, side)
    if kind == "qlog":
        from httpbed.addons.explain.foreign import qlog

        return qlog.read(path, catalog, chosen)
    return requests.read(path, kind, chosen)


@dataclass(frozen=True)
class _Shown:
    path: Path
    found: Evidence

    def document(self) -> Document:
        """Return it as a document."""
        known = explained(self.found.found)
        answers = tuple(_answers(known))
        return Document(
            name=self.path.name,
            question="Why did it take so long?",
            httpbed=version("httpbed"),
            started="",
            clock="",
            programs=(),
            heading=Facts((("evidence", f"{self.path.name}, a {self.found.kind}"), *self._lines())),
            treatments=explain_report.table(known),
            matrix=None,
            matrix_title="",
            answer=answers,
            notes=tuple(self.found.notes),
            evidence=tuple(_evidence(known)),
            sections=(
                Section("answer", "", (Listing(answers, "answer"),), in_contents=""),
                Section("division", "Where the time went", (explain_report.details(known),)),
                Section("list", f"Every {self.found.unit}", (self._table(),)),
            ),
        )

    def _lines(self) -> Iterator[tuple[str, str]]:
        lines = self.found.lines
        for number, one in enumerate(lines[:MAX_LINES], start=1):
            what = f"{one.protocol}, {size_text(one.amount)}, {time_text(one.lasts)}"
            yield ("has" if number == 1 else "", f"{number:3} {one.name}: {what}")
        if len(lines) > MAX_LINES:
            yield "", f"and {len(lines) - MAX_LINES} more"

    def _table(self) -> Table:
        lines = self.found.lines[:MAX_LINES]
        columns = (
            Column.of(self.found.unit, (one.name for one in lines), is_name=True),
            Column.of("protocol", (one.protocol for one in lines)),
            Column.of("bytes", (size_text(one.amount) for one in lines), right=True),
            Column.of("time", (time_text(one.lasts) for one in lines), right=True),
        )
        return Table("List", f"Every {self.found.unit}", columns)

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "schema": 1,
            "file": self.path.name,
            "kind": self.found.kind,
            f"{self.found.unit}s": [
                {
                    "name": one.name,
                    "protocol": one.protocol,
                    "server_bytes": one.amount,
                    "seconds": one.lasts / evidence_file.NS,
                }
                for one in self.found.lines[: 50 * MAX_LINES]
            ],
            "explained": [
                {
                    **one.values(),
                    "remarks": list(one.transfer.remarks),
                    "link": {
                        "rate_bit_s": one.transfer.path.rate_bit_s,
                        "round_trip_s": one.transfer.path.round_trip_ns / evidence_file.NS,
                    },
                }
                for one in explained(self.found.found)
            ],
            "causes": {name: cause.meaning for name, cause in BY_NAME.items()},
            "notes": list(self.found.notes),
        }


def _answers(known: list[Explained]) -> Iterator[Sentence]:
    for one in known:
        yield Sentence(". ".join(one.sentences()))


def _evidence(known: list[Explained]) -> Iterator[str]:
    for one in known:
        packets = len(one.transfer.data) + len(one.transfer.answers)
        count = [f"{packets} packets"] if packets else []
        yield f"{one.trial}: {'; '.join([*count, *one.transfer.remarks])}"
