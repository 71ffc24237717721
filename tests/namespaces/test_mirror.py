"""Pages are made self-contained by what a real browser asks for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import web_hosts as webs
from browsing import catalog
from httpbed.addons.pages.load import driver_output
from httpbed.addons.pages.mirror import mirrored_page, way_out
from httpbed.addons.pages.mirror.way_out import Permission
from httpbed.addons.pages.page import PageLoad
from httpbed.addons.pages.page_check_table import CHECKS
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.site import CONTENT_TYPES, Site, content_type
from httpbed.base.errors import ConfigError
from httpbed.campaign import campaign_setup, preparation
from httpbed.experiment.workload import OWN_ORIGIN
from real_runs import Stage
from web_hosts import PNG, web_hosts

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

ICON = '<link rel="icon" href="data:,">'
LOADS = """
schema = 1
name = "loads"
question = "Is a load complete?"
replicates = 1
seed = 1
time_limit = "60 s"

[factors]
http_version = {versions}

[topology]
hosts = ["client", "server"]
links = [{{ between = ["client", "server"], rate = "10 Mbit/s", delay = "10 ms" }}]

[roles.client]
implementation = "chromium-headless-shell"
http_version = {{ factor = "http_version" }}

[roles.server]
implementation = "{server}"

[workload]
kind = "page"
page = {page}
"""


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve a folder as ``python3 -m http.server`` does; yield its address."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _mirrored(page: str, har: Path) -> tuple[Site, list[str]]:
    said: list[str] = []
    return mirrored_page.mirror(page, har, catalog(), 60, said.append), said


def _bodies(har: Path) -> dict[str, bool]:
    """Return whether each recorded response has its body."""
    entries = json.loads(har.read_text())["log"]["entries"]
    return {entry["request"]["url"]: "text" in entry["response"]["content"] for entry in entries}


def test_a_page_is_mirrored_with_what_its_scripts_insert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both hosts' resources are recorded; a body that names a port is replayed by a skeleton."""
    monkeypatch.setenv("no_proxy", "*")
    with web_hosts() as (main, other):
        places = [one.partition(":") for one in (main, other)]
        both = Permission(
            frozenset(host for host, _, _ in places), frozenset(int(port) for *_, port in places)
        )

        async def permitted(_: str) -> Permission:
            return both

        monkeypatch.setattr(way_out, "permission_of", permitted)
        mirrored, _ = _mirrored(f"http://{main}/", tmp_path / "mine.har")
    there = ["/css?family=A", "/deep.css", "/bg.png", "/app.js", "/in.png"]
    here = ["/start", "/a.png?v=1", "/lazy.png", "/gone.png"]
    urls = [
        *(f"http://{main}{path}" for path in here),
        *(f"http://{other}{path}" for path in there),
    ]
    assert _bodies(tmp_path / "mine.har") == {f"http://{main}/": False, **dict.fromkeys(urls, True)}
    assert mirrored.skeleton
    assert len(mirrored.origins) == 2
    # A skeleton may need one more file for its script.
    assert mirrored.requests() - len(urls) in (1, 2)


def test_a_page_that_names_only_its_own_files_makes_its_requests_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replay has the recorded bodies, and other names than an address and a port."""
    monkeypatch.setenv("no_proxy", "*")
    with web_hosts() as (main, _):
        mirrored, _ = _mirrored(f"http://{main}/own", tmp_path / "mine.har")
    assert not mirrored.skeleton
    assert json.loads((tmp_path / "mine.har").read_text())["log"]["_order"] == "its own"
    paths = {resource.path: resource.bytes for resource in mirrored.resources}
    assert paths.keys() == {"/own", "/style.css", "/bg.png", "/a.png", "/own.js", "/in.png"}
    assert paths["/in.png"] == len(PNG)


def test_a_page_that_requests_other_things_each_time_has_a_skeleton(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user reads which requests differ."""
    monkeypatch.setenv("no_proxy", "*")
    with web_hosts() as (main, _):
        mirrored, said = _mirrored(f"http://{main}/changing", tmp_path / "mine.har")
    assert mirrored.skeleton
    assert any("is not listed" in one for one in said)


def test_a_page_reaches_no_other_server_of_the_own_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by its references and scripts nor by a redirect of the document."""
    monkeypatch.setenv("no_proxy", "*")
    with web_hosts() as (main, other):
        _, said = _mirrored(f"http://{main}/", tmp_path / "mine.har")
        assert any(other.replace(":", ", port ") in one for one in said)
        with pytest.raises(ConfigError, match="cannot be recorded"):
            _mirrored(f"http://{main}/to?{other}/a.png", tmp_path / "to.har")
        assert not [one for one in webs.asked if one.startswith(other.partition(":")[0])]
    assert [*tmp_path.iterdir()] == [tmp_path / "mine.har"]


def test_a_page_with_broken_images_is_mirrored_and_loads_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images that no browser decodes, of any length, are named; over each version they are data."""
    page = tmp_path / "page"
    page.mkdir()
    (page / "short.png").write_bytes(b"no image " * 100)
    (page / "long.png").write_bytes(b"no image " * 50_000)
    (page / "empty.png").write_bytes(b"")
    (page / "whole.png").write_bytes(PNG)
    images = "".join(f"<img src={path.name} width=40>" for path in sorted(page.iterdir()))
    (page / "index.html").write_text(f"<!doctype html><title>x</title>{ICON}<h1>Shop</h1>{images}")
    monkeypatch.setenv("no_proxy", "*")
    with _served(page) as address:
        mirrored, said = _mirrored(f"{address}/", tmp_path / "mine.har")
    assert not mirrored.skeleton
    named = {line.partition(": a broken image")[0] for line in said if "a broken image" in line}
    assert named == {f"{address}/short.png", f"{address}/long.png"}
    text = LOADS.format(
        versions='["1.1", "2", "3"]', server="nginx", page=f'{{ har = "{tmp_path}/mine.har" }}'
    )
    loaded = preparation.load(text, catalog())
    setup = campaign_setup.make_setup(loaded, catalog(), say=lambda _: None)
    records = Stage(loaded, setup).run(tmp_path / "loads", retries=0)
    about_pages = {check.name for check in CHECKS if check.of == "subject"}
    failed = [
        (record.attempt.trial.levels, check.name, check.figure)
        for record in records
        for check in record.attempt.checks
        if check.name in about_pages and check.passed is False
    ]
    assert (len(records), failed) == (3, [])


@pytest.mark.parametrize("server", ["nginx", "caddy", "envoy"])
def test_servers_give_every_file_the_type_that_is_listed(tmp_path: Path, server: str) -> None:
    """The content types do not depend on the machine's table of types."""
    page = tmp_path / "page"
    page.mkdir()
    names = [*(f"a.{ending}" for ending in CONTENT_TYPES), "a.CSS", "a.unknown", "none"]
    for name in names:
        (page / name).write_bytes(b"<!doctype html>x")
    asking = f"for (const x of {names}) fetch('/' + x)"
    (page / "index.html").write_text(f"<!doctype html><script>{asking}</script>")
    files = [(path.name, path.read_bytes()) for path in sorted(page.iterdir())]
    site = tmp_path / "site"
    sites.served(site).mkdir(parents=True)
    resources = sites.write_files(files, {"/index.html": 1}, site)
    listed = Site(
        schema=sites.SCHEMA,
        name="types",
        source="",
        entry="/index.html",
        origins=[OWN_ORIGIN],
        resources=resources,
    )
    sites.write(listed, site)
    text = LOADS.format(versions='["2"]', server=server, page='"ranjan-small-few"')
    loaded = preparation.load(text, catalog())
    pages = [one for one in loaded.workloads() if isinstance(one, PageLoad)]
    loaded = replace(loaded, sites={one.key: CachedSite(listed, site) for one in pages})
    setup = campaign_setup.make_setup(loaded, catalog(), say=print)
    Stage(loaded, setup).run(tmp_path / "loads", retries=0)
    (client,) = (tmp_path / "loads").glob("**/client/load.json")
    requests = driver_output.read(client.parent).requests
    told = {
        request.url.rpartition("/")[2]: dict(request.response_headers).get("content-type")
        for request in requests
    }
    assert {name: told[name] for name in names} == {name: content_type(name) for name in names}
