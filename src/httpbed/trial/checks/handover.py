"""Checks of hand-overs: did the network change as asked for, and what did the client make of it?

That it took place, in time, is the bed's to answer for. What the client did, the wire shows
(:mod:`~httpbed.trial.handover.outcome`): that is told, and is no failure: whether the file arrived
is.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from httpbed.experiment import units
from httpbed.experiment.handover import AfterBytes, Handover
from httpbed.experiment.trial import Check
from httpbed.experiment.units import NS
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.handover import metrics, outcome, steps
from httpbed.trial.handover.deliveries import BIN_NS
from httpbed.trial.handover.evidence import COMMANDS_END, HandoverEvidence
from httpbed.trial.handover.metrics import ObservedHandovers
from httpbed.trial.handover.outcome import HandoverVerdict
from httpbed.trial.handover.steps import DECISIVE
from httpbed.trial.hops import NetworkHop

LATE_S = 0.05
"""A client that loads at 10 Mbit/s gets 60 kB more in it: 3 % of the 2 MB after which a study has
it change. Starting a tool takes 2 to 5 ms, and some tens where somebody else has the CPU."""
UNHEARD_SHARE = 0.1
"""Of changes of which neither kernel nor emulator told: their moments, and what counts from them,
are some milliseconds late."""
PROMPT, PACE, FOLLOWED = "hand-overs in time", "hand-overs keep pace", "hand-over followed"
OVER_BEFORE = "over before"
PACED, LEAST_MADE = "hand-overs as many as due", 0.9


def of_bed(described: Handover, hop: NetworkHop, evidence: AttemptEvidence) -> Iterator[Check]:
    """Check that the client's network changed as it was asked for; ``hop`` is the client's."""
    if (found := evidence.handover) is None:
        return
    if described.happens:
        done_ns = metrics.done_ns(hop, evidence, found)
        yield _took_place(described, found, evidence, done_ns)
        if found.done:
            yield _prompt(described, found)
        if described.repeats_s is not None and found.done:
            yield _pace(described.repeats_s, found)
            yield _as_many(described.repeats_s, found, done_ns)
        if any(one.what == "destroy" for one in found.done):
            yield _destroyed(found)
    if len(described.links) > 1:
        yield _quiet_before(described, hop, found, evidence)


def of_subject(handovers: ObservedHandovers, told: Sequence[HandoverVerdict]) -> Iterator[Check]:
    """Tell what the client made of each hand-over: ``told`` has the verdicts."""
    if not handovers.handover.happens:
        return
    kinds = Counter(kind for kind, _ in told)
    if set(kinds) <= {"over before"}:
        if handovers.evidence.client is not None and handovers.evidence.client.clean:
            lasted = _s(handovers.end_ns - handovers.observed.began_ns)
            figure = f"{OVER_BEFORE} it: the client was done after {lasted}"
            yield Check(name=FOLLOWED, of="subject", passed=None, figure=figure)
        return
    figure = told[0][1]
    if len(told) > 1:
        counts = ", ".join(f"{count} {outcome.COUNTED[kind]}" for kind, count in kinds.items())
        figure = f"{len(told)} hand-overs: {counts}"
    passed = True if outcome.FOLLOWED & set(kinds) else None
    yield Check(name=FOLLOWED, of="subject", passed=passed, figure=figure)


def unfollowed(checks: Iterable[Check]) -> str:
    """Say that the client followed no hand-over, if that is so; else nothing."""
    found = (one.figure for one in checks if one.name == FOLLOWED and not one.passed)
    return next((figure for figure in found if not figure.startswith(OVER_BEFORE)), "")


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="bed", passed=passed, figure=figure, limit=limit)


def _took_place(
    described: Handover, found: HandoverEvidence, evidence: AttemptEvidence, done_ns: int
) -> Check:
    """Check that there was one, if the client was there for it.

    To be done before is no fault of the bed's. To throw such an attempt away, and to try until one
    takes longer, would be to choose the slow ones.
    """
    name, before = "hand-over took place", steps.awaited(described)
    if changes := [one for one in found.changes if one.ordered_ns < done_ns]:
        figure = f"{len(changes)}, the first {_s(changes[0].at_ns - found.began_ns)}"
        return _check(name, passed=True, figure=f"{figure} after the client's start", limit=before)
    lasted = _s(done_ns - found.began_ns)
    due_ns = _due_ns(described, found, evidence)
    if due_ns is not None and due_ns + LATE_S * NS < done_ns:
        figure = f"none in {lasted}, though it was due after {_s(due_ns - found.began_ns)}"
        return _check(name, passed=False, figure=figure, limit=before)
    done = evidence.client is not None and evidence.client.clean
    figure = f"the client was done after {lasted}, before {before}: let it come earlier"
    if not done:
        figure = f"the client ended ({evidence.client}) after {lasted}, before {before}"
    return _check(name, passed=None, figure=figure, limit=before)


def _due_ns(described: Handover, found: HandoverEvidence, evidence: AttemptEvidence) -> int | None:
    """When the first one was due; None: never."""
    if not isinstance(described.when, AfterBytes):
        return found.began_ns + round((steps.after_last_s(described, 1) or 0.0) * NS)
    bins = evidence.deliveries.get(described.links[0], {})
    times = [bin_ for bin_ in sorted(bins) if bin_ * BIN_NS >= found.began_ns]
    sizes = accumulate(bins[bin_] for bin_ in times)
    most = described.when.delivered
    return next(
        (bin_ * BIN_NS for bin_, size in zip(times, sizes, strict=True) if size >= most), None
    )


def _prompt(described: Handover, found: HandoverEvidence) -> Check:
    """Check what is due at a time of its own; steps of one moment follow each other."""
    late = [change.at_ns - change.due_ns for change in found.changes]
    late += [
        one.ended_ns - one.due_ns
        for one in found.done
        if one.what == "attach" and described.gap is not None
    ]
    late += [
        one.ended_ns - one.due_ns
        for one in found.done
        if one.what == "detach" and DECISIVE[described.kind] != "detach"
    ]
    words = Counter(change.by for change in found.changes)
    by = " and ".join(f"{who}" for who in words)
    worst = max(late, default=0)
    figure = f"at most {worst / 1e6:.1f} ms late, by the word of {by or 'httpbed'}"
    if untold_ns := max(found.destroyed_after_ns.values(), default=0):
        figure += f"; TCP sockets destroyed {untold_ns / 1e6:.1f} ms after their address at most"
    if not (heard := words[COMMANDS_END] <= UNHEARD_SHARE * len(found.changes)):
        figure += f", {words[COMMANDS_END]} of {len(found.changes)} without anybody's"
    return _check(
        PROMPT,
        passed=heard and max(worst, untold_ns) <= LATE_S * NS,
        figure=figure,
        limit=f"at most {LATE_S * 1e3:.0f} ms after they are due",
    )


def _pace(period_s: float, found: HandoverEvidence) -> Check:
    """Check that one is done with before the next is due, else all come later and later."""
    took: defaultdict[int, int] = defaultdict(int)
    for one in found.done:
        took[one.number] += one.ended_ns - one.began_ns
    typical = statistics.median(took.values()) / NS
    keeps = typical <= period_s
    figure = f"the steps of one take {typical * 1e3:.1f} ms"
    figure += "" if keeps else ": let them come less often"
    limit = f"one every {units.format_duration(period_s)}"
    return _check(PACE, passed=keeps, figure=figure, limit=limit)


def _as_many(period_s: float, found: HandoverEvidence, done_ns: int) -> Check:
    """Check that none are missing, but for one that was due when the client was done.

    Each is due a period after the last one, so what comes late in all makes them fewer.
    """
    due = int((done_ns - found.began_ns) / NS / period_s)
    made = sum(one.ordered_ns < done_ns for one in found.changes)
    return _check(
        PACED,
        passed=made >= min(due - 1, LEAST_MADE * due),
        figure=f"{made} of {due} due",
        limit=f"{LEAST_MADE:.0%} of one every {units.format_duration(period_s)}",
    )


def _destroyed(found: HandoverEvidence) -> Check:
    kept = sum(found.sockets_left.values())
    times = len(found.sockets_left)
    figure = f"{kept} TCP socket(s) left in {times} look(s), each after their destruction"
    passed = kept == 0 if times else None
    return _check("sockets of a deleted address", passed=passed, figure=figure, limit="none")


def _quiet_before(
    described: Handover, hop: NetworkHop, found: HandoverEvidence, evidence: AttemptEvidence
) -> Check:
    """Check that the client was on the first link only until it had to go."""
    until_ns = found.done[0].began_ns if found.done else found.ended_ns
    early = [
        one
        for name in described.links[1:]
        for one in hop.over(name, evidence.connections)
        if one["client_first_ns"] is not None
        and one["client_first_ns"] - evidence.link["started_ns"] < until_ns
    ]
    figure = f"{len(early)} connection(s) before the change on {' or '.join(described.links[1:])}"
    return _check("client on its first link", passed=not early, figure=figure, limit="none")


def _s(nanoseconds: float) -> str:
    return units.format_duration(nanoseconds / NS, units.SHORT_DIGITS)
