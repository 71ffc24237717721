"""What a recording that cannot be used, or is not yet tried, leaves and says."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.mirror import mirrored_page
from httpbed.addons.pages.mirror.mirrored_page import PageRecording
from httpbed.addons.pages.mirror.way_out import GuardedProxy, Permission
from httpbed.addons.pages.sites import catalog as sites
from httpbed.base.errors import ConfigError
from httpbed.programs.catalog import Catalog

PAGE = PageRequest("1", "http://a.test/", status=200, kind="Document", ended_s=0.1)
GONE = PageRequest("2", "http://a.test/gone.png", status=404, kind="Image", is_left=True)
BROKEN = PageRequest("3", "http://a.test/broken.png", status=200, kind="Image", is_left=True)


@pytest.fixture(autouse=True)
def _interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C when the replay is tried."""

    def ensure(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sites, "ensure", ensure)


def _said(monkeypatch: pytest.MonkeyPatch, target: Path, *requests: PageRequest) -> list[str]:
    async def record(*_: object) -> PageRecording:
        load = BrowserLoad(PAGE.url, "loaded", requests=requests)
        return PageRecording(load, {}, GuardedProxy(Permission()))

    monkeypatch.setattr(mirrored_page, "record", record)
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        mirrored_page.mirror(PAGE.url, target, Catalog({}), 60, said.append)
    return said


def test_an_interrupted_trial_of_the_replay_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same command then begins again, and nobody takes an untried file for a tried one."""
    _said(monkeypatch, tmp_path / "mine.har", PAGE)
    assert [*tmp_path.iterdir()] == []


def test_each_error_and_each_broken_image_is_named_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An error page in place of an image is no image either, and its status says so."""
    said = _said(monkeypatch, tmp_path / "mine.har", PAGE, GONE, BROKEN)
    assert [sum(one.url in line for line in said) for one in (GONE, BROKEN)] == [1, 1]


def test_a_page_that_is_answered_with_an_error_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A redirect to it, too: the error page is not the page that was meant."""
    moved = PageRequest("1-1", PAGE.url, status=302, redirected_to="http://a.test/x")
    missing = PageRequest("1", "http://a.test/x", status=404, kind="Document")
    with pytest.raises(ConfigError, match="status 404"):
        _said(monkeypatch, tmp_path / "mine.har", moved, missing)
