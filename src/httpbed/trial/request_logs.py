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
from httpbed.trial.evidence import Seen
from httpbed.trial.hops import Chain, Leg


@dataclass(frozen=True)
class Account:
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


def of_leg(leg: Leg, chain: Chain, seen: Seen) -> list[Account]:
    """Gather what is told of the requests on a hop; empty where nobody tells."""
    told = [answered(leg.hop.server, seen), _asked(leg, chain, seen)]
    return [account for account in told if account.requests]


def of_chain(chain: Chain, seen: Seen) -> Iterator[Account]:
    """Yield what each side tells of all requests: the servers together, each proxy, the client."""
    served = [answered(name, seen) for name in chain.servers]
    log = served[0].by if len(served) == 1 else "the servers' logs"
    requests = tuple(request for account in served for request in account.requests)
    yield Account(log, requests, is_owed=served[0].is_owed)
    for name in chain.proxies:
        yield answered(name, seen)
    yield Account(f"the {chain.client}", seen.findings[chain.client].requests)


def answered(name: str, seen: Seen) -> Account:
    """Return what a server or proxy logged of those who asked it."""
    return Account(f"the {name}'s log", seen.findings[name].requests, name not in seen.silent)


def complaints(names: Iterable[str], seen: Seen) -> list[str]:
    """List what is wrong with the logs of servers and proxies."""
    return [said for name in names if (said := seen.findings[name].complaint)]


def _asked(leg: Leg, chain: Chain, seen: Seen) -> Account:
    """Return the word of who asked: a client's own, or what a proxy logged of its own requests.

    Of several servers a proxy does not tell which it asked when.
    """
    requests = seen.findings[leg.hop.client].requests
    if leg.hop.client == chain.client:
        return Account(f"the {chain.client}", requests)
    upstream = tuple(
        replace(one, http_version=one.upstream_http_version)
        for one in requests
        if one.upstream_http_version and len(chain.servers) == 1
    )
    return Account(f"the {leg.hop.client}'s log", upstream)
