from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from httpbed.addons.pages.mirror import ssrf_guard
from httpbed.addons.pages.mirror.ssrf_guard import UnreachableError

INSIDE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1"),  # noqa: S104 - an address to look at
    *("::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1", "::ffff:0:7f00:1"),
    *("64:ff9b:1::7f00:1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fec0::1", "fd00:ec2::254"),
    *("0.1.2.3", "192.0.0.8", "192.0.2.1", "198.18.0.1", "240.0.0.1", "168.63.129.16", "3fff::1"),
    *("fe80::1%2", "2001:db8::1", "4000::1", "100::1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_outside_the_public_internet_are_inside(address: str) -> None:
    """This includes IPv4 addresses embedded in IPv6."""
    assert ssrf_guard.is_inside(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_not_inside(address: str) -> None:
    """This holds for both IP versions."""
    assert not ssrf_guard.is_inside(ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://2130706433/", "http://0177.0.0.1/", "http://[::1]/"),
        *("http://127.1/", "http://0x7f.1/", "http://0x7f000001/", "http://127.0.0.1./"),
        *("http://localhost./", "http://[::7f00:1]/", "http://[::ffff:0:127.0.0.1]/"),
        *("http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://0/", "http://[::]/"),
        *("http://①②⑦.⓪.⓪.①/", "http://user@127.0.0.1/", "http://a.test\\@127.0.0.1/"),
        *("http://a b/", "http://[::1/", "http://a:x/", "ftp://8.8.8.8/", "http:///x"),
    ],
)
def test_no_notation_of_an_address_leads_inside(url: str) -> None:
    """This includes URLs that parsers read differently."""
    with pytest.raises(UnreachableError):
        ssrf_guard.destination(url)


def test_a_page_in_the_own_network_permits_its_own_server_alone() -> None:
    """On its port and on those that redirects to and from HTTPS have."""
    permission = ssrf_guard.permission_of("http://10.0.0.5:8080/page")
    for url in ("http://10.0.0.5:8080/a.png", "https://10.0.0.5/"):
        assert ssrf_guard.destination(url, permission).host == "10.0.0.5"
    assert ssrf_guard.destination("http://8.8.8.8/", permission).host == "8.8.8.8"
    for url in (
        *("http://10.0.0.6:8080/", "http://10.0.0.5:6379/", "http://127.0.0.1:8080/"),
        *("http://169.254.169.254/latest/meta-data/", "http://[::ffff:10.0.0.5]:8080/"),
    ):
        with pytest.raises(UnreachableError, match="only the page's own server"):
            ssrf_guard.destination(url, permission)


def test_a_name_with_a_link_local_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its scope has no place in a URL, so that it could not be pinned."""
    answers = [(10, 1, 6, "", ("fe80::1%2", 80, 0, 2))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    with pytest.raises(UnreachableError, match="link-local"):
        ssrf_guard.destination("http://page.example/")
    assert ssrf_guard.permission_of("http://page.example/") == ssrf_guard.NOTHING


def test_another_notation_of_an_address_is_replaced() -> None:
    """What is checked is what curl reads."""
    assert ssrf_guard.destination("http://0x8.010.2056/a").url == "http://8.8.8.8/a"


def test_a_url_is_normalised() -> None:
    """Parts that are not sent are removed."""
    way = ssrf_guard.destination("HTTPS://8.8.8.8:443/a b?c#d")
    assert (way.url, way.host, way.port) == ("https://8.8.8.8/a b?c", "8.8.8.8", 443)


def test_a_name_leads_inside_if_one_of_its_addresses_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The checked addresses are kept for the fetch."""
    addresses = ["8.8.8.8", "192.168.0.1"]

    def answer(*_: object, **__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(2, 1, 6, "", (one, 80)) for one in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with pytest.raises(UnreachableError, match="own network"):
        ssrf_guard.destination("http://page.example/")
    assert ssrf_guard.permission_of("http://page.example/") == ssrf_guard.NOTHING
    addresses.pop()
    assert ssrf_guard.destination("http://page.example/").addresses == ("8.8.8.8",)
    assert ssrf_guard.permission_of("http://page.example/") == ssrf_guard.NOTHING


def test_a_name_that_only_a_proxy_resolves_is_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of the own network are rejected all the same."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UnreachableError, match="cannot be resolved"):
        ssrf_guard.destination("http://page.example/")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert ssrf_guard.destination("http://page.example/").addresses == ()
    with pytest.raises(UnreachableError, match="own network"):
        ssrf_guard.destination("http://router.local/")
