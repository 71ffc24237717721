"""Checks of hand-overs: did the network change as asked for, and what did the client make of it?

That it took place, in time, is the bed's to answer for. What the client did, the wire shows: QUIC
goes on with the same connection from another address, and then the first datagram on the new path
has a short header (RFC 9000 section 9), or somebody began anew, or nobody came. That is told, and
is no failure: whether the file arrived is.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from httpbed.model import phrase
from httpbed.model.handover import Handover
from httpbed.model.moment import Following
from httpbed.model.trial import Check
from httpbed.trial import handover
from httpbed.trial.handover import DECISIVE
from httpbed.trial.handover_metrics import Course, Window
from httpbed.trial.handover_seen import HandoverSeen
from httpbed.trial.legs import Leg
from httpbed.trial.seen import Seen

LATE_S = 0.05
"""A client that loads at 10 Mbit/s gets 60 kB more in it: 3 % of the 2 MB after which a study has
it change. Starting a tool takes 2 to 5 ms, and some tens where somebody else has the CPU."""
PROMPT, PACE, FOLLOWED = "hand-overs in time", "hand-overs keep pace", "hand-over followed"
NS = 1e9


def of_bed(described: Handover, leg: Leg, seen: Seen) -> Iterator[Check]:
    """Check that the client's network changed as it was asked for; ``leg`` is the client's."""
    if (found := seen.handover) is None:
        return
    if described.happens:
        yield _took_place(described, found, seen)
        if found.done:
            yield _prompt(described, found)
        if described.repeats_s is not None and found.done:
            yield _pace(described.repeats_s, found)
        if found.sockets_left:
            yield _destroyed(found)
    if len(described.links) > 1:
        yield _quiet_before(described, leg, found, seen)


def of_subject(course: Course) -> Iterator[Check]:
    """Tell what the client made of each hand-over."""
    told = [followed(course, window) for window in course.windows]
    if not told:
        return
    kinds = Counter(kind for kind, _ in told)
    figure = told[0][1]
    if len(told) > 1:
        counts = ", ".join(f"{count} {_COUNTED[kind]}" for kind, count in kinds.items())
        figure = f"{len(told)} hand-overs: {counts}"
    passed = None if set(kinds) == {"nothing"} else True
    yield Check(name=FOLLOWED, of="subject", passed=passed, figure=figure)


_COUNTED: Mapping[Following, str] = {
    "migrated": "migrated",
    "new connection": "by a new connection",
    "nothing": "not followed",
}


def unfollowed(checks: Iterable[Check]) -> str:
    """Say that the client followed no hand-over, if that is so; else nothing."""
    return next((one.figure for one in checks if one.name == FOLLOWED and not one.passed), "")


def followed(course: Course, window: Window) -> tuple[Following, str]:
    """Tell what the client made of a hand-over, and by what that is known.

    What was never answered is no connection on the new path.
    """
    entered = window.change.entered
    anew = [one for one in _answered(course, entered, window) if one.get("opening") != "short"]
    if anew:
        transport = "TCP" if anew[0]["protocol"] == "tcp" else "QUIC, with a handshake of its own,"
        return "new connection", f"a new connection: {transport} over {entered}"
    beyond = course.beyond(window)
    there = _answered(course, beyond, window)
    same = next((one for one in there if one.get("opening") == "short"), None)
    if same is not None:
        return "migrated", _migrated(course, same)
    before = course.before(window)
    if before is not None and window.change.left != entered and course.is_on(entered, window):
        is_quic = course.chain.legs[0].hop.transport == "quic"
        if is_quic and course.is_on(window.change.left, before):
            return "migrated", f"migrated: same connection, back on its earlier path over {entered}"
        return "nothing", f"no hand-over was followed: the client had stayed on {entered}"
    return "nothing", _not_followed(course, window, course.begun(beyond, window))


def _answered(course: Course, link: str, window: Window) -> list[Mapping[str, Any]]:
    return [one for one in course.begun(link, window) if one["server_first_ns"] is not None]


def _migrated(course: Course, same: Mapping[str, Any]) -> str:
    before = _before(same, course)
    what = "went on" if course.handover.kind == "NAT rebinding" else "migrated"
    return (
        f"{what}: same connection, {f'from {before} ' if before else ''}to {same['client']}, no"
        f" handshake on the new path; first datagrams of {_first_sizes(same, 'client')} bytes"
        f" there, of {_first_sizes(same, 'server')} back"
    )


def _not_followed(course: Course, window: Window, there: Sequence[Mapping[str, Any]]) -> str:
    entered = window.change.entered
    if course.handover.kind != "NAT rebinding":
        what = "was sent" if not there else "was answered of what was sent"
        return f"no hand-over was followed: nothing {what} over {entered}"
    if not course.beyond(window):
        return "not observed: no link lies behind the NAT"
    if there and there[0]["protocol"] == "tcp":
        return f"from {there[0]['client']}, which for TCP is another connection"
    return "nothing more came through the NAT" if not there else "nothing came back to the NAT"


def _before(same: Mapping[str, Any], course: Course) -> str:
    """Return from where the client sent until then: of its connections the last that began."""
    leg, connections = course.chain.legs[0], course.seen.connections
    earlier = [
        one
        for one in (*leg.near(connections), *leg.over(same["link"], connections))
        if one["protocol"] == "udp" and one["client"] != same["client"]
        if (one["client_first_ns"] or 0) < same["client_first_ns"]
    ]
    return max(earlier, key=lambda one: one["client_first_ns"] or 0)["client"] if earlier else ""


def _first_sizes(connection: Mapping[str, Any], side: str) -> str:
    """Tell the sizes of the first datagrams: a challenge is to have 1200 bytes or more.

    RFC 9000 section 8.2.1, unless more was sent to an address already than came from it allows.
    """
    return ", ".join(map(str, connection.get(f"{side}_first_sizes") or ["no"]))


def _check(name: str, *, passed: bool | None, figure: str, limit: str = "") -> Check:
    return Check(name=name, of="bed", passed=passed, figure=figure, limit=limit)


def _took_place(described: Handover, found: HandoverSeen, seen: Seen) -> Check:
    """Check that there was one; a client that failed before leaves nothing to judge."""
    name, before = "hand-over took place", handover.awaited(described)
    if found.changes:
        figure = f"{len(found.changes)}, the first {_s(found.changes[0].at_ns - found.began_ns)}"
        return _check(name, passed=True, figure=f"{figure} after the client's start", limit=before)
    lasted = _s(found.ended_ns - found.began_ns)
    done = seen.client is not None and seen.client.clean
    figure = f"the client was done after {lasted}, before {before}: let it come earlier"
    if not done:
        figure = f"the client ended ({seen.client}) after {lasted}, before {before}"
    return _check(name, passed=False if done else None, figure=figure, limit=before)


def _prompt(described: Handover, found: HandoverSeen) -> Check:
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
    return _check(
        PROMPT,
        passed=worst <= LATE_S * NS,
        figure=figure,
        limit=f"at most {LATE_S * 1e3:.0f} ms after they are due",
    )


def _pace(period_s: float, found: HandoverSeen) -> Check:
    """Check that one is done with before the next is due, else all come later and later."""
    took: defaultdict[int, int] = defaultdict(int)
    for one in found.done:
        took[one.number] += one.ended_ns - one.began_ns
    typical = statistics.median(took.values()) / NS
    due = int((found.ended_ns - found.began_ns) / NS / period_s)
    figure = f"{len(found.changes)} of {due} due; the steps of one take {typical * 1e3:.1f} ms"
    keeps = typical <= period_s
    figure += "" if keeps else ": let them come less often"
    limit = f"one every {phrase.duration(period_s)}"
    return _check(PACE, passed=keeps, figure=figure, limit=limit)


def _destroyed(found: HandoverSeen) -> Check:
    kept = sum(found.sockets_left.values())
    times = len(found.sockets_left)
    figure = f"{kept} TCP socket(s) left in {times} look(s), each after their destruction"
    return _check("sockets of a deleted address", passed=kept == 0, figure=figure, limit="none")


def _quiet_before(described: Handover, leg: Leg, found: HandoverSeen, seen: Seen) -> Check:
    """Check that the client was on the first link only until it had to go."""
    until_ns = found.done[0].began_ns if found.done else found.ended_ns
    early = [
        one
        for name in described.links[1:]
        for one in leg.over(name, seen.connections)
        if one["client_first_ns"] is not None
        and one["client_first_ns"] - seen.link["started_ns"] < until_ns
    ]
    figure = f"{len(early)} connection(s) before the change on {' or '.join(described.links[1:])}"
    return _check("client on its first link", passed=not early, figure=figure, limit="none")


def _s(nanoseconds: float) -> str:
    return phrase.duration(nanoseconds / NS, phrase.AT_A_GLANCE)
