"""The suites of conformance tests: which networks a sender meets, and what is judged there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from httpbed.addons.conformance import bbr_cases, bcp133, envelope_suite, networks, properties
from httpbed.addons.conformance.flight import median_delivery_s
from httpbed.addons.conformance.judgement import ConformanceEvidence, Judgement
from httpbed.addons.conformance.networks import Network
from httpbed.addons.conformance.properties import PropertyResult, Transfers
from httpbed.addons.conformance.sender import (
    BBR,
    CONTROLS,
    Control,
    Scale,
    Sender,
    SenderKey,
    SuiteName,
)

SHORT_BYTES = (10_000, 100_000, 1_000_000)
"""Short transfers, whose time depends on the first flights (RFC 6928, section 4)."""


@dataclass(frozen=True)
class Suite:
    """A set of networks and the properties that a control's name promises in them."""

    networks: Callable[[Scale, Control], tuple[Network, ...]]
    judge: Callable[[Control, Transfers], Sequence[PropertyResult]]
    notes: Callable[[Transfers], Iterable[str]]
    controls: frozenset[Control]
    is_cited: bool
    """Whether campaigns cite its result."""
    asks_by_control: bool = True
    """Whether what is asked depends on the control that a sender is judged as."""
    question: str = "Does {sender.implementation} send as {sender.judged_as} should?"
    """With the sender's fields in braces."""
    references: Mapping[str, Sender] = field(default_factory=dict)
    """Senders that run in the same networks, for comparison, by their names."""


SUITES: Mapping[SuiteName, Suite] = {
    "control": Suite(
        networks.networks, properties.judge, lambda _: (), frozenset(CONTROLS), is_cited=True
    ),
    "bbr": Suite(bbr_cases.networks, bbr_cases.judge, bbr_cases.notes, BBR, is_cited=False),
    "bcp133": Suite(
        bcp133.networks,
        lambda control, seen: [*bcp133.judge(control, seen), *envelope_suite.judge(control, seen)],
        lambda seen: chain(bcp133.notes(seen), envelope_suite.notes(seen)),
        frozenset(CONTROLS),
        is_cited=False,
        asks_by_control=False,
        question="What does {sender.implementation} do by the criteria of BCP 133?",
        references=bcp133.REFERENCES,
    ),
    "envelope": Suite(
        envelope_suite.networks,
        envelope_suite.judge,
        envelope_suite.notes,
        frozenset(CONTROLS),
        is_cited=False,
        asks_by_control=False,
        question="Does {sender.implementation} have the delay and throughput of the kernel?",
        references=bcp133.REFERENCES,
    ),
}


def reach(
    sender: Sender,
    key: SenderKey,
    scale: Scale,
    evidence: ConformanceEvidence,
    suite: SuiteName = "control",
) -> Judgement:
    """Judge a sender by the evidence of its test."""
    transfers = evidence.transfers
    starts = [transfer.flight for transfer in transfers.in_network("start")]
    return Judgement(
        sender=sender,
        key=key,
        suite=suite,
        scale=scale,
        findings=SUITES[suite].judge(sender.judged_as, transfers),
        remarks=tuple(SUITES[suite].notes(transfers)),
        short_s={size: median_delivery_s(starts, size) for size in SHORT_BYTES if starts},
        evidence=evidence,
        question=SUITES[suite].question.format(sender=sender),
    )
