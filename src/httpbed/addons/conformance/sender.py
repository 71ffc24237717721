"""A sender, its identity, and the records of its conformance tests.

A record is one file per sender and scale, in the user's state folder.
A sender is one build of a program with its settings, one HTTP version and one congestion control;
over TCP the kernel's release is part of it, because the kernel sends. A test replaces the record
of its scale. The record of the largest scale counts: a smaller test that passes does not outweigh
a larger one. Campaigns copy the verdict on each of their senders into their manifest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from httpbed.base import disk, folders
from httpbed.experiment.roles import HttpVersion, Transport, transport_below
from httpbed.store.manifest_form import ManifestRecords

SCHEMA = 2
"""Version of the records' file format."""
Scale = Literal["smoke", "standard", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "standard", "full")
"""How much of a conformance test is run, from least to most."""
SuiteName = Literal["control", "bbr", "bcp133", "envelope"]
"""``control``: what the congestion control's name promises; ``bbr``: the cases of its draft;
``bcp133``: the criteria of RFC 9743 for any congestion control; ``envelope``: delay and throughput
beside the kernel's Reno and CUBIC."""
Control = Literal["reno", "cubic", "bbr", "bbr2"]
CONTROLS: tuple[Control, ...] = ("reno", "cubic", "bbr", "bbr2")
"""Congestion controls with their own properties, as which a sender can be judged."""
BBR: frozenset[Control] = frozenset({"bbr", "bbr2"})
"""Controls that model the path: a paced window of two bandwidth-delay products."""
_OTHER_NAMES: Mapping[str, Control] = {
    "newreno": "reno",
    "bbr1": "bbr",
    "bbrv1": "bbr",
    "bbrv2": "bbr2",
    "bbr2gcongestion": "bbr2",
    "bbr3": "bbr2",
    "bbrv3": "bbr2",
}
"""Other names of controls. BBRv2 and BBRv3 differ from BBRv1 in that they react to loss."""


@dataclass(frozen=True)
class Sender:
    """A sender, as the experiment of a conformance test describes it."""

    implementation: str
    http_version: HttpVersion
    congestion_control: str | None
    """As the experiment sets it; None if it sets none."""
    algorithm: str
    """The control that the sender then uses, according to its recipe."""
    judged_as: Control
    role: Literal["server", "proxy"] = "server"
    upstream_http_version: str = "1.1"
    """HTTP version between a proxy and its origin, which does not affect the test."""
    client: str = "curl"
    knobs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_judged_by_name(self) -> bool:
        """Whether the sender is judged by its own control, and not by another one."""
        return family(self.algorithm) in {None, self.judged_as}

    @property
    def transport(self) -> Transport:
        """Return the transport of its HTTP version."""
        return transport_below(self.http_version)


def family(name: str) -> Control | None:
    """Return the control whose behaviour a name promises; None for an unknown name."""
    plain = name.lower().replace("-", "").replace("_", "")
    return next(
        (control for control in CONTROLS if _OTHER_NAMES.get(plain, plain) == control), None
    )


@dataclass(frozen=True)
class SenderKey:
    """All properties of a sender that may change its congestion control."""

    implementation: str
    version: str
    sha256: str
    libraries: str
    """SHA-256 over all packages of its root filesystem, or over the digests of the libraries of a
    program of the user's; empty if it has none."""
    http_version: str
    """Decides which buffers and windows limit the sender, too."""
    transport: str
    """``tcp`` or ``quic``."""
    congestion_control: str
    """Name of the algorithm in use, even if the program offers no choice."""
    knobs: tuple[tuple[str, str], ...] = ()
    """Every knob that is set, sorted by name."""
    kernel: str = ""
    """The kernel's release, over TCP; empty over QUIC. In virtual time the kernel of guests, over
    both."""

    def as_json(self) -> dict[str, Any]:
        """Return the key as JSON values."""
        return asdict(self) | {"knobs": dict(self.knobs)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SenderKey:
        """Return the key that :meth:`as_json` wrote as ``values``.

        Raises:
            TypeError: A field is missing or unknown.
        """
        return cls(**{**values, "knobs": tuple(sorted(values.get("knobs", {}).items()))})

    @property
    def digest(self) -> str:
        """File name of the sender's record."""
        text = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    failed = [finding["name"] for finding in findings if finding.get("passed") is False]
    unseen = [finding["name"] for finding in findings if finding.get("passed") is None]
    about = {name: record.get(name) for name in ("passed", "date", "scale")}
    return sender | about | {"failed": failed, "unseen": unseen}


def refreshed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a campaign's manifest with the current verdicts on its senders.

    A sender includes its program's SHA-256, so a test after the campaign tested the same program.
    """
    builds = manifest.get("second_builds", {})
    senders = [_refreshed(sender, builds) for sender in manifest.get("senders", ())]
    return {**manifest, "senders": senders} if senders else dict(manifest)


def _refreshed(sender: Mapping[str, Any], builds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the current verdict; a second build may have been tested under its program's name."""
    key = SenderKey.from_json(sender["sender"])
    build = builds.get(key.implementation)
    keys = [key, *([replace(key, implementation=build["of"])] if build else [])]
    tested = (now for now in map(standing, keys) if now["passed"] is not None)
    return {**sender, **next(tested, {}), "sender": sender["sender"]}


RECORDS = ManifestRecords("senders", "senders", refreshed)
