from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from httpbed.addons.pages.page import FolderPage
from httpbed.addons.pages.sites import catalog, mirrored
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.site import Resource, Site
from httpbed.base import disk
from httpbed.base.errors import ConfigError

PAGE = FolderPage(folder="mine")
BODIES = {"index.html": b"<img src=a.png>", "a.png": b"image"}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    sites.served(folder).mkdir(parents=True)
    for name, body in BODIES.items():
        (sites.served(folder) / name).write_bytes(body)
    resources = [
        Resource(
            origin=0,
            path=f"/{name}",
            file=f"0/{name}",
            bytes=len(body),
            sha256=hashlib.sha256(body).hexdigest(),
            type="image/png" if name == "a.png" else "text/html",
        )
        for name, body in BODIES.items()
    ]
    stated = Site(
        schema=1,
        name="mine",
        source="",
        entry="/index.html",
        origins=["server.httpbed.test"],
        resources=resources,
    )
    sites.write(stated, folder)
    return folder


def test_the_outline_of_a_mirrored_page_is_its_list(mine: Path) -> None:
    """Nothing is made for that."""
    outline = mirrored.outline(PAGE, mine.parent)
    assert (outline.requests, outline.weight, outline.entry) == (2, 20, "/index.html")
    assert outline.sha256 == sites.read(mine).digest


def test_a_campaign_has_its_own_copy(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one copy for all seeds."""
    monkeypatch.setenv("HTTPBED_CACHE", str(mine.parent / "cache"))
    first = catalog.ensure(PAGE, 1, mine.parent, print)
    again = catalog.ensure(PAGE, 2, mine.parent, print)
    assert first == again
    assert (first.folder / "files/0/a.png").read_bytes() == b"image"
    assert first.folder.is_relative_to(mine.parent / "cache")
    served = first.folder / "files/0/a.png"
    assert served.stat().st_mtime == disk.FIXED_TIME.timestamp()


def test_a_page_in_two_folders_has_one_copy(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's folder and stated figures do not matter."""
    monkeypatch.setenv("HTTPBED_CACHE", str(mine.parent / "cache"))
    first = catalog.ensure(PAGE, 1, mine.parent, print)
    mine.rename(mine.parent / "yours")
    known = FolderPage(folder="yours", requests=2, weight="20 B")
    assert catalog.ensure(known, 1, mine.parent, print) == first


@pytest.mark.parametrize("name", ["a.png", ".httpbed/prior.txt"])
def test_a_changed_copy_is_made_again(
    name: str, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its length may be unchanged."""
    monkeypatch.setenv("HTTPBED_CACHE", str(mine.parent / "cache"))
    file = sites.served(catalog.ensure(PAGE, 1, mine.parent, print).folder) / name
    before = file.read_bytes()
    file.write_bytes(before.replace(b"ima", b"imb") if name == "a.png" else b"")
    catalog.ensure(PAGE, 1, mine.parent, print)
    assert file.read_bytes() == before


def test_a_page_with_a_file_in_httpbeds_folder_is_refused(mine: Path) -> None:
    """Serving it would replace httpbed's file."""
    stated = json.loads((mine / "site.json").read_text())
    stated["resources"][1] |= {"file": "0/.httpbed/prior.txt", "bytes": sites.PRIOR_BYTES}
    (mine / "site.json").write_text(json.dumps(stated))
    with pytest.raises(ConfigError, match="belongs to httpbed"):
        mirrored.outline(PAGE, mine.parent)


def test_every_mistake_is_reported_at_once(mine: Path) -> None:
    """Even if all lengths are right."""
    (mine / "files/0/a.png").write_bytes(b"imagf")
    (mine / "files/0/index.html").write_bytes(b"<img src=b.png>")
    with pytest.raises(ConfigError) as caught:
        mirrored.outline(PAGE, mine.parent)
    assert [one.place for one in caught.value.mistakes] == ["folder", "folder"]
    assert all("differs from the mirrored file" in one.reason for one in caught.value.mistakes)


def test_a_link_out_of_the_folder_is_not_followed(mine: Path) -> None:
    """Even if its target has the listed content."""
    (mine.parent / "secret").write_bytes(b"image")
    (mine / "files/0/a.png").unlink()
    (mine / "files/0/a.png").symlink_to(mine.parent / "secret")
    with pytest.raises(ConfigError, match="missing, a link, or not a file"):
        mirrored.outline(PAGE, mine.parent)


@pytest.mark.parametrize("file", ["0/../../secret", "/etc/passwd", "1/a.png", "0/a\0.png"])
def test_a_list_that_names_other_places_is_refused(mine: Path, file: str) -> None:
    """Upwards, absolute, of another origin, with a zero byte."""
    stated = json.loads((mine / "site.json").read_text())
    stated["resources"][1]["file"] = file
    (mine / "site.json").write_text(json.dumps(stated))
    with pytest.raises(ConfigError, match="not in the folder of its origin"):
        mirrored.outline(PAGE, mine.parent)


def test_a_missing_folder_is_a_mistake_with_a_remedy(tmp_path: Path) -> None:
    """The remedy is to mirror a page."""
    with pytest.raises(ConfigError, match="there is no such folder"):
        mirrored.outline(PAGE, tmp_path)
