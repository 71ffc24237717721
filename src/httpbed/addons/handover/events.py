"""The events of each hand-over, in seconds since the client's first packet.

The request time begins there, too. The attempt's files have the same events on other clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from httpbed.addons.handover.handover_evidence import FOR_GOOD_NS, HandoverChange
from httpbed.addons.handover.handover_metrics import ObservedHandovers
from httpbed.addons.handover.handover_outcome import HandoverVerdict
from httpbed.base.clock import NS
from httpbed.experiment.handover import HandoverEvent


def events(
    handovers: ObservedHandovers, verdicts: Iterable[HandoverVerdict]
) -> Iterator[HandoverEvent]:
    """Yield an event for each hand-over with its verdict; a time that never came is None."""
    origin_ns = handovers.chain.hops[0].first_packet_ns(handovers.evidence.link) or 0
    for window, (verdict, how) in zip(handovers.windows, verdicts, strict=True):
        change = window.change
        at_s = (change.at_ns - origin_ns) / NS
        gone_ns, back_ns = _absence(handovers, change)
        yield HandoverEvent(
            number=change.number,
            left=change.left,
            entered=change.entered,
            at_s=at_s,
            first_sent_s=_later(at_s, handovers.first_sent_s(window)),
            validated_s=_later(at_s, handovers.validation_s(window)),
            first_byte_s=_later(at_s, handovers.new_path_s(window)),
            gone_s=None if gone_ns is None else (gone_ns - origin_ns) / NS,
            back_s=None if back_ns is None else (back_ns - origin_ns) / NS,
            verdict=verdict,
            how=how,
        )


def _absence(handovers: ObservedHandovers, change: HandoverChange) -> tuple[int | None, int | None]:
    """Return when the link that was left lost its address and got it back, where known."""
    for gone_ns, back_ns in handovers.observed.absences.get(change.left, ()):
        if gone_ns >= change.ordered_ns:
            return gone_ns, None if back_ns == FOR_GOOD_NS else back_ns
    return None, None


def _later(at_s: float, delay_s: float | None) -> float | None:
    return None if delay_s is None else at_s + delay_s
