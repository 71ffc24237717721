"""Prevents server-side request forgery: checks whether a URL leads to the public Internet.

A fetched page must not cause requests to the networks behind the user's firewall. So each name is
resolved once, here, and the fetch is pinned to the checked addresses: DNS rebinding has no effect.
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
"""Names that public resolvers do not know (RFC 6761, RFC 6762, RFC 8375, and common practice)."""
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv4 behind IPv6 (RFC 6052 section 2.1)."""
_AT_ONCE = 16


class UnreachableError(Exception):
    """The URL must not or cannot be fetched; the message says why."""


@dataclass(frozen=True)
class Destination:
    """The server that a URL leads to."""

    url: str
    """The URL in a normal form that all parsers read alike."""
    host: str
    port: int
    addresses: tuple[str, ...]
    """The addresses of a name; empty if the host is an address or only a proxy can resolve it."""


def destination(url: str, *, may_be_inside: bool) -> Destination:
    """Resolve and check a URL.

    Raises:
        UnreachableError: The URL cannot be fetched, or leads into the user's own network although
            ``may_be_inside`` is false.
    """
    plain, host, port = _plain(url)
    literal = _literal(host)
    addresses = () if literal else _resolved(host, port, plain)
    known = [literal] if literal else [ip_address(one) for one in addresses]
    inside = any(map(is_inside, known)) if known else bool(_OWN_NAMES.fullmatch(host.rstrip(".")))
    if inside and not may_be_inside:
        raise UnreachableError(f"{host} is in this machine's own network, but the page is not")
    return Destination(plain, host, port, addresses)


def destinations(
    urls: Iterable[str], *, may_be_inside: bool, ends: float
) -> Mapping[str, Destination | UnreachableError]:
    """Resolve and check URLs concurrently, until ``ends`` on the monotonic clock."""

    def resolve(url: str) -> Destination | UnreachableError:
        if time.monotonic() > ends:
            return UnreachableError("it was not fetched in time")
        try:
            return destination(url, may_be_inside=may_be_inside)
        except UnreachableError as error:
            return error

    wanted = list(dict.fromkeys(urls))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(wanted, pool.map(resolve, wanted), strict=True))


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
    """Whether an address is not on the public Internet."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _TRANSLATED:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_inside(inner)
    return not address.is_global or address.is_multicast


def _plain(url: str) -> tuple[str, str, int]:
    """Return the normal form of a URL, its host, and its port."""
    try:
        parts = urlsplit(url)
        name = (parts.hostname or "").lower()
        host = name if name.isascii() else name.encode("idna").decode()
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise UnreachableError("it is not an HTTP or HTTPS URL that can be fetched") from None
    if "@" in parts.netloc or "\\" in url or not _HOST.fullmatch(host):
        raise UnreachableError("it is not an HTTP or HTTPS URL that can be fetched")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port == _PORTS[parts.scheme] else f"{shown}:{port}"
    return urlunsplit((parts.scheme, place, parts.path, parts.query, "")), host, port


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    """Return a host's literal address in any notation; None if the host is a name."""
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
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        if _is_proxied(host, url):
            return ()
        raise UnreachableError(f"{host} cannot be resolved") from None
    addresses = dict.fromkeys(str(one[4][0]) for one in answers)
    return tuple(address for address in addresses if "%" not in address)


def _is_proxied(host: str, url: str) -> bool:
    """Whether the user's proxy, which may resolve more names, fetches this URL."""
    proxies = urllib.request.getproxies()
    has_one = urlsplit(url).scheme in proxies or "all" in proxies
    return has_one and not urllib.request.proxy_bypass(host)
