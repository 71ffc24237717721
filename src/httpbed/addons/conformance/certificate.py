"""What a test found, as a document of the report; the page and other files that prove it.

A certificate is the campaign folder of a test with these files. In virtual time the same command
gives the same packets, so ``sha256sum -c`` of the digests, in the folder of a repetition, compares
every trial byte by byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.addons.conformance.judgement import ConformanceEvidence
from httpbed.base import units
from httpbed.report import manifest, markdown, publish
from httpbed.report.document import (
    Facts,
    Figure,
    Listing,
    Paragraph,
    Section,
    Table,
    plain_table,
)
from httpbed.report.phrasing import Sentence, sentence_case
from httpbed.report.sections import Document
from httpbed.report.svg import Plot
from httpbed.store import campaign as campaigns
from httpbed.store.layout import DESIGN, EXPERIMENT

PAGE, MARKDOWN, RECORD = "conformance.html", "conformance.md", "conformance.json"
DIGESTS = "digests.sha256"
"""As ``sha256sum`` reads it: the experiment, its trials, and each trial's packet log."""


def document(  # noqa: PLR0913 - a certificate has these parts
    sender: str,
    question: str,
    answer: str,
    table: Table,
    evidence: ConformanceEvidence,
    *,
    notes: Sequence[str],
    plots: Iterable[Plot],
    further: Sequence[str] = (),
) -> Document:
    """Return what a test found as a document; ``answer`` is a sentence without its full stop."""
    made_by = evidence.manifest
    said, figures = (Sentence(sentence_case(answer)),), tuple(map(Figure, plots))
    return Document(
        name=sender,
        question=question,
        httpbed=str(made_by.get("httpbed", "")),
        started=str(made_by.get("started", "")),
        clock=manifest.clock(made_by),
        programs=(),
        heading=Facts((("sender", sender),)),
        treatments=table,
        answer=said,
        notes=tuple(notes),
        evidence=(f"packets of {units.format_count(len(evidence.packets), 'trial')}", *further),
        sections=(
            Section("answer", "", (Listing(said, "answer"),), in_contents=""),
            Section(
                "properties",
                "",
                (table, Listing(tuple(map(sentence_case, notes)), "notes"), *_lines(further)),
                in_contents="",
            ),
            *([Section("plots", "Figures", figures)] if figures else []),
            Section("repetition", "Repeat it", (*_repetition(evidence),)),
        ),
    )


def _lines(texts: Iterable[str]) -> Iterator[Paragraph]:
    return (Paragraph(f"{sentence_case(text)}.") for text in texts)


def _repetition(evidence: ConformanceEvidence) -> Iterator[Paragraph | Table]:
    yield Paragraph("Made by:")
    yield Paragraph("", evidence.command, style="code")
    yield Paragraph(f"{repetition(evidence)}.")
    rows = [(one.network, one.sender, one.file, one.sha256) for one in evidence.packets]
    head = ("network", "sender", "file", "SHA-256")
    yield plain_table("Packet logs", "", head, rows, fold=f"Packet logs: {len(rows)}")


def repetition(evidence: ConformanceEvidence) -> str:
    """Say how the test is repeated, and what its digests then show; without the full stop."""
    if evidence.manifest.get("clock") != "virtual":
        return (
            f"In real time every run sends other packets, so {DIGESTS} shows changes of these"
            " files only. With --clock virtual a repetition sends the same ones"
        )
    return (
        "The same builds send the same packets again on the same kind of processor. Run the"
        " command with -o and a new folder, then in that folder sha256sum -c with the path of this"
        f" folder's {DIGESTS}. It compares the packets of every trial, with the times at which they"
        " entered and left the link"
    )


def write(
    found: Document, evidence: ConformanceEvidence, folder: Path, record: Mapping[str, Any]
) -> Path:
    """Write a document into the folder of the test's campaign; return the path of the page."""
    listed = campaigns.open_existing(folder).files()
    digests = {name: listed[name].sha256 for name in (EXPERIMENT, DESIGN)}
    digests |= {one["file"]: one["sha256"] for one in record["packets"]}
    origin = f"{repetition(evidence)}.\n\nMade by: {markdown.escaped(evidence.command)}\n"
    texts = {
        MARKDOWN: f"# {markdown.escaped(found.name)}\n\n{markdown.render(found)}\n{origin}",
        RECORD: json.dumps(record, indent=1) + "\n",
        DIGESTS: "".join(f"{sha256}  {name}\n" for name, sha256 in digests.items()),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return publish.save(found, folder, name=PAGE)
