"""The judgement on a sender: every property, and the record of it that campaigns cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from httpbed.analysis.sender import delivery
from httpbed.experiment.sender import SCHEMA, Scale, SenderKey
from httpbed.studies.conformance import properties
from httpbed.studies.conformance.evidence import Evidence
from httpbed.studies.conformance.property_result import BUSY, Finding
from httpbed.studies.conformance.sender import Sender

SHORT_BYTES = (10_000, 100_000, 1_000_000)
"""Short transfers, whose time is a matter of the first flights (RFC 6928, section 4)."""


@dataclass(frozen=True)
class Judgement:
    """What a conformance test found."""

    sender: Sender
    key: SenderKey
    scale: Scale
    findings: Sequence[Finding]
    short_s: Mapping[int, float | None]
    """Seconds from the client's first packet until so many bytes had been delivered."""
    evidence: Evidence

    @property
    def passed(self) -> bool:
        """Whether every trial could be read, and every property is within its tolerance."""
        return not self.evidence.blind and all(finding.passed for finding in self.findings)

    @property
    def failed(self) -> list[Finding]:
        """Properties out of tolerance."""
        return [finding for finding in self.findings if finding.passed is False]

    @property
    def hindered(self) -> bool:
        """Whether the machine is the reason why something could not be judged."""
        return self.evidence.invalid or any(finding.why == BUSY for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold: the record of it."""
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
            "blind": list(self.evidence.blind),
            "httpbed": self.evidence.manifest.get("httpbed", ""),
            "host": self.evidence.manifest.get("host", {}),
            "command": self.evidence.manifest.get("command", ""),
        }


def reach(sender: Sender, key: SenderKey, scale: Scale, evidence: Evidence) -> Judgement:
    """Judge what a test left."""
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
