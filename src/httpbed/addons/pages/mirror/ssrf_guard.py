"""Prevents server-side request forgery: checks whether a URL leads to the public Internet.

A fetched page must not cause requests to the networks behind the user's firewall. If the page
itself is there, its own server is permitted, and no other. So each name is resolved once, here, and
the fetch is pinned to the checked addresses: DNS rebinding has no effect.
"""

from __future__ import annotations

import re
import socket
import time
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit, urlunsplit

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_.])?|[0-9a-f:.]*:[0-9a-f:.]*")
_OWN_NAMES = re.compile(
    r"(.*\.)?(localhost|local|internal|intranet|lan|home|corp|home\.arpa)|[^.]*"
)
"""Names that public resolvers do not know (RFC 6761, RFC 6762, RFC 8375, and common practice)."""
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv4 behind IPv6 (RFC 6052 section 2.1)."""
_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""All that IANA has allocated of IPv6. Outside are the other forms of IPv4 within IPv6: compatible
(``::7f00:1``, RFC 4291), mapped, translated (``::ffff:0:7f00:1``, RFC 2765) and of local NAT64."""
_SPECIAL: tuple[IPv4Network | IPv6Network, ...] = (
    *map(IPv4Network, ("0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")),
    *map(IPv6Network, ("2001::/23", "3fff::/20")),
)
"""Ranges of IANA's registries of special-purpose addresses that older versions of ``ipaddress``
count as global, Teredo among them; and the metadata service of Azure."""
_AT_ONCE = 16


class UnreachableError(Exception):
    """The URL must not or cannot be fetched; the message says why."""


@dataclass(frozen=True)
class Permission:
    """What of the user's own network may be reached: one server, on some ports."""

    places: frozenset[str] = frozenset()
    """Its addresses; its name if only a proxy can resolve it."""
    ports: frozenset[int] = frozenset()


NOTHING = Permission()


@dataclass(frozen=True)
class Destination:
    """The server that a URL leads to."""

    url: str
    """The URL in a normal form that all parsers read alike."""
    host: str
    port: int
    addresses: tuple[str, ...]
    """The addresses of a name; empty if the host is an address or only a proxy can resolve it."""

    @property
    def places(self) -> frozenset[str]:
        """Where it is: its addresses, or the host."""
        return frozenset(self.addresses or [self.host])

    @property
    def inside(self) -> frozenset[str]:
        """Those of its places that are not on the public Internet."""
        return frozenset(filter(_is_place_inside, self.places))


def destination(url: str, permission: Permission = NOTHING) -> Destination:
    """Resolve and check a URL.

    Raises:
        UnreachableError: The URL cannot be fetched, or leads to a place in the user's own network
            that is not permitted. A name with one such address is refused whatever the others are.
    """
    found = _destination(url)
    if found.inside and not (found.places <= permission.places and found.port in permission.ports):
        own = "is in this machine's own network, of which only the page's own server is permitted"
        raise UnreachableError(f"{found.host}, port {found.port}, {own}")
    return found


def _destination(url: str) -> Destination:
    plain, host, port = _plain(url)
    literal = _literal(host)
    return Destination(plain, host, port, () if literal else _resolved(host, port, plain))


def permission_of(url: str) -> Permission:
    """Return what the URL of a page permits: its own server if that is in the own network.

    A name that is both there and outside permits nothing: its owner could choose the address. The
    usual ports are among those permitted, because pages redirect to HTTPS.
    """
    try:
        page = _destination(url)
    except UnreachableError:
        return NOTHING
    if page.inside != page.places:
        return NOTHING
    return Permission(page.places, frozenset({page.port, *_PORTS.values()}))


def destinations(
    urls: Iterable[str], permission: Permission, *, ends: float
) -> Mapping[str, Destination | UnreachableError]:
    """Resolve and check URLs concurrently, until ``ends`` on the monotonic clock."""

    def resolve(url: str) -> Destination | UnreachableError:
        if time.monotonic() > ends:
            return UnreachableError("it was not fetched in time")
        try:
            return destination(url, permission)
        except UnreachableError as error:
            return error

    wanted = list(dict.fromkeys(urls))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(wanted, pool.map(resolve, wanted), strict=True))


def is_inside(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is not on the public Internet."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return is_inside(IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _GLOBAL_UNICAST or (
            address.sixtofour is not None and is_inside(address.sixtofour)
        ):
            return True
    special = any(address in one for one in _SPECIAL if one.version == address.version)
    return not address.is_global or address.is_multicast or special


def _is_place_inside(place: str) -> bool:
    if literal := _literal(place):
        return is_inside(literal)
    return bool(_OWN_NAMES.fullmatch(place.rstrip(".")))


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
    if literal := _literal(host):
        host = str(literal)  # as curl may read another notation differently
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
    addresses = tuple(dict.fromkeys(str(one[4][0]) for one in answers))
    if any("%" in address for address in addresses):
        raise UnreachableError(f"{host} has a link-local address")
    return addresses


def _is_proxied(host: str, url: str) -> bool:
    """Whether the user's proxy, which may resolve more names, fetches this URL."""
    proxies = urllib.request.getproxies()
    has_one = urlsplit(url).scheme in proxies or "all" in proxies
    return has_one and not urllib.request.proxy_bypass(host)
