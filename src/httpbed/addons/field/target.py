"""The URL to measure, and the one address that every request goes to.

The host is resolved here, once, and curl is told the address for every host and port. So neither a
second answer of the name server (DNS rebinding), nor a URL that curl reads in another way, leads a
request elsewhere.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from httpbed.base.addresses import Address, is_inside, is_never_a_server
from httpbed.base.errors import ConfigError, HostError, Mistake

HTTPS_PORT = 443
MAX_URL_CHARACTERS = 2000
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?")
_LAST_LABEL_OF_A_NUMBER = re.compile(r"(.*\.)?(\d+|0[xX][0-9A-Fa-f]*)\.?")
"""Hosts that URL parsers read as an IPv4 address, such as ``0x7f.1`` (WHATWG URL, 3.5)."""
_NOT_PRINTED = re.compile(r"[^!-~]|[\\\"<>^`{|}]")
"""Characters that a URL never has (RFC 3986)."""


@dataclass(frozen=True)
class Url:
    """An https URL, checked."""

    text: str
    host: str
    """A name or an address without brackets."""
    port: int


@dataclass(frozen=True)
class Target:
    """A URL and the address to which every request goes."""

    url: Url
    address: Address
    others: tuple[Address, ...] = ()
    """Further addresses of the host, which get no request."""


def read_url(text: str) -> Url:
    """Read a URL without mistakes."""
    text = text.partition("#")[0]  # a fragment is never sent
    parts = urlsplit(text)
    return Url(text, str(parts.hostname), parts.port or HTTPS_PORT)


def url_mistakes(text: str) -> Iterator[Mistake]:
    """Yield each mistake in a URL."""
    for reason, remedy in _mistakes(text):
        yield Mistake(text[:MAX_URL_CHARACTERS], reason, remedy)


def _mistakes(text: str) -> Iterator[tuple[str, str]]:
    """Yield the reason and the remedy of each mistake in a URL."""
    if len(text) > MAX_URL_CHARACTERS:
        yield f"has more than {MAX_URL_CHARACTERS} characters", "measure another URL"
        return
    if _NOT_PRINTED.search(text):
        reason = "has characters that no URL has"
        yield reason, "percent-encode them, and write an international name in ASCII (xn--...)"
        return
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        yield f"is no URL: {error}", "write https://HOST/FILE"
        return
    if parts.scheme != "https":
        reason = "is not an https URL; HTTP/2 and HTTP/3 are compared over TLS only"
        yield reason, "write https://HOST/FILE"
    if port == 0:
        yield "has port 0", "write a port from 1 to 65535, or none"
    if "@" in parts.netloc:
        reason = "has a user or a password, which would be printed with the results"
        yield reason, "leave them out"
    yield from _host_mistakes(parts)


def _host_mistakes(parts: SplitResult) -> Iterator[tuple[str, str]]:
    host = parts.hostname or ""
    if is_address(host):
        return
    if not _HOST.fullmatch(host):
        yield "has no valid host", "write https://HOST/FILE"
    elif _LAST_LABEL_OF_A_NUMBER.fullmatch(host):
        yield (
            f"has the host {host}, which programs read as different addresses",
            "write the address as four decimal numbers",
        )


def is_address(host: str) -> bool:
    """Whether a host is an IP address without a zone, which URLs do not have."""
    try:
        return "%" not in host and bool(ip_address(host))
    except ValueError:
        return False


def find(url: Url, *, is_own: bool) -> Target:
    """Resolve the host of a URL, and choose the address that this machine prefers (RFC 6724).

    Raises:
        ConfigError: The host has no address, or one that must not be measured.
        HostError: This machine has no route to it.
    """
    addresses = resolved(url)
    if not addresses:
        reason = "cannot be resolved to an address"
        raise ConfigError(
            [Mistake(url.host, reason, "check the name, and this machine's resolver")]
        )
    first, *others = addresses
    if mistake := permission_mistake(url.host, first, is_own=is_own):
        raise ConfigError([mistake])
    _require_route(url, first)
    return Target(url, first, tuple(others))


def resolved(url: Url) -> list[Address]:
    """Return the addresses of a host, the preferred one first; empty if it has none."""
    try:
        answers = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    texts = dict.fromkeys(str(answer[4][0]) for answer in answers)
    return [ip_address(text.partition("%")[0]) for text in texts]


def permission_mistake(host: str, address: Address, *, is_own: bool) -> Mistake | None:
    """Return why an address must not be measured; None if it may."""
    place = host if is_address(host) else f"{host} ({address})"
    if is_never_a_server(address):
        reason = "is a link-local, multicast or reserved address, or a cloud's metadata service"
        return Mistake(place, f"{reason}: httpbed sends nothing there", "name another host")
    if is_inside(address) and not is_own:
        reason = "is an address of this machine or of a private network"
        return Mistake(place, reason, "add --i-own-this if the server is yours")
    return None


def _require_route(url: Url, address: Address) -> None:
    """Ask the kernel for a route, which sends nothing."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), url.port))
    except OSError as error:
        raise HostError(
            f"this machine has no route to {url.host} ({address}): {error.strerror}",
            f"connect this machine to a network with IPv{address.version},"
            " or measure a host that it reaches",
        ) from None


def changed(target: Target, now: Sequence[Address]) -> bool:
    """Whether the host's name, asked again, no longer has the address that is measured."""
    return bool(now) and target.address not in now
