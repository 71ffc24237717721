"""A page is mirrored without a browser: what loads ask for is said by the tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from httpbed.experiment.errors import ConfigError
from httpbed.host.packages.curl import Fetched
from httpbed.studies.mirror import session
from httpbed.studies.mirror.browser_load import Asked
from httpbed.studies.mirror.crawler import Bounds
from httpbed.web.sites import site as sites

AMPLE = Bounds(10_000, 100, 60.0)
PAGE = "https://page.test/index.html"


def _fetch(urls: Sequence[str], most_bytes: int, time_limit_s: float) -> dict[str, Fetched]:
    assert most_bytes > 0
    assert time_limit_s > 0
    return {url: Fetched(url, "text/html" if url == PAGE else "", url.encode()) for url in urls}


class Script:
    """A page's script, which asks for some paths each time."""

    def __init__(self, *paths: str) -> None:
        self._paths = paths

    def load(self, site: Path, scratch: Path) -> Asked:
        """Ask for the page and the paths."""
        assert scratch.is_dir()
        served = {one.path for one in sites.read(site).resources}
        missing = tuple(path for path in self._paths if path not in served)
        found = [path for path in self._paths if path in served]
        return Asked(dict.fromkeys(["/index.html", *found], 1), missing, (), "")


def _mirrored(folder: Path, *paths: str) -> sites.Site:
    source = session.from_url(PAGE, _fetch, AMPLE, strip=False)
    return session.mirror(source, folder / "mine", Script(*paths), lambda _: None)


def test_what_a_script_asks_for_is_where_it_asks(tmp_path: Path) -> None:
    """Even where its name says nothing of its type."""
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
def test_what_cannot_be_where_a_script_asks_is_told(paths: tuple[str, ...], tmp_path: Path) -> None:
    """As not there, whichever file it would break."""
    with pytest.raises(ConfigError, match="is asked for and not there"):
        _mirrored(tmp_path, *paths)
    assert [*tmp_path.iterdir()] == []
