"""Checks of hand-overs: whether the network changed as configured, and how the client reacted.

The bed answers for the changes and their times. The client's reaction, as
:mod:`~httpbed.addons.handover.handover_outcome` reads it from the packets, is a note and never a
failure; a missing file is one.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from httpbed.addons.handover import handover_metrics as metrics
from httpbed.addons.handover import handover_outcome as outcome
from httpbed.addons.handover import handover_steps
from httpbed.addons.handover.handover_check_table import (
    FIRST_LINK,
    HANDOVER_COUNT,
    HANDOVER_FOLLOWED,
    HANDOVER_HAPPENED,
    HANDOVER_PACE,
    HANDOVER_PROMPT,
    SOCKETS_DESTROYED,
)
from httpbed.addons.handover.handover_deliveries import BIN_NS
from httpbed.addons.handover.handover_evidence import COMMANDS_END, HandoverEvidence
from httpbed.addons.handover.handover_metrics import ObservedHandovers
from httpbed.addons.handover.handover_model import AfterBytes, Handover
from httpbed.addons.handover.handover_outcome import HandoverVerdict
from httpbed.addons.handover.handover_steps import DECISIVE
from httpbed.base import units
from httpbed.base.clock import NS
from httpbed.experiment.trial import OVER_BEFORE, Check
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import NetworkHop

UNHEARD_SHARE = 0.1
"""Largest share of changes without a message of kernel or emulator. Their times, and what counts
from them, are some milliseconds late."""


def of_bed(described: Handover, hop: NetworkHop, evidence: AttemptEvidence) -> Iterator[Check]:
    """Check that the client's network changed as configured; ``hop`` is the client's."""
    if (observed := evidence.of(HandoverEvidence)) is None:
        return
    if described.happens:
        done_ns = metrics.done_ns(hop, evidence, observed)
        yield _took_place(described, observed, evidence, done_ns)
        if observed.done:
            yield _prompt(described, observed)
        if described.repeats_s is not None and observed.done:
            yield _pace(described.repeats_s, observed)
            yield _as_many(described.repeats_s, observed, done_ns)
        if any(step.what == "destroy" for step in observed.done):
            yield _destroyed(observed)


def first_link(handovers: ObservedHandovers) -> Iterator[Check]:
    """Check that the client used only its first link before the first hand-over.

    A program may bind to any address of its host, whatever the routes say.
    """
    observed, link = handovers.observed, handovers.evidence.link
    others = handovers.handover.links[1:]
    if not others:
        return
    until_ns = observed.done[0].began_ns if observed.done else observed.ended_ns
    early = [
        connection
        for name in others
        for connection in handovers.chain.hops[0].over(name, handovers.evidence.connections)
        if connection["client_first_ns"] is not None
        and connection["client_first_ns"] - link["started_ns"] < until_ns
    ]
    figure = f"{len(early)} connection(s) before the change on {' or '.join(others)}"
    yield FIRST_LINK.result(passed=not early, figure=figure, limit="none", measured=len(early))


def of_subject(
    handovers: ObservedHandovers, verdicts: Sequence[HandoverVerdict]
) -> Iterator[Check]:
    """Report how the client reacted to each hand-over."""
    if not handovers.handover.happens:
        return
    if all(kind == OVER_BEFORE for kind, _ in verdicts):
        if handovers.evidence.client is not None and handovers.evidence.client.clean:
            lasted = _s(handovers.end_ns - handovers.observed.began_ns)
            figure = f"{OVER_BEFORE} it: the client was done after {lasted}"
            yield HANDOVER_FOLLOWED.result(passed=None, figure=figure)
        return
    passed = True if _has_followed(verdicts) else None
    yield HANDOVER_FOLLOWED.result(passed=passed, figure=_reactions(verdicts))


def unfollowed(verdicts: Sequence[HandoverVerdict]) -> str:
    """Return why the client followed no hand-over; empty if it followed one or ended before."""
    if _has_followed(verdicts) or all(kind == OVER_BEFORE for kind, _ in verdicts):
        return ""
    return _reactions(verdicts)


def _has_followed(verdicts: Sequence[HandoverVerdict]) -> bool:
    return any(kind in outcome.FOLLOWED for kind, _ in verdicts)


def _reactions(verdicts: Sequence[HandoverVerdict]) -> str:
    """Describe the reaction to the only hand-over, or count the reactions to several."""
    if len(verdicts) == 1:
        return verdicts[0][1]
    kinds = Counter(kind for kind, _ in verdicts)
    counts = ", ".join(f"{count} {outcome.COUNTED[kind]}" for kind, count in kinds.items())
    return f"{len(verdicts)} hand-overs: {counts}"


def _took_place(
    described: Handover, observed: HandoverEvidence, evidence: AttemptEvidence, done_ns: int
) -> Check:
    """Check that a hand-over took place, if the client ran long enough.

    A client that finishes earlier is no fault of the bed. Repeating such an attempt until a
    transfer takes longer would select the slow ones.
    """
    awaited = handover_steps.awaited(described)
    if changes := [change for change in observed.changes if change.ordered_ns < done_ns]:
        first = _s(changes[0].at_ns - observed.began_ns)
        figure = f"{len(changes)}, the first {first} after the client's start"
        return HANDOVER_HAPPENED.result(
            passed=True, figure=figure, limit=awaited, measured=len(changes)
        )
    lasted = _s(done_ns - observed.began_ns)
    due_ns = _due_ns(described, observed)
    if due_ns is not None and due_ns + HANDOVER_PROMPT.limit * NS < done_ns:
        figure = f"none in {lasted}, though it was due after {_s(due_ns - observed.began_ns)}"
        return HANDOVER_HAPPENED.result(passed=False, figure=figure, limit=awaited)
    if evidence.client is not None and evidence.client.clean:
        figure = f"the client was done after {lasted}, before {awaited}: make the hand-over earlier"
    else:
        figure = f"the client ended ({evidence.client}) after {lasted}, before {awaited}"
    return HANDOVER_HAPPENED.result(passed=None, figure=figure, limit=awaited)


def _due_ns(described: Handover, observed: HandoverEvidence) -> int | None:
    """Return when the first hand-over was due, in ns since the emulator's start; None: never."""
    if not isinstance(described.when, AfterBytes):
        return observed.began_ns + round((handover_steps.after_last_s(described, 1) or 0.0) * NS)
    bins = observed.deliveries.get(described.links[0], {})
    times = [bin_ for bin_ in sorted(bins) if bin_ * BIN_NS >= observed.began_ns]
    sizes = accumulate(bins[bin_] for bin_ in times)
    most = described.when.delivered
    return next(
        (bin_ * BIN_NS for bin_, size in zip(times, sizes, strict=True) if size >= most), None
    )


def _prompt(described: Handover, observed: HandoverEvidence) -> Check:
    """Check every step that has its own due time; steps that are due together run in turn."""
    late = [change.at_ns - change.due_ns for change in observed.changes]
    late += [
        step.ended_ns - step.due_ns
        for step in observed.done
        if step.what == "attach" and described.gap is not None
    ]
    late += [
        step.ended_ns - step.due_ns
        for step in observed.done
        if step.what == "detach" and DECISIVE[described.kind] != "detach"
    ]
    sources = Counter(change.by for change in observed.changes)
    by = " and ".join(sources)
    worst = max(late, default=0)
    figure = f"at most {worst / 1e6:.1f} ms late, as reported by {by or 'httpbed'}"
    if untold_ns := max(observed.destroyed_after_ns.values(), default=0):
        figure += f"; TCP sockets destroyed {untold_ns / 1e6:.1f} ms after their address at most"
    if not (heard := sources[COMMANDS_END] <= UNHEARD_SHARE * len(observed.changes)):
        figure += f", {sources[COMMANDS_END]} of {len(observed.changes)} without a message"
    return HANDOVER_PROMPT.result(
        passed=heard and max(worst, untold_ns) <= HANDOVER_PROMPT.limit * NS,
        figure=figure,
        limit=f"at most {HANDOVER_PROMPT.limit * 1e3:.0f} ms after they are due",
        measured=worst / NS,
    )


def _pace(period_s: float, observed: HandoverEvidence) -> Check:
    """Check that a hand-over ends before the next is due; otherwise each is later than the last."""
    took: defaultdict[int, int] = defaultdict(int)
    for step in observed.done:
        took[step.number] += step.ended_ns - step.began_ns
    typical = statistics.median(took.values()) / NS
    keeps = typical <= period_s
    figure = f"the steps of one take {typical * 1e3:.1f} ms"
    figure += "" if keeps else ": use a longer period"
    limit = f"one every {units.format_duration(period_s)}"
    return HANDOVER_PACE.result(passed=keeps, figure=figure, limit=limit, measured=typical)


def _as_many(period_s: float, observed: HandoverEvidence, done_ns: int) -> Check:
    """Check that at most one hand-over is missing, or 10 % of those that were due.

    Each is due one period after the last one began, so delays add up to fewer hand-overs.
    """
    due = int((done_ns - observed.began_ns) / NS / period_s)
    count = sum(change.ordered_ns < done_ns for change in observed.changes)
    return HANDOVER_COUNT.result(
        passed=count >= min(due - 1, HANDOVER_COUNT.limit * due),
        figure=f"{count} of {due} due",
        measured=count / due if due else None,
        limit=f"{units.format_share(HANDOVER_COUNT.limit, 0)} of one every"
        f" {units.format_duration(period_s)}",
    )


def _destroyed(observed: HandoverEvidence) -> Check:
    kept = sum(observed.sockets_left.values())
    times = len(observed.sockets_left)
    figure = f"{kept} TCP socket(s) left in {times} reading(s) after their destruction"
    passed = kept == 0 if times else None
    return SOCKETS_DESTROYED.result(passed=passed, figure=figure, limit="none", measured=kept)


def _s(nanoseconds: float) -> str:
    return units.format_duration(nanoseconds / NS, units.SHORT_DIGITS)
