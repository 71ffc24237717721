"""The judgement on a sender: all properties, and the record that campaigns cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from httpbed.addons.conformance import delivery, properties
from httpbed.addons.conformance.evidence import ConformanceEvidence
from httpbed.addons.conformance.properties import BUSY, PropertyResult
from httpbed.addons.conformance.sender import SCHEMA, Scale, SenderKey
from httpbed.addons.conformance.shipped_sender import Sender

SHORT_BYTES = (10_000, 100_000, 1_000_000)
"""Short transfers, whose time depends on the first flights (RFC 6928, section 4)."""


@dataclass(frozen=True)
class Judgement:
    """The result of a conformance test."""

    sender: Sender
    key: SenderKey
    scale: Scale
    findings: Sequence[PropertyResult]
    short_s: Mapping[int, float | None]
    """Seconds from the client's first packet to the delivery of that many bytes, by size."""
    evidence: ConformanceEvidence

    @property
    def passed(self) -> bool:
        """Whether every trial is readable and every property within its tolerance."""
        return not self.evidence.unreadable and all(finding.passed for finding in self.findings)

    @property
    def failed(self) -> list[PropertyResult]:
        """Return the properties out of tolerance."""
        return [finding for finding in self.findings if finding.passed is False]

    @property
    def hindered(self) -> bool:
        """Whether something could not be judged because of the machine."""
        return self.evidence.invalid or any(finding.why == BUSY for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return its record for :func:`json.dumps`."""
        return {
            "schema": SCHEMA,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "passed": self.passed,
            "scale": self.scale,
            "sender": self.key.as_json(),
            "judged_as": self.sender.judged_as,
            "client": self.sender.client,
            "findings": [finding.as_json() for finding in self.findings],
            "delivered_s": {str(size): seconds for size, seconds in self.short_s.items()},
            "unreadable": list(self.evidence.unreadable),
            "httpbed": self.evidence.manifest.get("httpbed", ""),
            "host": self.evidence.manifest.get("host", {}),
            "command": self.evidence.manifest.get("command", ""),
        }


def reach(sender: Sender, key: SenderKey, scale: Scale, evidence: ConformanceEvidence) -> Judgement:
    """Judge a sender by the evidence of its test."""
    transfers = evidence.transfers
    starts = [transfer.flight for transfer in transfers.of("start")]
    return Judgement(
        sender=sender,
        key=key,
        scale=scale,
        findings=properties.judge(sender.judged_as, transfers),
        short_s={size: delivery.median_time_s(starts, size) for size in SHORT_BYTES},
        evidence=evidence,
    )
