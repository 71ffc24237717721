"""Mirroring a page without a browser: the tests provide the requests of its loads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from httpbed.addons.pages.mirror import session
from httpbed.addons.pages.mirror.browser_load import LoadedRequests
from httpbed.addons.pages.mirror.crawler import MirrorLimits
from httpbed.addons.pages.mirror.curl import Fetched
from httpbed.addons.pages.sites import site as sites
from httpbed.base.errors import ConfigError

AMPLE = MirrorLimits(10_000, 100, 60.0)
PAGE = "https://page.test/index.html"


def _fetch(urls: Sequence[str], most_bytes: int, time_limit_s: float) -> dict[str, Fetched]:
    assert most_bytes > 0
    assert time_limit_s > 0
    return {url: Fetched(url, "text/html" if url == PAGE else "", url.encode()) for url in urls}


class Script:
    """A page's script that requests some paths at each load."""

    def __init__(self, *paths: str) -> None:
        self._paths = paths

    def load(self, site: Path, scratch: Path) -> LoadedRequests:
        """Ask for the page and the paths."""
        assert scratch.is_dir()
        served = {one.path for one in sites.read(site).resources}
        missing = tuple(path for path in self._paths if path not in served)
        found = [path for path in self._paths if path in served]
        return LoadedRequests(dict.fromkeys(["/index.html", *found], 1), missing, (), "")


def _mirrored(folder: Path, *paths: str) -> sites.Site:
    source = session.from_url(PAGE, _fetch, AMPLE, strip=False)
    return session.mirror(source, folder / "mine", Script(*paths), lambda _: None)


def test_a_file_is_served_where_a_script_requests_it(tmp_path: Path) -> None:
    """The path's suffix may not fit the type."""
    site = _mirrored(tmp_path, "/api/one", "/two.json")
    assert {one.path: one.requested for one in site.resources} == {
        "/index.html": 1,
        "/api/one": 1,
        "/two.json": 1,
    }
    assert (tmp_path / "mine/files/0/api/one").read_bytes() == b"https://page.test/api/one"


@pytest.mark.parametrize(
    "paths",
    [
        ("/a", "/a/b"),
        ("/a/b", "/a"),
        ("/index.html/x",),
        ("/INDEX.html",),
        ("/" + "x" * 300,),
        ("/%2e%2e/%2e%2e/up",),
        ("/a%00b",),
        ("/.httpbed/prior.txt",),
        ("/" + "d/" * 200 + "deep",),
        ("/" + "/".join(["%22" * 100] * 30),),
        ("/folder/",),
    ],
)
def test_a_path_that_no_file_can_have_is_reported(paths: tuple[str, ...], tmp_path: Path) -> None:
    """Such paths are too deep, or the name of a folder."""
    with pytest.raises(ConfigError, match="is requested and does not exist"):
        _mirrored(tmp_path, *paths)
    assert [*tmp_path.iterdir()] == []
