from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.studies.mirror.file_names import Places

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
    return Places("page.test").add(url, kind)


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
def test_a_file_is_where_its_url_says(url: str, kind: str, path: str) -> None:
    """With the ending that its type needs; other hosts have a folder each."""
    assert _place(url, kind) == path


@pytest.mark.parametrize(
    "part", ["%2e%2e", "..", "%00", "a%2fb", "a%5cb", "x" * 300, "%ff", "%0a", "."]
)
def test_a_name_that_could_do_harm_is_another_one(part: str) -> None:
    """Upwards, NUL, slashes, too long, no UTF-8, a line break."""
    (only,) = Path(_place(f"https://page.test/{part}", "")).parts
    assert len(only) == 12
    assert only.isalnum()


def test_equal_urls_share_a_place_and_others_never_do() -> None:
    """A query may make another file."""
    places = Places("page.test")
    first = places.add("https://page.test/a.png?1", "image/png")
    assert places.add("https://page.test/a.png?1", "image/png") == first
    assert places.add("https://page.test/a.png?2", "image/png") != first


def test_a_file_of_the_page_is_not_where_the_folder_of_other_hosts_is() -> None:
    """Which may be needed later."""
    places = Places("page.test")
    assert places.add("https://page.test/-", "").startswith("-/")


@given(st.lists(st.tuples(URLS, TYPES), max_size=20, unique_by=lambda one: one[0]))
def test_all_places_can_be_written_on_any_filesystem(asked: list[tuple[str, str]]) -> None:
    """No two differ by case alone, none is file and folder, none leads out."""
    places = Places("page.test")
    made = [Path(places.add(url, kind)) for url, kind in asked]
    lower = [str(path).lower() for path in made]
    assert len(set(lower)) == len(lower)
    folders = {str(folder).lower() for path in made for folder in path.parents}
    assert not folders & set(lower)
    assert all(".." not in path.parts and not path.is_absolute() for path in made)
    assert all(len(part.encode()) <= 255 for path in made for part in path.parts)
