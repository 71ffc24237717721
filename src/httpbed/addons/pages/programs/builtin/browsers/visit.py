"""The state in which a load begins: the visit before it, and what remains of that visit.

========================  ==================  ==============================================
visit                     before              what remains of it
========================  ==================  ==============================================
``cold``                  nothing             nothing
``warm connection``       a file per origin   everything; the page uses the open connections
``resumed``               a file per origin   TLS tickets; connections are ended
``early data``            a file per origin   the same; the page's first request uses a ticket
``discovery``             a file per origin   Alt-Svc for HTTP/3; connections are ended
``repeat view``           the page            the HTTP cache; the browser is restarted
========================  ==================  ==============================================

The file does not belong to the page, so the cache has nothing of the page. The driver never clears
the browser's caches by command, because that also forgets Alt-Svc.
"""

from __future__ import annotations

from collections.abc import Sequence

PRIOR_PATH = "/.httpbed/prior.txt"
ICON_PATH = "/favicon.ico"
"""A browser with a window requests this path when a document names no icon."""
COLD = "cold"
VISITS = (COLD, "warm connection", "repeat view", "resumed", "early data", "discovery")
REPEAT_VIEW = "repeat view"
DISCOVERY = "discovery"
EARLY_DATA = "early data"
_ENDING_CONNECTIONS = ("resumed", EARLY_DATA, DISCOVERY)
_PORT_OF_HTTPS = 443


def before(visit: str, url: str, names: Sequence[str], port: int) -> list[str]:
    """List the URLs to visit before a page is loaded."""
    if visit == COLD:
        return []
    if visit == REPEAT_VIEW:
        return [url]
    return _urls(names, port, PRIOR_PATH)


def icons(names: Sequence[str], port: int) -> list[str]:
    """List the icon URLs that a browser requests by itself."""
    return _urls(names, port, ICON_PATH)


def _urls(names: Sequence[str], port: int, path: str) -> list[str]:
    where = "" if port == _PORT_OF_HTTPS else f":{port}"
    return [f"https://{name}{where}{path}" for name in names]


def ended_transport(visit: str, http_version: str) -> str:
    """Return the transport of the connections to end before the load, or an empty text."""
    if visit not in _ENDING_CONNECTIONS:
        return ""
    return "udp" if http_version == "3" and visit != DISCOVERY else "tcp"
