"""

The list of a site, and the files that it lists.

Every server gives a file the content type in the site's list.
"""

from __future__ import annotations

import ast
import re
from importlib import resources
from pathlib import Path

import pytest

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import corpus
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.corpus import CorpusPage
from httpbed.addons.pages.sites.site import CONTENT_TYPES, Resource, Site
from httpbed.base.errors import HostError

ALL = corpus.read()


TREE = {
    "d/index.html": b"<link rel=stylesheet href=../a.css><img src=1.png><img src=2.png>"
    b"<img src=3.png><script src=https://x.test/x.js></script>",
    "a.css": b"@font-face{src:url(f.woff2)} p{background:url(bg.png)}",
    "f.woff2": b"font",
    "bg.png": b"background",
    "d/1.png": b"1",
    "d/2.png": b"22",
    "d/3.png": b"333",
    "unused.js": b"",
}


def _requested(entry: CorpusPage, into: Path) -> dict[str, int]:
    (into / "files/0").mkdir(parents=True)
    site = corpus.build("x", entry, ALL.packages["gentelella"], TREE, into)
    sites.write(site, into)
    assert sites.read(into) == site
    return {resource.path: resource.requested for resource in site.resources}


def test_a_site_has_all_files_of_its_page_and_lists_the_requests(tmp_path: Path) -> None:
    """Files that another screen needs are there as well."""
    entry = CorpusPage(
        package="x", entry="/d/index.html", also=["/f.woff2?v=1"], never=["/d/2.png"]
    )
    assert _requested(entry, tmp_path) == {
        "/d/index.html": 1,
        "/a.css": 1,
        "/bg.png": 0,
        "/f.woff2": 0,
        "/f.woff2?v=1": 1,
        "/d/1.png": 1,
        "/d/2.png": 0,
        "/d/3.png": 1,
    }


def test_a_page_can_keep_some_of_its_images(tmp_path: Path) -> None:
    """Its style sheets keep their images."""
    result = _requested(CorpusPage(package="x", entry="/d/index.html", images=(1, 2)), tmp_path)
    assert [path for path in result if path.endswith(".png")] == ["/bg.png", "/d/2.png"]


def test_the_source_of_a_site_lists_its_changes(tmp_path: Path) -> None:
    """Package, version and each change."""
    (tmp_path / "files/0").mkdir(parents=True)
    entry = CorpusPage(package="x", entry="/d/index.html", images=(0, 2))
    site = corpus.build("x", entry, ALL.packages["gentelella"], TREE, tmp_path)
    assert site.source == (
        "npm gentelella 1.4.0; /d/index.html: other host: https://x.test/x.js;"
        " of 3 images 1 to 2 are kept"
    )


def test_a_package_without_the_page_is_an_error(tmp_path: Path) -> None:
    """The error names package and version."""
    with pytest.raises(HostError, match=r"site x changed: npm gentelella 1\.4\.0 has no /gone"):
        corpus.build(
            "x", CorpusPage(package="x", entry="/gone"), ALL.packages["gentelella"], TREE, tmp_path
        )


def test_the_groups_are_those_of_the_studies() -> None:
    """18 pages of Liu; of Biswal 15 with at most 20 and 15 with 80 to 100 objects."""
    requests = {name: entry.requests for name, entry in ALL.sites.items()}
    assert len(corpus.group("liu2024")) == 18
    few, dense = corpus.group("biswal2016-few"), corpus.group("biswal2016-dense")
    assert (len(few), len(dense)) == (15, 15)
    assert all(requests[name] <= 20 for name in few)
    assert all(80 <= requests[name] <= 100 for name in dense)


@pytest.mark.parametrize("name", ALL.sites)
def test_every_page_of_the_corpus_is_pinned_and_adds_up(name: str) -> None:
    """Requests and bytes are the sums over all kinds of resources."""
    entry = ALL.sites[name]
    package = ALL.packages[entry.package]
    assert len(package.sha256) == len(entry.sha256) == 64
    assert sum(share.requests for share in entry.by_type.values()) == entry.requests
    assert sum(share.bytes for share in entry.by_type.values()) == entry.weight


def test_a_package_with_other_content_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name and version may be right."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages/startbootstrap-agency-7.0.12.tgz").write_bytes(b"another")
    page = NamedPage(name="startbootstrap-agency")
    with pytest.raises(HostError, match=r"has the SHA-256 .*, not bc49"):
        corpus.make(page, 1, tmp_path, tmp_path / "into", print)


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


FILES = resources.files("httpbed.programs")
PATTERNS = {
    "nginx": r"^ +(?P<type>[a-z]+/\S+) (?P<endings>[a-z0-9 ]+);$",
    "envoy": r"^ +(?P<endings>[a-z0-9]+): (?P<type>[a-z]+/\S+)$",
    "caddy": r"^\t+~\(\?i\)\\\.(?P<endings>[a-z0-9]+)\$ (?P<type>\S+)$",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_recipes_have_the_table_of_content_types(name: str) -> None:
    """Each configuration has it in its own syntax."""
    text = FILES.joinpath("recipes", f"{name}.toml").read_text("utf-8")
    stated = {
        ending: match["type"]
        for match in re.finditer(PATTERNS[name], text, re.MULTILINE)
        for ending in match["endings"].split()
    }
    assert stated == CONTENT_TYPES


def test_builtin_programs_have_the_table_of_content_types() -> None:
    """They cannot import httpbed's table."""
    text = FILES.joinpath("builtin", "aioquic_server.py").read_text("utf-8")
    (table,) = (
        assign.value
        for assign in ast.parse(text).body
        if isinstance(assign, ast.Assign) and ast.unparse(assign.targets[0]) == "CONTENT_TYPES"
    )
    assert ast.literal_eval(table) == CONTENT_TYPES
