"""In which state a load begins: what the browser does before, and what is left of that.

========================  ==================  ===========================================
visit                     before              what is left of it
========================  ==================  ===========================================
``cold``                  nothing             nothing
``warm connection``       a file per origin   everything; the page uses what is connected
``resumed``               a file per origin   TLS tickets; its connections are ended
``early data``            a file per origin   likewise, and the page's first request uses one
``discovery``             a file per origin   what was said of HTTP/3 (Alt-Svc); likewise
``repeat view``           the page            the HTTP cache: the browser is started anew
========================  ==================  ===========================================

The file is none of the page's, so that nothing of the page is in a cache. The browser's caches are
never cleared by command: that forgets what was said of HTTP/3, too.
"""

from __future__ import annotations

from collections.abc import Sequence

PRIOR_PATH = "/.httpbed/prior.txt"
ICON_PATH = "/favicon.ico"
"""What a browser with a window asks for by itself, where a document names no icon."""
COLD = "cold"
VISITS = (COLD, "warm connection", "repeat view", "resumed", "early data", "discovery")
REPEAT_VIEW = "repeat view"
DISCOVERY = "discovery"
EARLY_DATA = "early data"
_UNCONNECTED = ("resumed", EARLY_DATA, DISCOVERY)
_PORT_OF_HTTPS = 443


def before(visit: str, url: str, names: Sequence[str], port: int) -> list[str]:
    """List what is visited before a page is loaded."""
    if visit == COLD:
        return []
    if visit == REPEAT_VIEW:
        return [url]
    return _urls(names, port, PRIOR_PATH)


def icons(names: Sequence[str], port: int) -> list[str]:
    """List the icons that a browser asks each origin for by itself."""
    return _urls(names, port, ICON_PATH)


def _urls(names: Sequence[str], port: int, path: str) -> list[str]:
    where = "" if port == _PORT_OF_HTTPS else f":{port}"
    return [f"https://{name}{where}{path}" for name in names]


def ended_transport(visit: str, http_version: str) -> str:
    """Say whose connections are ended before the page is loaded: ``tcp``, ``udp`` or nobody's."""
    if visit not in _UNCONNECTED:
        return ""
    return "udp" if http_version == "3" and visit != DISCOVERY else "tcp"
