"""What a page that is recorded may reach; the tests speak SOCKS as the browser does."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

import web_hosts as webs
from httpbed.addons.pages.mirror import way_out
from httpbed.addons.pages.mirror.way_out import Permission
from httpbed.base.errors import ConfigError
from web_hosts import web_hosts

NOTHING = Permission()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def _connected(
    folder: Path, permission: Permission, host: str, port: int, sent: bytes = b""
) -> tuple[int, bytes, dict[str, str]]:
    """Ask for a connection; return the proxy's answer, what came, and what was refused."""
    async with way_out.open_at(folder, permission) as way:
        reader, writer = await asyncio.open_unix_connection(folder / way_out.SOCKET)
        name = host.encode()
        writer.write(b"\5\1\0\5\1\0\3" + bytes([len(name)]) + name + port.to_bytes(2))
        head = await asyncio.wait_for(reader.readexactly(12), 20)
        came = b""
        if head[3] == 0:
            writer.write(sent)
            came = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        await writer.wait_closed()
        return head[3], came, way.refused


def _get(folder: Path, permission: Permission, host: str, port: int) -> bytes:
    """Fetch a file; return its response, or nothing if it cannot be reached."""
    request = f"GET /a.png HTTP/1.0\r\nHost: {host}\r\n\r\n".encode()
    return asyncio.run(_connected(folder, permission, host, port, request))[1]


def _place(name: str) -> tuple[str, int]:
    host, _, port = name.partition(":")
    return host, int(port)


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "2130706433", "0177.0.0.1", "0x7f.1", "localhost", "localhost."),
        *("::1", "::ffff:127.0.0.1", "::ffff:0:127.0.0.1", "0", "::", "fe80::1%lo"),
    ],
)
def test_no_notation_of_an_address_leads_inside(host: str, tmp_path: Path) -> None:
    """No server is asked, whatever the page names."""
    with web_hosts() as (main, _):
        assert not _get(tmp_path, NOTHING, host, _place(main)[1])
        assert webs.asked == []


def test_a_page_in_the_own_network_permits_its_own_server_alone(tmp_path: Path) -> None:
    """On its port and on those that redirects to and from HTTPS have."""
    with web_hosts() as (main, other):
        permission = asyncio.run(way_out.permission_of(f"http://{main}/"))
        assert permission.ports == {_place(main)[1], 80, 443}
        assert webs.PNG in _get(tmp_path, permission, *_place(main))
        assert not _get(tmp_path, permission, *_place(other))
        assert not _get(tmp_path, permission, "127.0.0.1", _place(other)[1])
        assert webs.asked == ["127.0.0.1/a.png"]


def _answer(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    async def answered(
        *_: object, **__: object
    ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        if not addresses:
            raise socket.gaierror
        return [(2, 1, 6, "", (address, 80)) for address in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", answered)


def test_a_name_leads_inside_if_one_of_its_addresses_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its owner could choose the address; so it permits nothing, either."""
    _answer(monkeypatch, "8.8.8.8", "127.0.0.1")
    _, _, refused = asyncio.run(_connected(tmp_path, NOTHING, "page.example", 80))
    assert "own network" in refused["page.example, port 80"]
    assert asyncio.run(way_out.permission_of("http://page.example/")) == NOTHING


def test_a_name_that_only_a_proxy_resolves_is_permitted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Names of the own network are rejected all the same, and so is a proxy's refusal."""
    with web_hosts() as (main, _):  # which knows no CONNECT
        monkeypatch.setenv("http_proxy", f"http://{main}")
        monkeypatch.setenv("https_proxy", f"http://{main}")
        real = asyncio.BaseEventLoop.getaddrinfo

        async def unknown(self: asyncio.BaseEventLoop, host: str, *more: object, **rest: object):  # type: ignore[no-untyped-def]  # noqa: ANN202
            if host[0].isdigit():
                return await real(self, host, *more, **rest)  # type: ignore[arg-type]
            raise socket.gaierror

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", unknown)
        refused = asyncio.run(_connected(tmp_path, NOTHING, "page.example", 443))[2]
        assert "answered" in refused["page.example, port 443"]
        refused = asyncio.run(_connected(tmp_path, NOTHING, "router.local", 443))[2]
        assert "cannot be resolved" in refused["router.local, port 443"]


@pytest.mark.parametrize("url", ["http://a:x/", "ftp://8.8.8.8/", "http://[::1/", "http:///x"])
def test_a_url_that_no_browser_loads_is_refused(url: str) -> None:
    """Before a browser starts."""
    with pytest.raises(ConfigError):
        asyncio.run(way_out.permission_of(url))


def test_a_page_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The limit applies to all connections together."""
    monkeypatch.setattr(way_out, "MAX_BYTES", 50)
    with web_hosts() as (main, _):
        permission = asyncio.run(way_out.permission_of(f"http://{main}/"))
        assert webs.PNG not in _get(tmp_path, permission, *_place(main))


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\5\1\0\5\2\0\1", b"\5\1\0" * 9])
def test_what_is_not_a_request_is_closed(sent: bytes, tmp_path: Path) -> None:
    """The part that a browser runs in may send anything."""

    async def ask() -> bytes:
        async with way_out.open_at(tmp_path, NOTHING):
            reader, writer = await asyncio.open_unix_connection(tmp_path / way_out.SOCKET)
            writer.write(sent)
            writer.write_eof()
            came = await asyncio.wait_for(reader.read(), 20)
            writer.close()
            await writer.wait_closed()
            return came

    assert asyncio.run(ask()) in (b"", b"\5\0")
