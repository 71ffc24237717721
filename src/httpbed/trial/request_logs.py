"""Who tells of a hop's requests: the log of who answered, and the word of who asked; pure.

A program's silence is no evidence: some servers keep no log and some clients print nothing. Who
keeps one must have logged every request, though: an empty log may be one that was lost. A log that
cannot be read is told as the complaint that it is.
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
    """What one part tells of requests."""

    by: str
    """Whose word it is, such as ``the server's log``."""
    requests: tuple[LoggedRequest, ...]
    is_owed: bool = False
    """Whether it must tell of every request."""

    def statuses(self) -> Counter[int]:
        """Count the answers by their status."""
        return Counter(request.status for request in self.requests)

    def statuses_told(self) -> str:
        """Say which statuses it tells."""
        said = [
            f"{count} of {status}" if count > 1 else f"{status}"
            for status, count in sorted(self.statuses().items())
        ]
        return f"{', '.join(said) or 'none'}, by {self.by}"


def of_hop(hop: NetworkHop, chain: Chain, evidence: AttemptEvidence) -> list[RequestLog]:
    """Gather what is told of the requests on a hop; empty where nobody tells."""
    told = [answered(hop.server, evidence), _asked(hop, chain, evidence)]
    return [account for account in told if account.requests]


def of_chain(chain: Chain, evidence: AttemptEvidence) -> Iterator[RequestLog]:
    """Yield what each side tells of all requests: the servers together, each proxy, the client."""
    served = [answered(name, evidence) for name in chain.servers]
    log = served[0].by if len(served) == 1 else "the servers' logs"
    requests = tuple(request for account in served for request in account.requests)
    yield RequestLog(log, requests, is_owed=served[0].is_owed)
    for name in chain.proxies:
        yield answered(name, evidence)
    yield RequestLog(f"the {chain.client}", evidence.reports[chain.client].requests)


def answered(name: str, evidence: AttemptEvidence) -> RequestLog:
    """Return what a server or proxy logged of those who asked it."""
    return RequestLog(
        f"the {name}'s log", evidence.reports[name].requests, name not in evidence.silent
    )


def complaints(names: Iterable[str], evidence: AttemptEvidence) -> list[str]:
    """List what is wrong with the logs of servers and proxies."""
    return [said for name in names if (said := evidence.reports[name].complaint)]


def _asked(hop: NetworkHop, chain: Chain, evidence: AttemptEvidence) -> RequestLog:
    """Return the word of who asked: a client's own, or what a proxy logged of its own requests.

    Of several servers a proxy does not tell which it asked when.
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
