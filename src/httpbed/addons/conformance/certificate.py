"""What a test found, as one value; the page and other files that prove it.

A certificate is the campaign folder of a test with these files. In virtual time the same command
gives the same packets, so ``sha256sum -c`` of the digests, in the folder of a repetition, compares
every trial byte by byte.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from httpbed.addons.conformance.judgement import ConformanceEvidence
from httpbed.report import markdown as written
from httpbed.report import svg, templating, terminal
from httpbed.report.figures import Plot
from httpbed.report.terminal import Console
from httpbed.store import campaign as campaigns
from httpbed.store.layout import DESIGN, EXPERIMENT

PAGE, MARKDOWN, RECORD = "conformance.html", "conformance.md", "conformance.json"
DIGESTS = "digests.sha256"
"""As ``sha256sum`` reads it: the experiment, its trials, and each trial's packet log."""
TEMPLATE = "conformance.html.j2"


@dataclass(frozen=True)
class Row:
    """A row of the table, whose last cell may be a verdict."""

    cells: Sequence[str]
    tone: str = ""
    """Class of the last cell in HTML."""
    style: str = ""
    """Style of the last cell on a terminal."""


@dataclass(frozen=True)
class Certificate:
    """What a test found: terminal, page and Markdown only lay it out."""

    sender: str
    question: str
    answer: str
    """A sentence without its capital and its full stop."""
    columns: Sequence[str]
    right: Collection[str]
    """The columns that have figures."""
    caption: str
    rows: Sequence[Row]
    notes: Sequence[str]
    evidence: ConformanceEvidence
    plots: Callable[[], Iterable[Plot]]
    """Draws the figures of the page, which takes seconds."""
    delivered: str = ""
    """How long short transfers take."""
    begins_with_answer: bool = False
    """Whether a terminal shows the answer above the table, in place of the question."""

    def show(self, out: Console, **files: Path | None) -> None:
        """Print the table, what it rests on, and the files that were written."""
        first = ("answer", self.answer) if self.begins_with_answer else ("question", self.question)
        terminal.show_facts([("sender", self.sender), first], out)
        out.print()
        if self.rows:
            table = terminal.grid(self.columns, self.right, gap=3)
            for row in self.rows:
                *texts, last = row.cells
                table.add_row(*map(Text, texts), Text(last, row.style))
            out.print(table)
            out.print()
        closing = [] if self.begins_with_answer else [("outcome", self.answer)]
        closing += [("note", note) for note in self.notes]
        if self.delivered:
            closing.append(
                ("short", f"delivered, from the client's first packet: {self.delivered}")
            )
        closing += [(kind, str(path)) for kind, path in files.items() if path]
        terminal.show_facts(closing, out)

    def html(self) -> str:
        """Render the page."""
        return templating.render(
            TEMPLATE,
            __package__,
            test=self,
            rows=[([*zip(self.columns, row.cells, strict=True)], row.tone) for row in self.rows],
            plots=[(plot.caption, svg.inline(plot)) for plot in self.plots()],
            httpbed=self.evidence.manifest.get("httpbed", ""),
            repetition=self.repetition,
        )

    def markdown(self) -> str:
        """Write the page as Markdown, without its plots."""
        rows = (tuple(map(written.escaped, row.cells)) for row in self.rows)
        answer = self.answer[:1].upper() + self.answer[1:]
        command = self.evidence.command
        origin = f"Made by {written.escaped(command)}. " if command else ""
        lines = [
            f"# {written.escaped(self.question)}",
            "",
            f"{written.escaped(self.sender)}. {written.escaped(answer)}.",
            "",
            *written.table(self.columns, [name in self.right for name in self.columns], rows),
            "",
            *(f"- {written.escaped(note)}" for note in self.notes),
            "",
            f"{origin}{self.repetition}.",
        ]
        return "\n".join(lines) + "\n"

    @property
    def repetition(self) -> str:
        """How the test is repeated, and what its digests then show."""
        if self.evidence.manifest.get("clock") != "virtual":
            return (
                f"In real time every run sends other packets, so {DIGESTS} shows changes of these"
                " files only. With --clock virtual a repetition sends the same ones"
            )
        return (
            "The same builds send the same packets again on the same kind of processor. Run the"
            f" command with -o and a new folder, and there sha256sum -c with the {DIGESTS} of this"
            " folder: it compares the packets of every trial, with the times at which they entered"
            " and left the link"
        )

    def write(self, folder: Path, record: Mapping[str, Any]) -> Path:
        """Write it into the folder of the test's campaign; return the path of the page."""
        listed = campaigns.open_existing(folder).files()
        digests = {name: listed[name].sha256 for name in (EXPERIMENT, DESIGN)}
        digests |= {one["file"]: one["sha256"] for one in record["packets"]}
        texts = {
            MARKDOWN: self.markdown(),
            RECORD: json.dumps(record, indent=1) + "\n",
            DIGESTS: "".join(f"{sha256}  {name}\n" for name, sha256 in digests.items()),
            PAGE: self.html(),
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        return folder / PAGE
