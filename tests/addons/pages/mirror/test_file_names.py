from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.pages.mirror.file_names import FileNames

PARTS = st.sampled_from(
    [
        "a",
        "A",
        "b.css",
        "..",
        ".",
        "",
        "%2e%2e",
        "%00",
        "%2f",
        "x" * 300,
        "%ff",
        "é",
        "-",
        "\\",
        " ",
    ]
)
URLS = st.lists(PARTS, max_size=5).flatmap(
    lambda parts: st.sampled_from(["page.test", "other.test:81", "a"]).map(
        lambda host: f"https://{host}/{'/'.join(parts)}"
    )
)
TYPES = st.sampled_from(["text/html", "text/css", "image/png", "", "x/y"])


def _place(url: str, kind: str) -> str:
    return FileNames("page.test").add(url, kind)


@pytest.mark.parametrize(
    ("url", "kind", "path"),
    [
        ("https://page.test/", "text/html", "index.html"),
        ("https://page.test/a/b.css?v=1", "text/css", "a/b.css"),
        ("https://page.test/style.php?x", "text/css", "style.php.css"),
        ("https://page.test/a%20b.png", "image/png", "a b.png"),
        ("https://fonts.test/css?family=A", "text/css", "-/fonts.test/css.css"),
        ("https://page.test/data", "application/x-of-nobody", "data"),
    ],
)
def test_a_file_has_the_path_of_its_url(url: str, kind: str, path: str) -> None:
    """The suffix fits its type; each other host has its own folder."""
    assert _place(url, kind) == path


@pytest.mark.parametrize(
    "part", ["%2e%2e", "..", "%00", "a%2fb", "a%5cb", "x" * 300, "%ff", "%0a", "."]
)
def test_a_harmful_name_is_replaced(part: str) -> None:
    """Upwards, NUL, slashes, too long, no UTF-8, a line break."""
    (only,) = Path(_place(f"https://page.test/{part}", "")).parts
    assert len(only) == 12
    assert only.isalnum()


def test_each_url_has_its_own_path() -> None:
    """URLs with other queries are other files."""
    places = FileNames("page.test")
    first = places.add("https://page.test/a.png?1", "image/png")
    assert places.add("https://page.test/a.png?1", "image/png") == first
    assert places.add("https://page.test/a.png?2", "image/png") != first


def test_no_file_takes_the_name_of_the_folder_of_other_hosts() -> None:
    """The folder may be needed later."""
    places = FileNames("page.test")
    assert places.add("https://page.test/-", "").startswith("-/")


@given(st.lists(st.tuples(URLS, TYPES), max_size=20, unique_by=lambda one: one[0]))
def test_all_paths_can_be_written_on_any_file_system(asked: list[tuple[str, str]]) -> None:
    """No two differ only in case, none is both a file and a folder, none leads out."""
    places = FileNames("page.test")
    made = [Path(places.add(url, kind)) for url, kind in asked]
    lower = [str(path).lower() for path in made]
    assert len(set(lower)) == len(lower)
    folders = {str(folder).lower() for path in made for folder in path.parents}
    assert not folders & set(lower)
    assert all(".." not in path.parts and not path.is_absolute() for path in made)
    assert all(len(part.encode()) <= 255 for path in made for part in path.parts)
