"""Every httpbed conformance command in the documentation can be planned."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.conformance import conformance_session, sender_selection
from httpbed.addons.conformance import conformance_verb as verb
from httpbed.addons.conformance.sender_selection import SenderOptions, choose
from httpbed.base.clock import Clock
from httpbed.programs import catalog

ROOT = Path(__file__).parents[3]
CATALOG = catalog.load()
LINE = re.compile(r"httpbed conformance [^`&\n]+")
OF_A_NOTE = " shows why"
"""What follows a command in a printed note."""
ELSEWHERE = {"--recipes", "--program", "--campaign"}
"""Options whose values only the reader has."""


def lines() -> Iterator[str]:
    """Yield every command of the documents, without its comment."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for document in documents:
        if "reference" not in document.parts:
            for line in LINE.findall(document.read_text()):
                yield line.split(" > ")[0].strip().removesuffix(OF_A_NOTE)


def options(line: str) -> dict[str, Any]:
    """Parse a command as the shell and click do."""
    words = shlex.split(line, comments=True)[2:]
    return dict(verb.command.make_context("conformance", words).params)


@pytest.mark.parametrize("line", sorted(set(lines())))
def test_a_documented_command_can_be_planned(line: str) -> None:
    """Its sender is known, and its experiment has no mistakes."""
    said = options(line)
    if ELSEWHERE & set(line.replace("=", " ").split()):
        return
    asked = SenderOptions(
        implementation=said["implementation"],
        control=said["congestion_control"],
        http_version=said["http_version"],
        knobs=sender_selection.pairs(said["knobs"]),
        judged_as=said["judged_as"],
        client=said["client"],
    )
    sender = choose(CATALOG, asked)
    clock: Clock = said["clock"] or "real"
    assert conformance_session.prepare(sender, CATALOG, said["scale"], clock).loaded.trials
