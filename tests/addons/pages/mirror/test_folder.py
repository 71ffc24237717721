"""Mirroring a folder without a browser: the tests provide the requests of its loads.

How the requests of a page load are sorted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.mirror import folder, loader
from httpbed.addons.pages.mirror.loader import LoadedRequests
from httpbed.base.errors import ConfigError
from httpbed.experiment.workload import OWN_ORIGIN

ICON = b'<link rel="icon" href="data:,">'


@pytest.fixture
def page(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    (page / "img").mkdir(parents=True)
    (page / "index.html").write_text(
        "<head></head><img src=img/a.png><img src=http://x.test/b.png>"
    )
    (page / "img/a.png").write_bytes(b"image")
    return page


def test_all_files_below_a_folder_are_read(page: Path) -> None:
    """A link to a file inside the folder counts as a file."""
    (page / "link.png").symlink_to("img/a.png")
    read = folder.read(page, "index.html", strip=False)
    assert set(read.files) == {"index.html", "img/a.png", "link.png"}


def test_a_page_is_copied_unchanged_except_for_its_icon(page: Path) -> None:
    """Without one, some browsers request an icon and some do not."""
    before = (page / "index.html").read_bytes()
    read = folder.read(page, "index.html", strip=False)
    assert read.files["index.html"] == before.replace(b"<head>", b"<head>" + ICON)


def test_strip_removes_references_to_the_outside(page: Path) -> None:
    """Each removal is listed as a change."""
    read = folder.read(page, "index.html", strip=True)
    assert read.files["index.html"] == b"<head>" + ICON + b"</head><img src=img/a.png>"
    assert read.changes == ("/index.html: other host: http://x.test/b.png",)


def test_everything_that_cannot_be_served_is_reported_at_once(page: Path) -> None:
    """Links out, to nothing and upwards, a pipe, a name that moves the cursor, a missing page."""
    (page / "out").symlink_to("/etc/hostname")
    (page / "dangling").symlink_to("nowhere")
    (page / "up").symlink_to("..")
    os.mkfifo(page / "pipe")
    (page / "new\nline").write_text("")
    (page / ".httpbed").mkdir()
    (page / ".httpbed/prior.txt").write_text("mine")
    with pytest.raises(ConfigError) as caught:
        folder.read(page, "gone.html", strip=False)
    assert sorted(Path(one.place).name for one in caught.value.mistakes) == [
        "dangling",
        "gone.html",
        "new\nline",
        "out",
        "pipe",
        "prior.txt",
        "up",
    ]


@pytest.mark.parametrize(("limit", "most"), [("MAX_BYTES", 10), ("MAX_FILES", 1)])
def test_a_folder_that_exceeds_a_limit_is_refused(
    page: Path, limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both bytes and files are limited."""
    monkeypatch.setattr(folder, limit, most)
    with pytest.raises(ConfigError, match="has more than"):
        folder.read(page, "index.html", strip=False)


class Script:
    """The loads of a page whose script requests other paths each time."""

    def __init__(self, *loads: Sequence[str]) -> None:
        self._loads = [*loads]

    def load(self, site: Path, scratch: Path) -> LoadedRequests:
        assert site.is_relative_to(scratch)
        paths = self._loads.pop(0) if self._loads[1:] else self._loads[0]
        served = {"/index.html", "/img/a.png"}
        missing = tuple(path for path in paths if path not in served)
        found = [path for path in paths if path in served]
        return LoadedRequests(dict.fromkeys(["/index.html", *found], 1), missing, (), "")


def _mirrored(page: Path, script: Script) -> dict[str, int]:
    source = folder.read(page, "index.html", strip=False)
    site = folder.mirror(source, page.parent / "mine", script, lambda _: None)
    return {one.path: one.requested for one in site.resources}


def test_a_site_lists_what_two_loads_in_a_row_request(page: Path) -> None:
    """The first load may differ."""
    assert _mirrored(page, Script([], ["/img/a.png"])) == {"/index.html": 1, "/img/a.png": 1}


@pytest.mark.parametrize(
    ("loads", "reason"),
    [
        ([["/gone"]], "is requested and does not exist"),
        ([["/img/a.png"], []] * 4, "other requests at each load"),
    ],
)
def test_a_page_that_is_not_itself_is_refused(
    page: Path, loads: list[list[str]], reason: str
) -> None:
    """Nothing is left of it."""
    with pytest.raises(ConfigError, match=reason):
        _mirrored(page, Script(*loads))
    assert [*page.parent.iterdir()] == [page]


OWN = f"https://{OWN_ORIGIN}"


def _asked(*requests: PageRequest) -> BrowserLoad:
    return BrowserLoad(url=f"{OWN}/", ended="loaded", requests=requests)


def _request(url: str, status: int = 200, failed: str = "") -> PageRequest:
    return PageRequest(id=url, url=url, status=status, failed=failed)


def test_requests_are_sorted_by_what_they_mean_for_the_page() -> None:
    """Answered, missing, unread, broken, on another origin, in parts; data URLs are no requests."""
    found = loader.requests_of(
        _asked(
            _request(f"{OWN}/a.png"),
            _request(f"{OWN}/a.png"),
            _request(f"{OWN}/gone", 404),
            _request(f"{OWN}/unread", failed="net::ERR_ABORTED"),
            replace(_request(f"{OWN}/no.png"), is_left=True),
            _request("https://other.test/x"),
            _request("data:,x"),
            _request(f"{OWN}/film.mp4", 206),
            _request(f"{OWN}/film.mp4", 206),
        )
    )
    assert found == loader.LoadedRequests(
        {"/a.png": 2, "/no.png": 1},
        ("/gone",),
        ("https://other.test/x",),
        "",
        ("/film.mp4",),
        {"/unread": "net::ERR_ABORTED"},
        ("/no.png",),
    )


@pytest.mark.parametrize(
    "cut", [{"notes": ("5 further requests are dropped",)}, {"ended": "crashed", "reason": "oh"}]
)
def test_a_load_that_is_not_known_completely_has_a_reason(cut: dict[str, object]) -> None:
    """A request that is missing from its record may occur at each load."""
    assert loader.requests_of(replace(_asked(), **cut)).ended  # type: ignore[arg-type]
