"""The logs of a hop's requests: what its server logged and what its client reports.

A program that keeps no log proves nothing. A program that keeps one must have logged every request:
an empty log may be a lost one. An unreadable log counts as a complaint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from httpbed.programs.protocol import LoggedRequest
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
        replace(one, http_version=one.upstream_http_version)
        for one in requests
        if one.upstream_http_version and len(chain.servers) == 1
    )
    return RequestLog(f"the {hop.client}'s log", upstream)
