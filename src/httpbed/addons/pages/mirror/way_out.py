"""The recording browser's only way to the network, which keeps it out of the user's own.

A page must not cause requests to this machine or to the networks behind the user's firewall
(server-side request forgery). The browser's namespace has no device but loopback, so every
connection is asked of this SOCKS 5 proxy (RFC 1928), by name. Each name is resolved here, once, and
the connection goes to the addresses that were checked: another answer of the DNS has no effect. If
the page itself is in the own network, its own server is permitted, and no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from httpbed.base.addresses import is_inside
from httpbed.base.errors import ConfigError, Mistake

SOCKET = "way-out"
MAX_BYTES = 2**30
"""Upper bound of all that is carried to the browser."""
MAX_CONNECTIONS = 256
CONNECT_S = 20.0
CHUNK_BYTES = 2**16
_PORTS = {"http": 80, "https": 443}
_GREETING, _METHOD = b"\5\1\0", b"\5\0"
"""SOCKS 5 without authentication, the only method that browsers offer."""
_DONE, _NOT_ALLOWED, _UNREACHABLE = 0, 2, 4
_IPV4, _NAME, _IPV6 = 1, 3, 4
_OWN_NAMES = re.compile(
    r"(.*\.)?(localhost|local|internal|intranet|lan|home|corp|home\.arpa)\.?|[^.]*"
)
"""Names that public resolvers do not know (RFC 6761, RFC 6762, RFC 8375, and common practice)."""


class UnreachableError(Exception):
    """A destination must not or cannot be reached; the message says why."""


@dataclass(frozen=True)
class Permission:
    """What of the user's own network may be reached: addresses, on some ports."""

    addresses: frozenset[str] = frozenset()
    ports: frozenset[int] = frozenset()


async def permission_of(url: str) -> Permission:
    """Return what the URL of a page permits: its own server if that is in the own network.

    A name that is both there and outside permits nothing: its owner could choose the address. The
    usual ports are among those permitted, because pages redirect to HTTPS.

    Raises:
        ConfigError: It is no URL of HTTP, or its name cannot be resolved.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        addresses = await _resolved(host, port)
    except (ValueError, KeyError):
        raise ConfigError([Mistake(url, "is not a URL that a browser can load")]) from None
    except UnreachableError as error:
        raise ConfigError([Mistake(url, str(error), "check the URL and the network")]) from None
    if not addresses or not all(is_inside(ip_address(address)) for address in addresses):
        return Permission()
    return Permission(frozenset(addresses), frozenset({port, *_PORTS.values()}))


@dataclass
class GuardedProxy:
    """A running proxy."""

    permission: Permission
    refused: dict[str, str] = field(default_factory=dict)
    """Destinations that were not reached, and why."""
    is_exhausted: bool = False
    """Whether the page had more bytes than are carried."""
    _carried: int = 0
    _open: set[asyncio.Task[Any]] = field(default_factory=set)
    """The connections that are carried."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection of the browser."""
        task = asyncio.current_task()
        assert task  # noqa: S101 - this is a coroutine
        try:
            if len(self._open) < MAX_CONNECTIONS:
                self._open.add(task)
                # A browser or server may break off, or say nonsense.
                with contextlib.suppress(OSError, EOFError, ValueError):
                    await self._carry(reader, writer)
        finally:
            await _closed(writer)
            self._open.discard(task)

    async def end(self) -> None:
        """End all connections."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(CONNECT_S):
            host, port = await _requested(reader, writer)
            try:
                further = await self._connected(host, port)
            except UnreachableError as error:
                self.refused[f"{host}, port {port}"] = str(error)
                writer.write(_answer(_NOT_ALLOWED))
                return
            except OSError as error:
                self.refused[f"{host}, port {port}"] = error.strerror or str(error)
                writer.write(_answer(_UNREACHABLE))
                return
        writer.write(_answer(_DONE))
        try:
            await asyncio.gather(self._pump(reader, further[1]), self._pump(further[0], writer))
        finally:
            await _closed(further[1])

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(CHUNK_BYTES):
                self._carried += len(piece)
                self.is_exhausted |= self._carried > MAX_BYTES
                if self.is_exhausted:
                    break
                writer.write(piece)
                await writer.drain()
        writer.close()

    async def _connected(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        proxy = _proxy(host, port)
        addresses = await self._checked(host, port, is_proxied=proxy is not None)
        if proxy:
            return await _through(proxy, host, port)
        failure = OSError("has no address")
        for address in addresses:
            try:
                return await asyncio.open_connection(address, port)
            except OSError as error:
                failure = error
        raise failure

    async def _checked(self, host: str, port: int, *, is_proxied: bool) -> tuple[str, ...]:
        """Return the addresses of a destination; a name with a forbidden one has none.

        Raises:
            UnreachableError: It is in the own network and not permitted, or unknown.
        """
        try:
            addresses = await _resolved(host, port)
        except UnreachableError:
            # The user's proxy may know more names.
            if not is_proxied or _OWN_NAMES.fullmatch(host.lower()):
                raise
            return ()
        is_permitted = self.permission.addresses.issuperset(addresses)
        if any(is_inside(ip_address(address)) for address in addresses) and not (
            is_permitted and port in self.permission.ports
        ):
            raise UnreachableError("is in this machine's own network, which a page must not reach")
        return addresses


@asynccontextmanager
async def open_at(folder: Path, permission: Permission) -> AsyncIterator[GuardedProxy]:
    """Serve at a socket in a folder while the context lasts."""
    way = GuardedProxy(permission)
    server = await asyncio.start_unix_server(way.serve, folder / SOCKET)
    (folder / SOCKET).chmod(0o666)  # the browser may be another user's
    try:
        yield way
    finally:
        server.close()
        await way.end()


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _requested(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int]:
    """Return host and port that the browser asks for."""
    if await reader.readexactly(len(_GREETING)) != _GREETING:
        raise ValueError
    writer.write(_METHOD)
    version, command, _, kind = await reader.readexactly(4)
    if (version, command) != (5, 1):
        raise ValueError
    if kind == _NAME:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode("ascii")
    elif kind in (_IPV4, _IPV6):
        host = str(ip_address(await reader.readexactly(4 if kind == _IPV4 else 16)))
    else:
        raise ValueError
    return host, int.from_bytes(await reader.readexactly(2))


def _answer(code: int) -> bytes:
    return bytes([5, code, 0, _IPV4, 0, 0, 0, 0, 0, 0])


async def _resolved(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a host, a literal in any notation included."""
    try:
        answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UnreachableError("cannot be resolved") from None
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


def _proxy(host: str, port: int) -> tuple[str, int] | None:
    """Return host and port of the user's own proxy, if it fetches from this host."""
    proxies = urllib.request.getproxies()
    url = proxies.get("http" if port == _PORTS["http"] else "https") or proxies.get("all")
    if not url or urllib.request.proxy_bypass(host):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    return parts.hostname or "", parts.port or 80


async def _through(
    proxy: tuple[str, int], host: str, port: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect through an HTTP proxy (RFC 9110, section 9.3.6)."""
    reader, writer = await asyncio.open_connection(*proxy)
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if head.split(b" ")[1:2] != [b"200"]:
        writer.close()
        raise UnreachableError(f"the proxy {proxy[0]} answered {head[:60]!r}")
    return reader, writer
