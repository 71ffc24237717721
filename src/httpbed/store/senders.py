"""Records of conformance tests: one file per sender, in the user's state.

A sender is a program of one build with its settings, over one transport with one congestion
control; over TCP the kernel sends, so its release is part of it. The latest test of a sender
replaces the one before. Campaigns copy the verdict on each of their senders into their manifest.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpbed.host import state
from httpbed.model.sender import SCHEMA, SenderKey


def folder() -> Path:
    """Return where the records are; it may not exist."""
    return state.folder() / "senders"


def path(key: SenderKey) -> Path:
    """Return where a sender's record is, or would be."""
    return folder() / f"{key.implementation}-{key.digest}.json"


def write(key: SenderKey, record: Mapping[str, Any]) -> Path:
    """Keep a record, whole or not at all, and return its path."""
    target = path(key)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1) + "\n"
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(target)
    return target


def read(key: SenderKey) -> dict[str, Any] | None:
    """Read a sender's record; None when there is none, or none that can be understood."""
    try:
        said = json.loads(path(key).read_bytes())
        known = said["schema"] == SCHEMA and said["sender"] == key.as_json()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(said) if known else None


def standing(key: SenderKey) -> dict[str, Any]:
    """Return what a campaign's manifest says of a sender: who it is, and how it was found.

    ``passed`` is None for a sender that was never tested on this machine by this user.
    """
    record = read(key)
    said: dict[str, Any] = {"sender": key.as_json(), "passed": None}
    if record is None:
        return said
    failed = [one["name"] for one in record.get("findings", []) if one.get("passed") is not True]
    about = {name: record.get(name) for name in ("passed", "date", "scale")}
    return said | about | {"failed": failed, "record": path(key).name}
