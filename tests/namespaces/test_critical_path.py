"""A real browser loads pages with a planted delay, and the critical path names it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import planted_pages
from hars import har
from planted_pages import PLANTS, PlantedPage
from real_runs import httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


def explained(folder: Path, page: PlantedPage) -> list[dict[str, Any]]:
    (folder / "site.har").write_text(har(page.entries))
    words = {"clock": "real", "versions": page.versions, "more": page.more}
    (folder / "e.toml").write_text(planted_pages.EXPERIMENT.format(**words))
    done = httpbed("run", folder / "e.toml", "-o", folder / "c")
    assert done.returncode == 0, done.stderr
    told = httpbed("explain", folder / "c", "--json")
    assert told.returncode == 0, told.stderr
    loads: list[dict[str, Any]] = json.loads(told.stdout)["loads"]
    return loads


def longest(load: dict[str, Any]) -> tuple[str, set[str]]:
    """Return what most of the time was spent on, with its resource and what that waited behind."""
    totals, urls = defaultdict[tuple[str, str], float](float), defaultdict[Any, set[str]](set)
    for step in load["steps"]:
        key = step["what"], step["url"]
        totals[key] += step["end_s"] - step["begin_s"]
        urls[key] |= {step["url"], step["behind"]}
    top = max(totals, key=lambda one: totals[one])
    return top[0], urls[top]


@pytest.mark.parametrize("name", PLANTS)
def test_the_path_names_what_was_planted(name: str, tmp_path: Path) -> None:
    page = PLANTS[name]
    for load in explained(tmp_path, page):
        what, urls = longest(load)
        assert what == page.what, load["sentence"]
        assert any(url.endswith(page.where) for url in urls), load["sentence"]
        assert sum(load["shares"].values()) == pytest.approx(load["seconds"], abs=1e-4)
        paint = load["largest_contentful_paint"]
        assert sum(paint.values()) == pytest.approx(load["seconds"], abs=1e-4)


def test_a_chain_is_on_the_path_from_its_beginning(tmp_path: Path) -> None:
    (load,) = explained(tmp_path, PLANTS["chain"])
    urls = dict.fromkeys(step["url"].rpartition("/")[2] for step in load["steps"] if step["url"])
    assert [*urls] == ["", "a.js", "b.js", "hero.svg"]
