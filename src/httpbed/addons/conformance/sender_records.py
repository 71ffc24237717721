"""Records of conformance tests: one file per sender and scale, in the user's state folder.

A sender is one build of a program with its settings, one HTTP version and one congestion control;
over TCP the kernel's release is part of it, because the kernel sends. A test replaces the record
of its scale. The record of the largest scale counts: a smaller test that passes does not outweigh
a larger one. Campaigns copy the verdict on each of their senders into their manifest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpbed.addons.conformance.sender import SCALES, SCHEMA, Scale, SenderKey
from httpbed.base import disk, folders
from httpbed.store.manifest_form import ManifestRecords


def folder() -> Path:
    """Return the folder of the records, which may not exist."""
    return folders.state() / "senders"


def path(key: SenderKey, scale: Scale) -> Path:
    """Return the path of a sender's record, which may not exist."""
    return folder() / f"{key.implementation}-{key.digest}-{scale}.json"


def write(key: SenderKey, scale: Scale, record: Mapping[str, Any]) -> Path:
    """Write a record, completely or not at all, and return its path."""
    return disk.write_record(path(key, scale), record)


def read(key: SenderKey) -> dict[str, Any] | None:
    """Read a sender's record of the largest scale; None without a valid record."""
    records = (_read(path(key, scale), key) for scale in reversed(SCALES))
    return next((record for record in records if record is not None), None)


def _read(file: Path, key: SenderKey) -> dict[str, Any] | None:
    try:
        record = json.loads(file.read_bytes())
        known = record["schema"] == SCHEMA and record["sender"] == key.as_json()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(record) if known else None


def standing(key: SenderKey) -> dict[str, Any]:
    """Return a sender and the verdict on it, for a campaign's manifest.

    ``passed`` is None for a sender that this user never tested on this machine. ``failed`` names
    its properties out of tolerance, ``unseen`` those that could not be judged.
    """
    record = read(key)
    sender: dict[str, Any] = {"sender": key.as_json(), "passed": None}
    if record is None:
        return sender
    findings = record.get("findings", [])
    failed = [one["name"] for one in findings if one.get("passed") is False]
    unseen = [one["name"] for one in findings if one.get("passed") is None]
    about = {name: record.get(name) for name in ("passed", "date", "scale")}
    return sender | about | {"failed": failed, "unseen": unseen}


def refreshed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a campaign's manifest with the current verdicts on its senders.

    A sender includes its program's SHA-256, so a test after the campaign tested the same program.
    """
    senders = [_refreshed(sender) for sender in manifest.get("senders", ())]
    return {**manifest, "senders": senders} if senders else dict(manifest)


def _refreshed(sender: Mapping[str, Any]) -> dict[str, Any]:
    now = standing(SenderKey.from_json(sender["sender"]))
    return {**sender, **now} if now["passed"] is not None else dict(sender)


RECORDS = ManifestRecords("senders", "senders", refreshed)
