"""The list of a site, and the files that it lists."""

from __future__ import annotations

from pathlib import Path

from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.site import Resource, Site

SITE = Site(
    name="x",
    source="y",
    entry="/",
    origins=["server.httpbed.test"],
    resources=[
        Resource(
            origin=0, path="/", file="0/index.html", bytes=1, sha256="0" * 64, type="text/html"
        )
    ],
)


def test_the_digest_of_a_site_is_the_same_in_every_release() -> None:
    """The corpus and users' folders pin pages by this digest."""
    pinned = "d284b32e9727acc3e30956e52b72bacd04493ed114bb3a84594b73c51df13cb1"
    assert SITE.digest == pinned
    assert SITE.model_copy(update={"name": "z", "source": ""}).digest == pinned
    assert SITE.model_copy(update={"skeleton": True}).digest != pinned


def test_written_files_are_listed_once_for_each_url_that_a_load_requests(tmp_path: Path) -> None:
    """A file has a second resource for a URL with a query; a URL without a file has none."""
    requested = {"/a%20b.css": 1, "/c.js?v=1": 2, "/gone": 1}
    resources = sites.write_files([("a b.css", b"a"), ("c.js", b"c")], requested, tmp_path)
    assert [(one.path, one.file, one.type, one.requested) for one in resources] == [
        ("/a%20b.css", "0/a b.css", "text/css", 1),
        ("/c.js", "0/c.js", "text/javascript", 0),
        ("/c.js?v=1", "0/c.js", "text/javascript", 2),
    ]
    assert (tmp_path / "files/0/a b.css").read_bytes() == b"a"
