"""Host name and path under which a recorded request is replayed.

Browsers normalise a URL before they request it (URL Standard, 4.4). A recorded URL may be written
otherwise, so it is normalised in the same way: the server must know what the browser requests.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import quote, unquote, urlsplit

from httpbed.addons.pages.page import OriginName
from httpbed.addons.pages.sites.site import MOST_PATH
from httpbed.base.value import Value

RENAMED = "replayed.httpbed.test"
"""Suffix for the names of origins that a browser would not look up."""
_HAS_DOT_SEGMENT = re.compile(r"(^|/)(\.|%2e){1,2}(/|$)", re.IGNORECASE)
_OWN_RESOLUTION = ("localhost", "onion", "invalid")
"""Names that browsers resolve themselves, or never."""
_LEFT_IN_PATHS = "/:@!$&'()*+,;=-._~%[]"
_LEFT_IN_QUERIES = "/?:@!$&()*+,;=-._~%[]|^\\`{}"


class WrongUrlError(ValueError):
    """A URL that cannot be replayed; the message says why."""


class _Name(Value):
    name: OriginName


def place(url: str) -> tuple[str, str]:
    """Return host name, and path with query, of a URL on port 443.

    Raises:
        WrongUrlError: No browser would request it, or no server could answer.
    """
    split = urlsplit(re.sub(r"[\t\r\n]", "", url.strip()))
    return host(split.scheme, split.hostname or "", split.port), path(split.path, split.query)


def host(scheme: str, name: str, port: int | None) -> str:
    """Return the name under which an origin is replayed, its own if a browser would look it up.

    Raises:
        WrongUrlError: It is not a host name.
    """
    name = name.rstrip(".").lower()
    changed = _without_address(name)
    if port not in (None, 80 if scheme.lower() == "http" else 443):
        changed = f"port-{port}.{changed}"
    if "." not in changed or changed.rsplit(".", 1)[1] in _OWN_RESOLUTION:
        changed = f"{changed}.{RENAMED}"
    try:
        ascii_name = changed if changed.isascii() else changed.encode("idna").decode()
        return _Name(name=ascii_name).name
    except ValueError:
        raise WrongUrlError(f"{name!r} is not a host name") from None


def _without_address(name: str) -> str:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name
    digits = re.sub(r"[^0-9a-f]+", "-", str(address)).strip("-")
    return f"address-{digits}.{RENAMED}"


def path(written: str, query: str) -> str:
    """Return path and query as browsers write them.

    Raises:
        WrongUrlError: The path is too long, or has a zero byte, which no server accepts.
    """
    normal = quote((written or "/").replace("\\", "/"), safe=_LEFT_IN_PATHS)
    if _HAS_DOT_SEGMENT.search(normal):
        normal = _without_dots(normal.split("/")[1:])
    if "%00" in normal or "\0" in unquote(normal):
        raise WrongUrlError("has a zero byte in its path")
    whole = normal + (f"?{quote(query, safe=_LEFT_IN_QUERIES)}" if query else "")
    if len(whole) > MOST_PATH:
        raise WrongUrlError(f"is longer than {MOST_PATH} bytes")
    return whole


def _without_dots(segments: Sequence[str]) -> str:
    kept: list[str] = []
    for number, segment in enumerate(segments, start=1):
        plain = segment.lower().replace("%2e", ".")
        if plain == "..":
            kept = kept[:-1]
        if plain not in (".", ".."):
            kept.append(segment)
        elif number == len(segments):
            kept.append("")
    return "/" + "/".join(kept)
