"""A client's requests: what its servers logged and it reports, and when they were over.

A program that keeps no log proves nothing. A program that keeps one must have logged every request:
an empty log may be a lost one. An unreadable log counts as a complaint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from httpbed.base.clock import NS
from httpbed.programs.part import LoggedRequest
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain, NetworkHop


@dataclass(frozen=True)
class RequestLog:
    """The requests that one part reports."""

    by: str
    """Its author, such as ``the server's log``."""
    requests: tuple[LoggedRequest, ...]
    is_complete: bool = False
    """Whether the program logs every request."""

    @property
    def is_evidence(self) -> bool:
        """Whether the log shows which requests were made; an empty one does if it is complete."""
        return bool(self.requests) or self.is_complete

    def statuses(self) -> Counter[int]:
        """Count the responses by status."""
        return Counter(request.status for request in self.requests)

    def statuses_in_words(self) -> str:
        """Write the statuses and the log's author."""
        counts = [
            f"{count} of {status}" if count > 1 else f"{status}"
            for status, count in sorted(self.statuses().items())
        ]
        return f"{', '.join(counts) or 'none'}, by {self.by}"


def versions_in_words(requests: Iterable[LoggedRequest]) -> str:
    """Write how many requests used each HTTP version; empty without any."""
    counts = Counter(request.http_version for request in requests)
    words = [f"{count} request(s) HTTP/{version}" for version, count in sorted(counts.items())]
    return ", ".join(words)


def of_hop(hop: NetworkHop, chain: Chain, evidence: AttemptEvidence) -> list[RequestLog]:
    """Return the logs of a hop's requests, without empty ones."""
    logs = [of_server(hop.server, evidence), _of_client(hop, chain, evidence)]
    return [log for log in logs if log.requests]


def of_chain(chain: Chain, evidence: AttemptEvidence) -> Iterator[RequestLog]:
    """Yield the log of all servers together, of each proxy and of the client."""
    served = [of_server(name, evidence) for name in chain.servers]
    by = served[0].by if len(served) == 1 else "the servers' logs"
    requests = tuple(request for log in served for request in log.requests)
    yield RequestLog(by, requests, is_complete=served[0].is_complete)
    for name in chain.proxies:
        yield of_server(name, evidence)
    yield RequestLog(f"the {chain.client}", evidence.reports[chain.client].requests)


def of_server(name: str, evidence: AttemptEvidence) -> RequestLog:
    """Return the requests that a server or proxy logged."""
    return RequestLog(
        f"the {name}'s log", evidence.reports[name].requests, name not in evidence.silent
    )


def complaints(names: Iterable[str], evidence: AttemptEvidence) -> list[str]:
    """List what is wrong with the logs of servers and proxies."""
    return [text for name in names if (text := evidence.reports[name].complaint)]


def _of_client(hop: NetworkHop, chain: Chain, evidence: AttemptEvidence) -> RequestLog:
    """Return the client's own report, or what a proxy logged of its upstream requests.

    A proxy's log does not say which of several servers got a request.
    """
    requests = evidence.reports[hop.client].requests
    if hop.client == chain.client:
        return RequestLog(f"the {chain.client}", requests)
    upstream = tuple(
        replace(request, http_version=request.upstream_http_version)
        for request in requests
        if request.upstream_http_version and len(chain.servers) == 1
    )
    return RequestLog(f"the {hop.client}'s log", upstream)


# When a client's request was over, by the packets on its own links.
#
# A request ends when the client closes, but not before the answer has arrived: a client that closes
# its side while the server still sends would choose its own time. The emulator reports the last
# delivery that may belong to the answer (``crates/wire/src/answer.rs``). TCP's sequence numbers
# make that certain. Over QUIC a datagram that arrives after the client's last one may be a needless
# repetition, which was under way when the client closed. It is one if
#
# * the client had received the length of the bodies by then, and
# * the server sent no large datagram after it had heard from the client for the last time: a
#   client that ends without a word is not believed, because its server repeats what it did not
#   acknowledge.
#
# A browser is closed by its driver, which may hear late that a file is whole: Chromium kept that to
# itself for up to 3.3 s. There the request of a download ends when the browser had the file.
#
# A client that hands over loses an address. What a link then delivers to that address is no part of
# its bodies, but shows that the answer had not ended before: it lasted until the address was gone,
# at least.


Connection = Mapping[str, Any]


def request_s(hop: NetworkHop, evidence: AttemptEvidence, size: int) -> float | None:
    """Return the seconds from the client's first packet to the end of its last connection.

    ``size`` is the length of all bodies that it fetches; 0 if it is not known.
    """
    connections = hop.near(evidence.connections)
    if not connections:
        return None
    first = min(connection["client_first_ns"] for connection in connections)
    return float(request_ended_ns(hop, evidence, size) - first) / NS


def request_ended_ns(hop: NetworkHop, evidence: AttemptEvidence, size: int) -> int:
    """Return when the client of a hop with connections was done and its answer had arrived."""
    near, is_whole = hop.near(evidence.connections), _is_whole(hop, evidence, size)
    done_ns = max(map(_closed_ns, near))
    if (whole_ns := evidence.reports[hop.client].whole_ns) is not None:
        done_ns = min(done_ns, whole_ns - int(evidence.link["origin_ns"]))
    return max(done_ns, *(_answered_ns(one, evidence, is_whole=is_whole) for one in near))


def received_bytes(hops: Sequence[NetworkHop], evidence: AttemptEvidence) -> int:
    """Return the payload that was delivered to a client of these hops until its answers ended.

    Of a client that uploads, it is what the links delivered to its server in the whole trial.
    Results of older emulators tell no more of other clients, either.
    """
    connections = [connection for hop in hops for connection in hop.near(evidence.connections)]
    fetches = all(hop.sender == hop.server for hop in hops)
    if fetches and all("answer_bytes" in connection for connection in connections):
        sizes = Counter[str]()
        for connection in connections:
            sizes[connection["link"]] += int(connection["answer_bytes"])
        return sum(min(size, evidence.most_taken(link, size)) for link, size in sizes.items())
    sides = {direction for hop in hops for direction in hop.arrivals}
    return sum(
        int(evidence.link["directions"][direction]["bytes"]["delivered"]) for direction in sides
    )


def _closed_ns(connection: Connection) -> int:
    return int(connection["client_close_ns"] or connection["client_last_ns"])


def _answered_ns(connection: Connection, evidence: AttemptEvidence, *, is_whole: bool) -> int:
    """Return when the answer had arrived; results of older emulators do not tell."""
    at_ns = connection.get("answer_last_ns")
    if at_ns is None or (is_whole and connection["protocol"] == "udp"):
        return 0
    return _taken_ns(connection["link"], int(at_ns), evidence)


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


def _taken_ns(link: str, at_ns: int, evidence: AttemptEvidence) -> int:
    """Return when the client can have taken a delivery last: before its address was gone."""
    started_ns = int(evidence.link["started_ns"])
    spans = evidence.absences(link)
    inside = (gone for gone, back in spans if gone <= at_ns - started_ns <= back)
    return next((started_ns + gone_ns for gone_ns in inside), at_ns)
