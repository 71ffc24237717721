"""The certificate of a test: page, record, and the digests that a repetition must have.

A certificate is the campaign folder of a test with these files. In virtual time the same command
gives the same packets, so ``sha256sum -c`` of the digests, in the folder of a repetition, compares
every trial byte by byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpbed.addons.conformance.judgement import ConformanceEvidence
from httpbed.report import markdown as written
from httpbed.store import campaign as campaigns
from httpbed.store.layout import DESIGN, EXPERIMENT

PAGE, MARKDOWN, RECORD = "conformance.html", "conformance.md", "conformance.json"
DIGESTS = "digests.sha256"
"""As ``sha256sum`` reads it: the experiment, its trials, and each trial's packet log."""


def write(folder: Path, page: str, markdown: str, record: Mapping[str, Any]) -> Path:
    """Write a test's certificate into the folder of its campaign; return the path of the page."""
    listed = campaigns.open_existing(folder).files()
    digests = {name: listed[name].sha256 for name in (EXPERIMENT, DESIGN)}
    digests |= {one["file"]: one["sha256"] for one in record["packets"]}
    texts = {
        MARKDOWN: markdown,
        RECORD: json.dumps(record, indent=1) + "\n",
        DIGESTS: "".join(f"{sha256}  {name}\n" for name, sha256 in digests.items()),
        PAGE: page,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / PAGE


def shown(evidence: ConformanceEvidence) -> dict[str, Any]:
    """Return what the template says about how the test is repeated."""
    return {
        "command": evidence.command,
        "httpbed": evidence.manifest.get("httpbed", ""),
        "repetition": repetition(evidence),
        "packets": evidence.packets,
    }


def repetition(evidence: ConformanceEvidence) -> str:
    """Say how a test is repeated, and what its digests then show."""
    if evidence.manifest.get("clock") != "virtual":
        return (
            f"In real time every run sends other packets, so {DIGESTS} shows changes of these files"
            " only. With --clock virtual a repetition sends the same ones"
        )
    return (
        "The same builds send the same packets again. Run the command with -o and a new folder, and"
        f" there sha256sum -c with the {DIGESTS} of this folder: it compares the packets of"
        " every trial, with the times at which they entered and left the link"
    )


def markdown(evidence: ConformanceEvidence) -> list[str]:
    """Return the lines that say how a test is repeated."""
    command = evidence.command
    made = f"Made by {written.escaped(command)}." if command else ""
    return [f"{made} {repetition(evidence)}.".strip()]
