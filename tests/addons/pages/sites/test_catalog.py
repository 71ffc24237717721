"""Sites are made once, and made again where a file of theirs was changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.pages.page import SyntheticPage
from httpbed.addons.pages.sites import catalog
from httpbed.base import disk
from modes import is_readable_by_all, private_mask

PAGE = SyntheticPage(objects=1, size="100 B")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))


def test_a_site_is_made_once_for_each_seed(tmp_path: Path) -> None:
    """What is stated of a page does not matter."""
    first = catalog.ensure(PAGE, 1, tmp_path, print)
    stated = PAGE.model_copy(update={"requests": 2})
    assert catalog.ensure(stated, 1, tmp_path, print) == first
    assert catalog.ensure(PAGE, 2, tmp_path, print) != first
    served = first.folder / "files/0/0001.gif"
    assert served.stat().st_mtime == disk.FIXED_TIME.timestamp()


@pytest.mark.parametrize("name", ["files/0/0001.gif", "files/0/.httpbed/prior.txt", "site.json"])
@pytest.mark.parametrize("is_removed", [True, False])
def test_a_changed_site_is_made_again(tmp_path: Path, name: str, is_removed: bool) -> None:
    file = catalog.ensure(PAGE, 1, tmp_path, print).folder / name
    before = file.read_bytes()
    if is_removed:
        file.unlink()
    else:
        file.write_bytes(before[1:])
    catalog.ensure(PAGE, 1, tmp_path, print)
    assert file.read_bytes() == before


def test_programs_read_the_site_of_a_user_with_a_private_mask(tmp_path: Path) -> None:
    """The server runs as another user."""
    with private_mask():
        site = catalog.ensure(PAGE, 1, tmp_path, print)
    assert is_readable_by_all(site.folder)
