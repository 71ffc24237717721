"""Pages with a planted delay, loaded in virtual time: the critical path names it."""

from __future__ import annotations

from pathlib import Path

import pytest

import planted_pages
from planted_pages import PLANTS

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


@pytest.mark.parametrize("name", [name for name, page in PLANTS.items() if not page.computes])
def test_the_path_names_what_was_planted(name: str, tmp_path: Path) -> None:
    loads = planted_pages.explained(tmp_path, PLANTS[name], "virtual")
    planted_pages.check(PLANTS[name], loads)
    if name == "chain":
        urls = [step["url"].rpartition("/")[2] for step in loads[0]["steps"] if step["url"]]
        assert [*dict.fromkeys(urls)] == ["", "a.js", "b.js", "hero.svg"]
