"""When a client's request was over, by the packets on its own links.

A request ends when the client closes, but not before the answer has arrived: a client that closes
its side while the server still sends would choose its own time. The emulator reports the last
delivery that may belong to the answer (``crates/wire/src/answer.rs``). TCP's sequence numbers make
that certain. Over QUIC a datagram that arrives after the client's last one may be a needless
repetition, which was under way when the client closed. It is one if

* the client had received the length of the bodies by then, and
* the server sent no large datagram after it had heard from the client for the last time: a client
  that ends without a word is not believed, because its server repeats what it did not acknowledge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from httpbed.base.clock import NS
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import NetworkHop

Connection = Mapping[str, Any]


def seconds(hop: NetworkHop, evidence: AttemptEvidence, size: int) -> float | None:
    """Return the seconds from the client's first packet to the end of its last connection.

    ``size`` is the length of all bodies; 0 if it is not known.
    """
    connections = hop.near(evidence.connections)
    if not connections:
        return None
    first = min(connection["client_first_ns"] for connection in connections)
    return float(ended_ns(hop, evidence, size) - first) / NS


def ended_ns(hop: NetworkHop, evidence: AttemptEvidence, size: int) -> int:
    """Return when the client of a hop with connections had closed and its answer had arrived."""
    is_whole = _is_whole(hop, evidence, size)
    return max(
        max(_closed_ns(one), _answered_ns(one, evidence, is_whole=is_whole))
        for one in hop.near(evidence.connections)
    )


def received(hops: Sequence[NetworkHop], evidence: AttemptEvidence) -> int:
    """Return the payload that was delivered to a client of these hops until its answers ended.

    Results of older emulators tell only what its links delivered in the whole trial.
    """
    connections = [one for hop in hops for one in hop.near(evidence.connections)]
    if all("answer_bytes" in one for one in connections):
        return sum(int(one["answer_bytes"]) for one in connections)
    sides = {path.downstream for hop in hops for path in hop.paths}
    return sum(int(evidence.link["directions"][one]["bytes"]["delivered"]) for one in sides)


def _closed_ns(connection: Connection) -> int:
    return int(connection["client_close_ns"] or connection["client_last_ns"])


def _answered_ns(connection: Connection, evidence: AttemptEvidence, *, is_whole: bool) -> int:
    """Return when the answer had arrived; results of older emulators do not tell."""
    at_ns = connection.get("answer_last_ns")
    is_repetition = is_whole and connection["protocol"] == "udp"
    if at_ns is None or is_repetition or _is_to_nobody(connection["link"], at_ns, evidence):
        return 0
    return int(at_ns)


def _is_whole(hop: NetworkHop, evidence: AttemptEvidence, size: int) -> bool:
    """Whether QUIC's answer was whole before the client's last datagrams, and the server knew."""
    near, far = hop.near(evidence.connections), hop.far(evidence.connections)
    had = sum(map(_had, near))
    if evidence.moves is not None:  # a server learns late that the client has left a path
        far = [max(far, key=_closed_ns)] if far else []
    return had >= size and not any(map(_went_on, far))


def _had(connection: Connection) -> int:
    heard = connection.get("heard_bytes")
    return int(connection.get("answer_bytes") or 0) if heard is None else int(heard)


def _went_on(connection: Connection) -> bool:
    """Whether the server sent a large datagram after the client's last one had reached it."""
    heard_ns, large_ns = connection.get("client_heard_ns"), connection.get("server_last_large_ns")
    return heard_ns is not None and large_ns is not None and large_ns > heard_ns


def _is_to_nobody(link: str, at_ns: int, evidence: AttemptEvidence) -> bool:
    """Whether the client's address on a link was gone, so that nobody got a delivery."""
    since_ns = at_ns - evidence.link["started_ns"]
    return any(gone_ns <= since_ns <= back_ns for gone_ns, back_ns in evidence.absences(link))
