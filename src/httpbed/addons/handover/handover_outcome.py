"""How a client reacted to a hand-over, by the packets.

A QUIC connection that migrates continues from another address. Its first datagram on the new path
has a short header (RFC 9000 section 9), and data follows. Otherwise the client opens a new
connection with a handshake, or sends nothing. A response alone proves little: a server that does
not know a connection answers with a stateless reset, which looks like a short header (RFC 9000
section 10.3), and a refused TCP connection gets a response, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from httpbed.addons.handover.handover_deliveries import STALLED_BYTES
from httpbed.addons.handover.handover_evidence import FOR_GOOD_NS, HandoverChange
from httpbed.addons.handover.handover_metrics import HandoverWindow, ObservedHandovers
from httpbed.base.clock import NS
from httpbed.experiment.trial import HandoverEvent, HandoverOutcome

COUNTED: Mapping[HandoverOutcome, str] = {
    "migrated": "migrated",
    "new connection": "by a new connection",
    "answered only": "answered only",
    "nothing": "not followed",
    "over before": "when the client was done",
    "not known": "not known",
}
FOLLOWED: frozenset[HandoverOutcome] = frozenset({"migrated", "new connection"})
_HANDSHAKES = frozenset({"initial", "0-rtt", "handshake"})
_CHALLENGE_BYTES = 1200
"""RFC 9000 section 8.2.1: path validation uses datagrams of at least this size. A stateless reset
has some 40 bytes."""

HandoverVerdict = tuple[HandoverOutcome, str]
Connection = Mapping[str, Any]


def verdicts(handovers: ObservedHandovers) -> list[HandoverVerdict]:
    """Return the verdict on every hand-over."""
    return [_verdict(handovers, window) for window in handovers.windows]


def _verdict(handovers: ObservedHandovers, window: HandoverWindow) -> HandoverVerdict:
    """Return how the client reacted to a hand-over, and what shows it."""
    if handovers.is_over_before(window):
        return "over before", "the client ended before a response could arrive there"
    beyond = handovers.beyond(window)
    there = handovers.begun(beyond, window)
    return (
        _anew(handovers.begun(window.change.entered, window), window)
        or _same(there, handovers, window)
        or _returned(handovers, window)
        or _answered(there, handovers, window)
        or ("nothing", _not_followed(handovers, window, there))
    )


def _anew(there: Sequence[Connection], window: HandoverWindow) -> HandoverVerdict | None:
    """Return the verdict for a new connection with a complete handshake."""
    for connection in there:
        is_tcp = connection["protocol"] == "tcp"
        if (is_tcp or connection.get("opening") in _HANDSHAKES) and _is_up(connection):
            what = "TCP" if is_tcp else "QUIC, with a handshake of its own,"
            return "new connection", f"a new connection: {what} over {window.change.entered}"
    return None


def _is_up(connection: Connection) -> bool:
    is_whole = connection["handshake_ns"] is not None
    return is_whole or connection["server_payload_bytes"] >= STALLED_BYTES


def _same(
    there: Sequence[Connection], handovers: ObservedHandovers, window: HandoverWindow
) -> HandoverVerdict | None:
    """Return the verdict for a connection that continued and received data."""
    for connection in there:
        if _goes_on(connection, handovers) and _carries(connection, handovers, window):
            return "migrated", _migrated(handovers, connection)
    return None


def _goes_on(connection: Connection, handovers: ObservedHandovers) -> bool:
    """Whether a connection began with a short header, which may be greased (RFC 9287).

    An unknown first datagram counts as a short header if httpbed knows the client's handshakes, and
    this path has none.
    """
    if connection.get("opening") != "other":
        return connection.get("opening") == "short"
    near = handovers.chain.hops[0].near(handovers.evidence.connections)
    return connection["handshake_ns"] is None and any(o.get("opening") in _HANDSHAKES for o in near)


def _carries(connection: Connection, handovers: ObservedHandovers, window: HandoverWindow) -> bool:
    """Whether a connection received data at its new address, not only path validation.

    The rest of a body may be shorter; then the client must have ended well.
    """
    if connection["server_first_ns"] is None or _is_lone_and_small(connection):
        return False
    if handovers.handover.kind == "NAT rebinding":
        came, elsewhere = int(connection["server_payload_bytes"]), 0
    else:
        entered, until_ns = window.change.entered, window.until_ns
        since_ns = connection["server_first_ns"] - handovers.evidence.link["started_ns"]
        others = set(handovers.observed.deliveries) - {entered}
        came = handovers.delivered_bytes(entered, window.change.at_ns, until_ns)
        elsewhere = sum(handovers.delivered_bytes(link, since_ns, until_ns) for link in others)
    client, is_last = handovers.evidence.client, window.until_ns == handovers.end_ns
    got_the_rest = is_last and client is not None and client.clean and came > elsewhere
    return came >= STALLED_BYTES or got_the_rest


def _is_lone_and_small(connection: Connection) -> bool:
    sizes = list(connection.get("server_first_sizes") or [])
    return len(sizes) == 1 and sizes[0] < _CHALLENGE_BYTES


def _returned(handovers: ObservedHandovers, window: HandoverWindow) -> HandoverVerdict | None:
    """Return the verdict for a client that is back on an earlier path, where nothing begins."""
    before, entered = handovers.before(window), window.change.entered
    if before is None or window.change.left == entered or not handovers.is_on(entered, window):
        return None
    is_quic = handovers.chain.hops[0].transport == "quic"
    if is_quic and handovers.is_on(window.change.left, before):
        return "migrated", f"migrated: same connection, back on its earlier path over {entered}"
    return "nothing", f"no hand-over was followed: the client had stayed on {entered}"


def _answered(
    there: Sequence[Connection], handovers: ObservedHandovers, window: HandoverWindow
) -> HandoverVerdict | None:
    """Return the verdict for a path with a response and no data."""
    with_response = (known for known in there if known["server_first_ns"] is not None)
    answered = next(with_response, None)
    if answered is None:
        return None
    link, is_tcp = handovers.beyond(window), answered["protocol"] == "tcp"
    if is_tcp and handovers.handover.kind == "NAT rebinding":
        return None
    if is_tcp:
        how = "was refused" if answered["server_reset"] else "had no handshake to its end"
        return "answered only", f"answered only: a new connection over {link} {how}"
    if answered.get("opening") == "other":
        return "not known", f"not known: what came over {link} looks like no known header"
    if _is_lone_and_small(answered):
        size = answered["server_first_sizes"][0]
        how = "" if answered.get("opening") in _HANDSHAKES else ": perhaps a stateless reset"
        return "answered only", f"answered once over {link}, by a datagram of {size} bytes{how}"
    sizes = f"first datagrams of {_first_sizes(answered, 'server')} bytes"
    return "answered only", (
        f"answered only: {answered['server_payload_bytes']} bytes came back over {link}, {sizes},"
        " and no data went on there"
    )


def _migrated(handovers: ObservedHandovers, same: Connection) -> str:
    before = _before(same, handovers)
    what = "migrated behind its NAT" if handovers.handover.kind == "NAT rebinding" else "migrated"
    return (
        f"{what}: same connection, {f'from {before} ' if before else ''}to {same['client']}, no"
        f" handshake on the new path; first datagrams of {_first_sizes(same, 'client')} bytes"
        f" there, of {_first_sizes(same, 'server')} back"
    )


def _not_followed(
    handovers: ObservedHandovers, window: HandoverWindow, there: Sequence[Connection]
) -> str:
    entered = window.change.entered
    if handovers.handover.kind != "NAT rebinding":
        what = "was sent" if not there else "was answered of what was sent"
        return f"no hand-over was followed: nothing {what} over {entered}"
    if not handovers.beyond(window):
        return "not observed: no link lies behind the NAT"
    if there and there[0]["protocol"] == "tcp":
        return f"from {there[0]['client']}, which for TCP is another connection"
    return "nothing more came through the NAT" if not there else "nothing came back to the NAT"


def _before(same: Connection, handovers: ObservedHandovers) -> str:
    """Return the address from which the client sent before: that of its last connection."""
    hop, connections = handovers.chain.hops[0], handovers.evidence.connections
    begun = [
        (known["client_first_ns"] or 0, known["client"])
        for known in (*hop.near(connections), *hop.over(same["link"], connections))
        if known["protocol"] == "udp" and known["client"] != same["client"]
    ]
    earlier = [pair for pair in begun if pair[0] < same["client_first_ns"]]
    return max(earlier, key=itemgetter(0))[1] if earlier else ""


def _first_sizes(connection: Connection, side: str) -> str:
    """Return the sizes of the first datagrams; a challenge has at least 1200 bytes.

    RFC 9000 section 8.2.1, unless the amplification limit allows less.
    """
    return ", ".join(map(str, connection.get(f"{side}_first_sizes") or ["no"]))


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
