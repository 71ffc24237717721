from __future__ import annotations

import os
from pathlib import Path

import pytest

from httpbed.experiment.errors import ConfigError
from httpbed.studies.mirror import local_folder
from httpbed.studies.mirror.crawler import Bounds

AMPLE = Bounds(10_000, 100, 60.0)
ICON = b'<link rel="icon" href="data:,">'


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A folder with a page."""
    folder = tmp_path / "page"
    (folder / "img").mkdir(parents=True)
    (folder / "index.html").write_text(
        "<head></head><img src=img/a.png><img src=http://x.test/b.png>"
    )
    (folder / "img/a.png").write_bytes(b"image")
    return folder


def test_a_folder_is_read_with_all_below_it(page: Path) -> None:
    """A link inside the folder is as good as a file."""
    (page / "link.png").symlink_to("img/a.png")
    assert set(local_folder.read(page, "index.html", AMPLE)) == {
        "index.html",
        "img/a.png",
        "link.png",
    }


def test_a_page_is_copied_as_it_is_but_for_its_icon(page: Path) -> None:
    """Some browsers would ask for one, and some not."""
    files = local_folder.read(page, "index.html", AMPLE)
    made = {path: body for path, body, _ in local_folder.repaired(files, strip=False)}
    assert made["index.html"] == files["index.html"].replace(b"<head>", b"<head>" + ICON)


def test_what_is_outside_goes_where_that_is_asked_for(page: Path) -> None:
    """And what went is told."""
    files = local_folder.read(page, "index.html", AMPLE)
    made = {path: (body, told) for path, body, told in local_folder.repaired(files, strip=True)}
    assert made["index.html"] == (
        b"<head>" + ICON + b"</head><img src=img/a.png>",
        ["other host: http://x.test/b.png"],
    )


def test_everything_that_cannot_be_served_is_told_at_once(page: Path) -> None:
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


@pytest.mark.parametrize("bounds", [Bounds(10, 100, 60.0), Bounds(10_000, 1, 60.0)])
def test_a_folder_beyond_its_bounds_is_refused(page: Path, bounds: Bounds) -> None:
    """By bytes and by files."""
    with pytest.raises(ConfigError, match="raise --bytes or --files"):
        local_folder.read(page, "index.html", bounds)
