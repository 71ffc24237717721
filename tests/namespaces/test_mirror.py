"""Pages are made self-contained by what a real browser asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from browsing import SHELL, catalog
from httpbed.addons.pages.load import driver_output
from httpbed.addons.pages.mirror import curl, session
from httpbed.addons.pages.mirror.browser_load import BrowserLoader, LoadedRequests, differences
from httpbed.addons.pages.mirror.crawler import MirrorLimits
from httpbed.addons.pages.mirror.ssrf_guard import Permission
from httpbed.addons.pages.sites import catalog as catalog_of_sites
from httpbed.addons.pages.sites import content_types
from httpbed.base.errors import ConfigError
from web import PNG, web

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

AMPLE = MirrorLimits(1_000_000, 100, 60.0)


@pytest.fixture
def loader() -> BrowserLoader:
    """Load pages by Chromium from nginx."""
    return BrowserLoader(catalog(), SHELL, "nginx", print)


def test_a_page_is_mirrored_with_what_its_scripts_insert(
    tmp_path: Path, loader: BrowserLoader
) -> None:
    """The mirror holds two hosts' resources, a lazy image and one of an imported sheet."""
    program = curl.command(print)
    with web() as (main, other):
        servers = [one.partition(":") for one in (main, other)]
        both = Permission(
            frozenset(host for host, _, _ in servers), frozenset(int(port) for *_, port in servers)
        )
        source = session.from_url(
            f"http://{main}/",
            lambda urls, most, left: curl.fetch(
                program, urls, most_bytes=most, time_limit_s=left, permission=both
            ),
            AMPLE,
            strip=False,
        )
        site = session.mirror(source, tmp_path / "mine", loader, print)
    asked = {one.path: one.requested for one in site.resources if not one.path.startswith("/evil/")}
    folder = f"/-/{other}"
    assert asked == dict.fromkeys(
        [
            *("/start.html", "/a.png", "/lazy.png", f"{folder}/css.css", f"{folder}/deep.css"),
            *(f"{folder}/bg.png", f"{folder}/app.js", f"{folder}/in.png"),
        ],
        1,
    )
    assert (tmp_path / f"mine/files/0/-/{other}/in.png").read_bytes() == PNG
    assert differences(site, LoadedRequests({"/start.html": 1}, (), (), "")) != []


def test_a_page_that_asks_outside_is_refused_with_the_list(
    tmp_path: Path, loader: BrowserLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the folder nor the cache keeps anything of it."""
    monkeypatch.delattr(catalog_of_sites, "ensure")
    page = tmp_path / "page"
    page.mkdir()
    (page / "index.html").write_text(
        "<script>for (const x of ['/gone.png', 'https://outside.example/a.png'])"
        " new Image().src = x</script>"
    )
    source = session.from_folder(page, "index.html", AMPLE, strip=False)
    with pytest.raises(ConfigError) as caught:
        session.mirror(source, tmp_path / "mine", loader, print)
    assert [(one.place, one.reason) for one in caught.value.mistakes] == [
        ("https://outside.example/a.png", "is requested from another origin"),
        ("/gone.png", "is requested and does not exist"),
    ]
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("server", ["nginx", "caddy", "envoy"])
def test_servers_give_every_file_the_type_that_is_listed(tmp_path: Path, server: str) -> None:
    """The content types do not depend on the machine's table of types."""
    page = tmp_path / "page"
    page.mkdir()
    names = [*(f"a.{ending}" for ending in content_types.TYPES), "a.CSS", "a.unknown", "none"]
    for name in names:
        (page / name).write_bytes(b"<!doctype html>x")
    asking = f"for (const x of {names}) fetch('/' + x)"
    (page / "index.html").write_text(f"<!doctype html><script>{asking}</script>")
    source = session.from_folder(page, "index.html", AMPLE, strip=False)
    session.write(source, source.files()[0], None, (), tmp_path / "site")
    BrowserLoader(catalog(), SHELL, server, print).load(tmp_path / "site", tmp_path)
    requests = driver_output.read(tmp_path / "load-1/client").requests
    told = {
        one.url.rpartition("/")[2]: dict(one.response_headers).get("content-type")
        for one in requests
    }
    assert {name: told[name] for name in names} == {name: content_types.of(name) for name in names}
