from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

import pytest

import web as webs
from httpbed.addons.pages.mirror import curl, ssrf_guard
from httpbed.addons.pages.mirror.curl import Fetched
from httpbed.addons.pages.mirror.ssrf_guard import Permission
from web import PNG, web

pytestmark = pytest.mark.toolbox


@pytest.fixture
def hosts() -> Iterator[tuple[str, str]]:
    """Two hosts on loopback."""
    webs.asked.clear()
    with web() as names:
        yield names


def permitted(*urls: str) -> Permission:
    """Permit the servers of URLs."""
    parts = [urlsplit(url) for url in urls]
    hosts = frozenset(one.hostname for one in parts if one.hostname)
    return Permission(hosts, frozenset(one.port for one in parts if one.port))


def _fetched(*urls: str, most_bytes: int = 50_000, inside: bool = True) -> list[Fetched]:
    program = curl.command(print)
    permission = permitted(*urls) if inside else ssrf_guard.NOTHING
    got = curl.fetch(program, urls, most_bytes=most_bytes, time_limit_s=20, permission=permission)
    return [got[url] for url in urls]


def test_each_url_has_its_body_or_the_reason_of_its_failure(hosts: tuple[str, str]) -> None:
    """Redirects are followed up to a limit; missing files, closed ports and file URLs fail."""
    main, other = hosts
    first, image, gone, endless, nobody, file = _fetched(
        f"http://{main}/",
        f"http://{other}/a.png",
        f"http://{main}/gone.png",
        f"http://{main}/round",
        "http://127.0.0.1:1/nobody",
        "file:///etc/hostname",
    )
    assert (first.url, first.type, first.failed) == (f"http://{main}/start", "text/html", "")
    assert (image.type, image.body) == ("image/png", PNG)
    assert gone.failed == "the server responded with status 404"
    assert endless.failed == "more than 10 redirects"
    assert all(one.failed and not one.body for one in (nobody, file))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("large", "Maximum file size exceeded"),
        ("packed", f"is longer than the remaining {50_000 - len(PNG)} bytes"),
    ],
)
def test_a_file_longer_than_the_limit_fails_alone(
    path: str, reason: str, hosts: tuple[str, str]
) -> None:
    """The limit applies to the decompressed body; other files are kept."""
    small, large = _fetched(f"http://{hosts[0]}/a.png", f"http://{hosts[0]}/{path}")
    assert small.body == PNG
    assert large.failed == reason
    assert not large.body


def test_the_limit_applies_to_all_files_together(hosts: tuple[str, str]) -> None:
    """Each file alone would fit."""
    came = _fetched(*(f"http://{host}/half" for host in hosts))
    assert sum(len(one.body) for one in came) <= 50_000
    assert any("longer than the" in one.failed for one in came)


def test_urls_into_the_own_network_are_not_fetched(hosts: tuple[str, str]) -> None:
    """This holds for addresses and names in any notation."""
    port = hosts[0].partition(":")[2]
    for got in _fetched(
        f"http://{hosts[0]}/a.png",
        f"http://localhost:{port}/a.png",
        f"http://127.1:{port}/a.png",
        f"http://0x7f000001:{port}/a.png",
        f"http://[::ffff:127.0.0.1]:{port}/a.png",
        inside=False,
    ):
        assert "own network" in got.failed
    assert webs.asked == []


def test_a_page_inside_reaches_no_other_server_of_the_own_network(hosts: tuple[str, str]) -> None:
    """Neither by its own references nor by a redirect."""
    main, other = hosts
    urls = [f"http://{main}/a.png", f"http://{other}/a.png", f"http://{main}/to?{other}/a.png"]
    permission = ssrf_guard.permission_of(f"http://{main}/")
    program = curl.command(print)
    got = curl.fetch(program, urls, most_bytes=50_000, time_limit_s=20, permission=permission)
    assert got[urls[0]].body == PNG
    for url in urls[1:]:
        assert "only the page's own server is permitted" in got[url].failed
    assert sorted(webs.asked) == ["/a.png", f"/to?{other}/a.png"]


def test_no_redirect_leads_into_the_own_network(
    hosts: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds for redirects of public hosts, too; here the first host counts as public."""
    outside = ip_address(hosts[0].partition(":")[0])
    monkeypatch.setattr(ssrf_guard, "is_inside", lambda address: address != outside)
    (got,) = _fetched(f"http://{hosts[0]}/to?{hosts[1]}/a.png", inside=False)
    assert "own network" in got.failed
    assert webs.asked == [f"/to?{hosts[1]}/a.png"]
