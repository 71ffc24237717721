"""The verdict of a gate in the formats of CI systems.

* ``junit``: the XML that CI systems show as tests: a test case for each claim and treatment, and
  one for the gate itself, which fails exactly if the gate does.
* ``github``: workflow commands, which GitHub shows as annotations. The Markdown goes to the job's
  summary, the file that ``GITHUB_STEP_SUMMARY`` names.

What a program, a file or a server named is escaped for each: XML has no control characters, and a
workflow command ends at a line break.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

from httpbed.addons.gate import gate_report
from httpbed.addons.gate.gate_report import Gate
from httpbed.base.errors import visible
from httpbed.report import change_table
from httpbed.report.phrasing import treatment

SUMMARY = "GITHUB_STEP_SUMMARY"
Level = Literal["error", "warning", "notice"]


@dataclass(frozen=True)
class Case:
    """A claim, a treatment, or the gate itself."""

    name: str
    verdict: str
    reason: str
    fails: bool
    is_open: bool
    """Whether the campaigns settle nothing."""

    @property
    def message(self) -> str:
        """The verdict with its reason."""
        return ": ".join(filter(None, (self.verdict, self.reason)))


def cases(gate: Gate, *, strict: bool) -> Iterator[Case]:
    """Yield the claims, the treatments, and last the gate."""
    for claim in gate.judged:
        verdict = claim.main.verdict
        fails = verdict in {"contradicted", "no difference"}
        is_open = not fails and verdict != "reproduced"
        yield Case(f"claim {claim.stated.id}", verdict, claim.stated.says, fails, is_open)
    for change in gate.changes:
        name = treatment(change.levels, tuple(change.levels))
        reason = ", ".join(filter(None, (change_table.change_text(change), change.reason)))
        fails, is_open = change.verdict == "regression", change.verdict == "inconclusive"
        yield Case(name, change.verdict, reason, fails, is_open)
    words = gate_report.closing(gate, strict=strict)
    last = words.removeprefix(f"gate: {gate.verdict}").removeprefix(": ")
    fails = gate_report.fails(gate, strict=strict)
    yield Case("gate", gate.verdict, last, fails, gate.verdict == "inconclusive" and not fails)


def in_junit(gate: Gate, *, strict: bool) -> str:
    """Return the verdict as JUnit XML."""
    gate_cases = list(cases(gate, strict=strict))
    name = gate.campaign.experiment.name
    counts = {
        "tests": str(len(gate_cases)),
        "failures": str(sum(one.fails for one in gate_cases)),
        "skipped": str(sum(one.is_open for one in gate_cases)),
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": visible(name), **counts})
    for one in gate_cases:
        names = {"classname": visible(name), "name": visible(one.name)}
        case = ET.SubElement(suite, "testcase", names)
        if one.fails:
            ET.SubElement(case, "failure", {"message": visible(one.message)})
        elif one.is_open:
            ET.SubElement(case, "skipped", {"message": visible(one.message)})
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def in_github(gate: Gate, *, strict: bool) -> str:
    """Return the verdict as workflow commands."""
    lines = []
    for one in cases(gate, strict=strict):
        level: Level = "error" if one.fails else "warning" if one.is_open else "notice"
        if level != "notice" or one.name == "gate":
            title = escaped(f"httpbed: {one.name}", ":,")
            lines.append(f"::{level} title={title}::{escaped(one.message)}")
    return "\n".join(lines) + "\n"


def escaped(text: str, further: str = "") -> str:
    """Escape a message, or with further characters a property, as workflow commands need it."""
    for character in f"%\r\n{further}":
        text = text.replace(character, f"%{ord(character):02X}")
    return visible(text)


def append_to_summary(markdown: str) -> None:
    """Append Markdown to the summary of GitHub's job; do nothing elsewhere."""
    if file := os.environ.get(SUMMARY):
        with Path(file).open("a", encoding="utf-8") as summary:
            summary.write(markdown)
