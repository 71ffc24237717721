"""Where a URL leads: to a host of the public Internet, or to this machine or its own network.

Who fetches what somebody else wrote must not ask the networks behind the user's firewall for it. So
names are resolved here, once, and the fetch is held to the addresses that were looked at: a name
cannot lead elsewhere the second time.
"""

from __future__ import annotations

import re
import socket
import time
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit, urlunsplit

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_.])?|[0-9a-f:.]*:[0-9a-f:.]*")
_OWN_NAMES = re.compile(
    r"(.*\.)?(localhost|local|internal|intranet|lan|home|corp|home\.arpa)|[^.]*"
)
"""Names that no public resolver knows (RFC 6761, RFC 6762, RFC 8375, and what is in use)."""
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv4 behind IPv6 (RFC 6052 section 2.1)."""
_AT_ONCE = 16


class UnreachableError(Exception):
    """Nothing may be asked there, or nobody is there; in words."""


@dataclass(frozen=True)
class Destination:
    """Where a URL leads."""

    url: str
    """With its host as it is looked up: the same to whoever reads it."""
    host: str
    port: int
    addresses: tuple[str, ...]
    """Those of a name; none of an address, and of a name that only a proxy can resolve."""


def destination(url: str, *, may_be_inside: bool) -> Destination:
    """Look up where a URL leads.

    Raises:
        UnreachableError: It cannot be fetched, or leads into the user's own network, which is only
            permitted where it ``may_be_inside``.
    """
    plain, host, port = _plain(url)
    literal = _literal(host)
    addresses = () if literal else _resolved(host, port, plain)
    known = [literal] if literal else [ip_address(one) for one in addresses]
    inside = any(map(is_inside, known)) if known else bool(_OWN_NAMES.fullmatch(host.rstrip(".")))
    if inside and not may_be_inside:
        raise UnreachableError(f"{host} is in this machine's own network, and the page is not")
    return Destination(plain, host, port, addresses)


def destinations(
    urls: Iterable[str], *, may_be_inside: bool, ends: float
) -> Mapping[str, Destination | UnreachableError]:
    """Look up many URLs, several at a time, until ``ends`` by the monotonic clock."""

    def look(url: str) -> Destination | UnreachableError:
        if time.monotonic() > ends:
            return UnreachableError("it was not fetched in time")
        try:
            return destination(url, may_be_inside=may_be_inside)
        except UnreachableError as error:
            return error

    wanted = list(dict.fromkeys(urls))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(wanted, pool.map(look, wanted), strict=True))


def leads_inside(url: str) -> bool:
    """Whether a URL leads to this machine or its own network."""
    try:
        destination(url, may_be_inside=False)
    except UnreachableError:
        try:
            destination(url, may_be_inside=True)
        except UnreachableError:
            return False
        return True
    return False


def is_inside(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is none of the public Internet."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _TRANSLATED:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_inside(inner)
    return not address.is_global or address.is_multicast


def _plain(url: str) -> tuple[str, str, int]:
    """Return a URL that everybody reads alike, its host, and its port."""
    try:
        found = urlsplit(url)
        said = (found.hostname or "").lower()
        host = said if said.isascii() else said.encode("idna").decode()
        port = found.port or _PORTS[found.scheme]
    except (ValueError, KeyError):
        raise UnreachableError("it has no address that can be fetched") from None
    if "@" in found.netloc or "\\" in url or not _HOST.fullmatch(host):
        raise UnreachableError("it has no address that can be fetched")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port == _PORTS[found.scheme] else f"{shown}:{port}"
    return urlunsplit((found.scheme, place, found.path, found.query, "")), host, port


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host's name is, in any of the forms that have been in use."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:  # 127.1, 0x7f000001, 2130706433
        return IPv4Address(socket.inet_aton(host.rstrip(".")))
    except OSError:
        return None


def _resolved(host: str, port: int, url: str) -> tuple[str, ...]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        if _is_proxied(host, url):
            return ()
        raise UnreachableError(f"{host} cannot be resolved") from None
    addresses = dict.fromkeys(str(one[4][0]) for one in found)
    return tuple(address for address in addresses if "%" not in address)


def _is_proxied(host: str, url: str) -> bool:
    """Whether the user has somebody else fetch from there, who may know more names."""
    proxies = urllib.request.getproxies()
    has_one = urlsplit(url).scheme in proxies or "all" in proxies
    return has_one and not urllib.request.proxy_bypass(host)
