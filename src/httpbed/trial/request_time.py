"""When a client's request was over, by the packets on its own links.

A request ends when the client closes, but not before the answer has arrived: a client that closes
its side while the server still sends would choose its own time. The emulator reports the last
delivery that belongs to the answer (``crates/wire/src/answer.rs``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from httpbed.experiment.clock import NS
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import NetworkHop


def seconds(hop: NetworkHop, evidence: AttemptEvidence) -> float | None:
    """Return the seconds from the client's first packet to the end of its last connection."""
    connections = hop.near(evidence.connections)
    if not connections:
        return None
    first = min(connection["client_first_ns"] for connection in connections)
    return float(max(ended_ns(one, evidence) for one in connections) - first) / NS


def ended_ns(connection: Mapping[str, Any], evidence: AttemptEvidence) -> int:
    """Return when a connection's client had closed and its answer had arrived.

    Results of older emulators lack the answer's end.
    """
    closed_ns = int(connection["client_close_ns"] or connection["client_last_ns"])
    answered_ns = connection.get("answer_last_ns")
    if answered_ns is None or _is_to_nobody(connection["link"], answered_ns, evidence):
        return closed_ns
    return max(closed_ns, int(answered_ns))


def _is_to_nobody(link: str, at_ns: int, evidence: AttemptEvidence) -> bool:
    """Whether the client's address on a link was gone, so that nobody got a delivery."""
    if evidence.handover is None:
        return False
    since_ns = at_ns - evidence.link["started_ns"]
    spans = evidence.handover.absences.get(link, ())
    return any(gone_ns <= since_ns <= back_ns for gone_ns, back_ns in spans)
