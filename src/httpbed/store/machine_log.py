"""Which machines of a cluster ran the blocks of a campaign: ``machines.jsonl``, a line per block.

Each line has the name that attempts give as their machine, the facts of the machine, its link
certificate, the block, and how the block ended there. It is a log like that of runs: no digest
covers it, and a torn line is left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from httpbed.base import disk, untrusted_files
from httpbed.store.layout import MACHINES

SCHEMA = 1
RETURNED, LOST = "returned", "lost"
"""How a block ended on a machine."""


def append(directory: Path, name: str, block: int, ending: str, about: dict[str, Any]) -> None:
    """Append a line: this machine ended this block so; ``about`` has what is known of it."""
    line = {"schema": SCHEMA, "machine": name, "block": block, "ending": ending, **about}
    disk.append_line(directory / MACHINES, json.dumps(line))


def read(directory: Path) -> list[dict[str, Any]]:
    """Return the lines in order; none for a campaign of one machine."""
    path = directory / MACHINES
    if not os.path.lexists(path):
        return []
    try:
        text = untrusted_files.own_data(path).decode(errors="replace")
    except untrusted_files.UnreadableError:
        return []
    return [line for line in map(_line, text.splitlines()) if line]


def hosts(lines: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the latest facts of each machine, by its name."""
    return {line["machine"]: line["host"] for line in lines if isinstance(line.get("host"), dict)}


def certificate(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what the machines' link certificates say together; None if one machine has none.

    The date is that of the oldest. Each condition that is not covered stands behind the name of
    its machine.
    """
    latest = {line["machine"]: line.get("link_certificate") for line in lines if _returned(line)}
    cited = {name: one for name, one in latest.items() if isinstance(one, dict)}
    if not cited or len(cited) < len(latest):
        return None
    outside = [
        f"{name}: {one}"
        for name, certificate in cited.items()
        for one in certificate.get("outside") or ()
    ]
    oldest = min(cited.values(), key=lambda one: str(one.get("date")))
    return {"date": oldest.get("date"), "outside": outside, "machines": sorted(cited)}


def uncalibrated(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the machines without a link certificate."""
    latest = {line["machine"]: line.get("link_certificate") for line in lines if _returned(line)}
    return sorted(name for name, one in latest.items() if not isinstance(one, dict))


def _returned(line: Mapping[str, Any]) -> bool:
    return line.get("ending") == RETURNED


def _line(text: str) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    members = {"machine": str, "block": int, "ending": str}
    good = isinstance(line, dict) and all(
        isinstance(line.get(name), kind) for name, kind in members.items()
    )
    return line if good else None
