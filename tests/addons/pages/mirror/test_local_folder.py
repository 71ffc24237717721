from __future__ import annotations

import os
from pathlib import Path

import pytest

from httpbed.addons.pages.mirror import local_folder
from httpbed.addons.pages.mirror.crawler import MirrorLimits
from httpbed.base.errors import ConfigError

AMPLE = MirrorLimits(10_000, 100, 60.0)
ICON = b'<link rel="icon" href="data:,">'


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Make a folder with a page."""
    folder = tmp_path / "page"
    (folder / "img").mkdir(parents=True)
    (folder / "index.html").write_text(
        "<head></head><img src=img/a.png><img src=http://x.test/b.png>"
    )
    (folder / "img/a.png").write_bytes(b"image")
    return folder


def test_all_files_below_a_folder_are_read(page: Path) -> None:
    """A link to a file inside the folder counts as a file."""
    (page / "link.png").symlink_to("img/a.png")
    assert set(local_folder.read(page, "index.html", AMPLE)) == {
        "index.html",
        "img/a.png",
        "link.png",
    }


def test_a_page_is_copied_unchanged_except_for_its_icon(page: Path) -> None:
    """Without one, some browsers request an icon and some do not."""
    files = local_folder.read(page, "index.html", AMPLE)
    made = {path: body for path, body, _ in local_folder.repaired(files, strip=False)}
    assert made["index.html"] == files["index.html"].replace(b"<head>", b"<head>" + ICON)


def test_strip_removes_references_to_the_outside(page: Path) -> None:
    """Each removal is listed as a change."""
    files = local_folder.read(page, "index.html", AMPLE)
    made = {path: (body, told) for path, body, told in local_folder.repaired(files, strip=True)}
    assert made["index.html"] == (
        b"<head>" + ICON + b"</head><img src=img/a.png>",
        ["other host: http://x.test/b.png"],
    )


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
        local_folder.read(page, "gone.html", AMPLE)
    assert sorted(Path(one.place).name for one in caught.value.mistakes) == [
        "dangling",
        "gone.html",
        "new\nline",
        "out",
        "pipe",
        "prior.txt",
        "up",
    ]


@pytest.mark.parametrize("bounds", [MirrorLimits(10, 100, 60.0), MirrorLimits(10_000, 1, 60.0)])
def test_a_folder_that_exceeds_a_limit_is_refused(page: Path, bounds: MirrorLimits) -> None:
    """Both bytes and files are limited."""
    with pytest.raises(ConfigError, match="raise --bytes or --files"):
        local_folder.read(page, "index.html", bounds)
