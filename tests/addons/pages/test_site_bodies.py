"""Bodies of exported loads come from the page's site."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from httpbed.addons.pages import loads_export
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.page import PageLoad, RecordedPage
from httpbed.addons.pages.sites import catalog
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.replay import bodies
from httpbed.addons.pages.sites.site import RecordedAnswer, Resource, Site

HOST = "www.page.test"
HTML, IMAGE = b"<p>\xc3\xa4", b"\x89PNG\0"
ROW = {"block": 1}


def site(folder: Path, *, skeleton: bool = False) -> Site:
    """Write a site with a document that is sent packed, and an image that answers twice."""
    packed = gzip.compress(HTML)
    contents = {"0": packed, "1": IMAGE, "2": IMAGE[::-1]}
    (folder / "files/0").mkdir(parents=True)
    for name, content in contents.items():
        (folder / "files/0" / name).write_bytes(content)
    answers = (
        (
            "/",
            "text/html",
            RecordedAnswer(method="GET", status=200, headers=[("content-encoding", "gzip")]),
        ),
        ("/a.png", "image/png", RecordedAnswer(method="GET", status=200, headers=[])),
        ("/a.png", "image/png", RecordedAnswer(method="GET", status=200, headers=[])),
    )
    listed = [
        Resource(
            origin=0, path=path, file=f"0/{n}", bytes=1, sha256="0" * 64, type=kind, answer=answer
        )
        for n, (path, kind, answer) in enumerate(answers)
    ]
    return Site(name="x", source="x", entry="/", origins=[HOST], recorded=True, skeleton=skeleton,
                resources=listed)  # fmt: skip


def asked(number: int, path: str, length: int, **more: Any) -> PageRequest:
    kind = "text/html" if path == "/" else "image/png"
    said = {"status": 200, "mime_type": kind, "body_bytes": length, **more}
    return PageRequest(str(number), f"https://{HOST}{path}", **said)


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CachedSite:
    load = PageLoad(kind="page", page=RecordedPage(har="x", sha256="1" * 64))
    monkeypatch.setattr(loads_export, "scenario", lambda *_: SimpleNamespace(workload=load))
    cached = CachedSite(site(tmp_path), tmp_path)
    monkeypatch.setattr(catalog, "cached", lambda *_: cached)
    return cached


def results() -> Any:
    experiment = SimpleNamespace(seed=1)
    return cast("Any", SimpleNamespace(experiment=experiment, seeds={}, levels=lambda _: {}))


def test_bodies_are_decoded_and_in_the_order_of_the_answers(found: CachedSite) -> None:
    """A response of another status or length is not the site's."""
    assert found.site.recorded
    requests = (
        asked(1, "/", len(HTML)),
        asked(2, "/a.png", 5),
        asked(3, "/a.png", 5),
        asked(4, "/a.png", 5, status=304),
        asked(5, "/a.png", 4),
        asked(6, "/other", 5),
    )
    load = BrowserLoad(f"https://{HOST}/", "loaded", requests=requests)
    assert loads_export.SiteBodies(results()).of(load, ROW) == {
        "1": (HTML, False),
        "2": (IMAGE, True),
        "3": (IMAGE[::-1], True),
    }


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", ""])
def test_what_was_encoded_to_a_length_is_decoded_again(coding: str) -> None:
    """Padding included."""
    body = b"body { color: #123 }\n" * 40
    encoded = bodies.exact(body, "text/css", coding, 900)
    assert encoded
    sent = encoded.start + bytes(encoded.length - len(encoded.start))
    assert bodies.decoded(sent, encoded.coding, len(body)) == (body if coding else None)
    assert bodies.decoded(sent[: len(sent) // 4], "br", len(body)) is None


def test_a_site_is_found_by_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without reading the user's file, which may be elsewhere by now."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))
    into = tmp_path / "sites/x-0123"
    sites.served(into).mkdir(parents=True)
    written = Site(
        name="x", source="x", entry="/a", origins=[HOST],
        resources=[_file(into)],
    )  # fmt: skip
    sites.write(written, into)
    page = RecordedPage(har="gone", sha256=written.digest)
    cached = catalog.cached(page, 1)
    assert cached is not None
    assert cached.folder == into
    assert catalog.cached(RecordedPage(har="gone", sha256="2" * 64), 1) is None


def _file(into: Path) -> Resource:
    content = b"a"
    (into / "files/0/a").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return Resource(origin=0, path="/a", file="0/a", bytes=1, sha256=digest, type="text/html")
