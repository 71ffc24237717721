"""Records of conformance tests: one file per sender and scale, in the user's state.

A sender is a program of one build with its settings, over one HTTP version with one congestion
control; over TCP the kernel sends, so its release is part of it. The latest test of a scale
replaces the one before, and the largest scale that was run is what counts: a smaller test that
passes does not take back what a larger one found. Campaigns copy the verdict on each of their
senders into their manifest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpbed.experiment.sender import SCALES, SCHEMA, Scale, SenderKey
from httpbed.host import atomic_record as records
from httpbed.host import folders


def folder() -> Path:
    """Return where the records are; it may not exist."""
    return folders.state() / "senders"


def path(key: SenderKey, scale: Scale) -> Path:
    """Return where a sender's record is, or would be."""
    return folder() / f"{key.implementation}-{key.digest}-{scale}.json"


def write(key: SenderKey, scale: Scale, record: Mapping[str, Any]) -> Path:
    """Keep a record, whole or not at all, and return its path."""
    return records.write(path(key, scale), record)


def read(key: SenderKey) -> dict[str, Any] | None:
    """Read a sender's record of the largest scale; None when none can be read and understood."""
    records = (_read(path(key, scale), key) for scale in reversed(SCALES))
    return next((record for record in records if record is not None), None)


def _read(file: Path, key: SenderKey) -> dict[str, Any] | None:
    try:
        said = json.loads(file.read_bytes())
        known = said["schema"] == SCHEMA and said["sender"] == key.as_json()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(said) if known else None


def standing(key: SenderKey) -> dict[str, Any]:
    """Return what a campaign's manifest says of a sender: who it is, and how it was found.

    ``passed`` is None for a sender that was never tested on this machine by this user; ``failed``
    and ``unseen`` name its properties that were out of tolerance, and that nothing showed.
    """
    record = read(key)
    said: dict[str, Any] = {"sender": key.as_json(), "passed": None}
    if record is None:
        return said
    findings = record.get("findings", [])
    failed = [one["name"] for one in findings if one.get("passed") is False]
    unseen = [one["name"] for one in findings if one.get("passed") is None]
    about = {name: record.get(name) for name in ("passed", "date", "scale")}
    return said | about | {"failed": failed, "unseen": unseen}


def refreshed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a campaign's manifest with what is known of its senders by now.

    A sender is a program by its SHA-256, so a test that came after the campaign is of the same.
    """
    told = [_refreshed(said) for said in manifest.get("senders", ())]
    return {**manifest, "senders": told} if told else dict(manifest)


def _refreshed(said: Mapping[str, Any]) -> dict[str, Any]:
    try:
        now = standing(SenderKey.from_json(said["sender"]))
    except TypeError:  # it is of a campaign from before, when less was known of a sender
        return dict(said)
    return {**said, **now} if now["passed"] is not None else dict(said)
