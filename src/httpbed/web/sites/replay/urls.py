"""Where a recorded request is asked for when it is replayed: host name and path.

Browsers write a URL in one way only before they ask for it (URL Standard, 4.4). A recording from
elsewhere may write it otherwise, so it is written here as they would: what a server is asked for
must be what it was told that it has.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import quote, unquote, urlsplit

from httpbed.experiment.page import OriginName
from httpbed.experiment.value import Value
from httpbed.web.sites.site import MOST_PATH

RENAMED = "replayed.httpbed.test"
"""Below it are the names of origins that have none, or none that a browser asks anybody for."""
_HAS_DOT_SEGMENT = re.compile(r"(^|/)(\.|%2e){1,2}(/|$)", re.IGNORECASE)
_OWN_RESOLUTION = ("localhost", "onion", "invalid")
"""Names of which browsers know the address, or that there is none."""
_LEFT_IN_PATHS = "/:@!$&'()*+,;=-._~%[]"
_LEFT_IN_QUERIES = "/?:@!$&()*+,;=-._~%[]|^\\`{}"


class WrongUrlError(ValueError):
    """No server can be asked for it; the message says why."""


class _Name(Value):
    name: OriginName


def place(url: str) -> tuple[str, str]:
    """Return host name and path, with its query, of what a URL leads to on port 443.

    Raises:
        WrongUrlError: No browser would ask for it, or no server answer.
    """
    split = urlsplit(re.sub(r"[\t\r\n]", "", url.strip()))
    return host(split.scheme, split.hostname or "", split.port), path(split.path, split.query)


def host(scheme: str, name: str, port: int | None) -> str:
    """Return the name under which an origin is replayed: its own, where a browser would ask there.

    Raises:
        WrongUrlError: It is no name.
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
        raise WrongUrlError(f"{name!r} is no host name") from None


def _without_address(name: str) -> str:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name
    digits = re.sub(r"[^0-9a-f]+", "-", str(address)).strip("-")
    return f"address-{digits}.{RENAMED}"


def path(said: str, query: str) -> str:
    """Return path and query as browsers write them.

    Raises:
        WrongUrlError: It is too long, or has a byte 0 that no server takes.
    """
    found = quote((said or "/").replace("\\", "/"), safe=_LEFT_IN_PATHS)
    if _HAS_DOT_SEGMENT.search(found):
        found = _without_dots(found.split("/")[1:])
    if "%00" in found or "\0" in unquote(found):
        raise WrongUrlError("has a byte 0 in its path")
    whole = found + (f"?{quote(query, safe=_LEFT_IN_QUERIES)}" if query else "")
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
