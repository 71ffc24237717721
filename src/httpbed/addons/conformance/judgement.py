"""The result of a conformance test: its judgement, and the evidence on which it rests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from httpbed.addons.conformance.properties import BUSY, UNCOMPARED, PropertyResult, Transfers
from httpbed.addons.conformance.sender import SCHEMA, Scale, Sender, SenderKey, SuiteName

_WITHOUT_EFFECT = re.compile(r" (?:(?:-o|--output|--jobs)[ =](?:'[^']*'|\S+)|--json)(?= |$)")
"""Where the evidence is, how many trials run side by side, and how the result is printed."""


@dataclass(frozen=True)
class PacketRecord:
    """The packet log of one trial, by its digest."""

    network: str
    sender: str
    file: str
    """Its path in the campaign."""
    sha256: str


@dataclass(frozen=True)
class ConformanceEvidence:
    """What a conformance test shows."""

    transfers: Transfers
    manifest: Mapping[str, Any]
    unreadable: Sequence[str]
    """Trials that show nothing about the sender, each with the reason."""
    invalid: bool
    """Whether an invalid attempt is one of the reasons."""
    packets: Sequence[PacketRecord] = ()
    """The packet logs that it rests on."""

    @property
    def command(self) -> str:
        """Return the command of the test, without the options that change no packet."""
        return _WITHOUT_EFFECT.sub("", self.manifest.get("command", ""))


@dataclass(frozen=True)
class Judgement:
    """The result of a conformance test."""

    sender: Sender
    key: SenderKey
    suite: SuiteName
    scale: Scale
    findings: Sequence[PropertyResult]
    remarks: Sequence[str]
    """Remarks of the suite about the sender."""
    short_s: Mapping[int, float | None]
    """Seconds from the client's first packet to the delivery of that many bytes, by size."""
    evidence: ConformanceEvidence
    question: str

    @property
    def passed(self) -> bool:
        """Whether every trial is readable and every property that has a tolerance is within it."""
        seen = (finding.passed or finding.is_for_the_reader for finding in self.findings)
        return not self.evidence.unreadable and all(seen)

    @property
    def failed(self) -> list[PropertyResult]:
        """Return the properties out of tolerance."""
        return [finding for finding in self.findings if finding.passed is False]

    @property
    def hindered(self) -> bool:
        """Whether something could not be judged because of the machine."""
        return self.evidence.invalid or any(
            finding.why in {BUSY, UNCOMPARED} for finding in self.findings
        )

    def as_json(self) -> dict[str, Any]:
        """Return its record for :func:`json.dumps`."""
        return {
            "schema": SCHEMA,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "passed": self.passed,
            "suite": self.suite,
            "scale": self.scale,
            "sender": self.key.as_json(),
            "judged_as": self.sender.judged_as,
            "client": self.sender.client,
            "findings": [finding.as_json() for finding in self.findings],
            "remarks": list(self.remarks),
            "delivered_s": {str(size): seconds for size, seconds in self.short_s.items()},
            "unreadable": list(self.evidence.unreadable),
            "packets": [asdict(packet) for packet in self.evidence.packets],
            "httpbed": self.evidence.manifest.get("httpbed", ""),
            "host": self.evidence.manifest.get("host", {}),
            "command": self.evidence.command,
        }
