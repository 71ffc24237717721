"""Proxies, page loads, visits and hand-overs give the same bytes again in guests.

`make bench-exactness` does it with every program; here is one trial of each sort.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.exactness import evidence, families, repetitions

import replays
from hars import MIXED
from httpbed.addons.interop import interop_session
from httpbed.campaign.settings import ONE
from httpbed.programs import catalog as catalogs
from httpbed.programs.recipe import Recipe
from httpbed.store import campaign as campaigns

CATALOG = catalogs.load()
PROGRAMS = {"chromium-headless-shell", "curl", "envoy", "gtlsclient", "nginx", "nginx-1.26"}
"""Which programs meet in the pairs below depends on the programs among which they are chosen."""
TRIALS = {
    "direct": "gtlsclient",
    "proxies": "curl -> HTTP/3 -> envoy -> HTTP/2 -> nginx",
    "pages": "chromium-headless-shell -> HTTP/3 -> nginx",
    "visits": "early data",
    "hand-overs": "NAT rebinding",
}
"""A word of a trial's name, by its family."""


def chosen_programs() -> list[Recipe]:
    """Return the recipes of the programs, which all machines have."""
    recipes, _ = interop_session.here(CATALOG)
    return [recipe for recipe in recipes if recipe.name in PROGRAMS]


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_is_exact_alone_on_a_busy_machine_and_elsewhere(name: str, tmp_path: Path) -> None:
    """Observations and emulator's result, three times."""
    recipes = chosen_programs()
    every = (
        *families.downloads(recipes),
        *families.pages(recipes, families.SMALL_PAGE),
        families.handovers(),
    )
    family = next(one for one in every if one.name == name)
    chosen = families.only(family, TRIALS[name])
    assert chosen is not None
    rows = [*repetitions.measured(chosen, CATALOG, tmp_path, print)]
    assert rows
    assert [row.verdict() for row in rows if not row.is_exact()] == []


def test_a_trial_does_not_depend_on_the_other_trials_of_its_campaign(tmp_path: Path) -> None:
    """The other trial has another server, of which this trial's guest gets nothing."""
    direct = next(families.downloads(chosen_programs()))
    found = []
    for word in ("curl -> HTTP/2 -> nginx-1.26", "curl -> HTTP/2 -> nginx"):
        family = families.only(direct, word)
        assert family is not None
        ready = repetitions.prepared(family, CATALOG, print)
        found.append(repetitions.run_once(ready, tmp_path / word, ONE, print))
    alone, together = found
    assert len(together) > len(alone)
    assert alone.items() <= together.items()


def test_a_replayed_site_is_exact(tmp_path: Path) -> None:
    """Its origins answer from a program of ours, with the recorded delays."""
    found = []
    for name in ("once", "again"):
        staged = replays.stage(tmp_path, MIXED, versions='["3"]', clock="virtual")
        staged.run(tmp_path / name)
        found.append(evidence.of_campaign(campaigns.open_existing(tmp_path / name)))
    assert found[0] == found[1]
    assert [one.outcome for one in found[0].values()] == [""]
