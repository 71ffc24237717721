"""The files that the bed writes into an attempt's folder: their names, and how to read JSON.

The runner writes them; :mod:`httpbed.trial.evidence` reads them and imports no part of the runner.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files

EVIDENCE = "evidence.json"
"""Exits, bodies, pressure and what else the runner observed."""
LINK_EVENTS = "link-events.jsonl"
"""The emulator's events that say what happened to a link, and when."""
PACKET_LOG = "packets.tsv"
"""The emulator's packet log (:mod:`httpbed.store.packet_log`)."""
HANDOVER_STEPS = "handover.jsonl"
"""A line for each hand-over step that was carried out; times by CLOCK_MONOTONIC."""


def read_object(artifacts: Path, name: str) -> dict[str, Any]:
    """Return the JSON object in a file of the bed; empty if there is no such file."""
    text = untrusted_files.own_text(artifacts / name)
    return dict(untrusted_files.large_json(text, name)) if text else {}
