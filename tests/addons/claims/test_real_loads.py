"""Claims about single resources, on real loads of Chromium kept in a campaign."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import stored_campaigns
from httpbed.addons.claims import judging
from httpbed.addons.pages.load import driver_output, timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.experiment.trial import Record, Trial
from httpbed.store import query
from httpbed.store.results import Results
from page_campaigns import PAGES, RECORDED

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
STUDIES = {
    "Z-4": "zhang2023/rates.toml",
    "B-11a": "biswal2016/grid.toml",
    "B-11b": "biswal2016/grid.toml",
    "B-11c": "biswal2016/grid.toml",
}
KEPT = ("metric", "items", "flip", "expect")
CONTRASTS = {
    "Z-4": 'of = { http_version = "3" }, to = { http_version = "1.1" }',
    "B-11a": 'of = { http_version = "3" }, to = { http_version = "2" }',
    "B-11b": 'of = { http_version = "3" }, to = { http_version = "2" }',
    "B-11c": 'of = { http_version = "3" }, to = { http_version = "2" }',
}


def stated(name: str) -> str:
    """Return a study's claim, about the treatments of the recorded loads."""
    claims = tomllib.loads((EXPERIMENTS / STUDIES[name]).read_text())["claim"]
    (claim,) = (one for one in claims if one["id"] == name)
    kept = "".join(f'{key} = "{claim[key]}"\n' for key in KEPT if key in claim)
    return (
        f'[[claim]]\nid = "{name}"\nsays = "as in the study"\n{kept}'
        f'where = {{ loss = "0 %" }}\ncompare = {{ {CONTRASTS[name]} }}\n'
    )


def load(version: str) -> BrowserLoad:
    """Return the recorded load over an HTTP version."""
    return driver_output.read(RECORDED / f"h{version[0]}")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Make a campaign whose trials have the observations of the recorded loads."""
    text = PAGES + "".join(map(stated, STUDIES))
    folder = tmp_path_factory.mktemp("real") / "campaign"
    seen = {version: timing.of_load(load(version)) for version in ("1.1", "2", "3")}

    def record(trial: Trial) -> Record:
        made = stored_campaigns.record(trial)
        return made.model_copy(update={"observations": [*seen[trial.levels["http_version"]]]})

    stored_campaigns.make(folder, map(record, stored_campaigns.loaded(text).trials), text)
    return query.read(folder)


def spread_of_starts(requests: Sequence[PageRequest]) -> float:
    """Return the interquartile range of the times at which requests left."""
    starts = [request.send_start_s for request in requests if request.send_start_s is not None]
    return float(np.subtract(*np.quantile(starts, (0.75, 0.25))))


def median_from(begins: Callable[[PageRequest], float | None]) -> Callable[..., float]:
    """Return the median time from a moment of each request until it was whole."""

    def median(requests: Sequence[PageRequest]) -> float:
        times = [
            request.ended_s - start
            for request in requests
            if (start := begins(request)) is not None and request.ended_s is not None
        ]
        return float(np.median(times))

    return median


BY_HAND = {
    "Z-4": spread_of_starts,
    "B-11a": median_from(lambda request: request.send_start_s),
    "B-11b": median_from(lambda request: request.queued_s),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_claim_about_resources_finds_them_in_real_loads(campaign: Results, name: str) -> None:
    """The estimate is the ratio of what the requests of both loads give by hand."""
    judged = {claim.stated.id: claim.main for claim in judging.judge(campaign)}[name]
    of, to = ("3", "1.1") if name == "Z-4" else ("3", "2")
    expected = BY_HAND[name](load(of).requests) / BY_HAND[name](load(to).requests)
    assert judged.estimate is not None
    assert judged.estimate.value.value == pytest.approx(expected)
    assert judged.estimate.blocks == (6, 6)


def test_resources_that_flip_are_counted_by_name(campaign: Results) -> None:
    """The share of resources that load faster over HTTP/3 and, with queueing, arrive later."""
    by_name = {version: named(load(version)) for version in ("2", "3")}
    flipped = [
        loaded < by_name["2"][name][0] and queued > by_name["2"][name][1]
        for name, (loaded, queued) in by_name["3"].items()
        if name in by_name["2"]
    ]
    judged = {claim.stated.id: claim.main for claim in judging.judge(campaign)}["B-11c"]
    assert judged.estimate is not None
    assert judged.estimate.value.value == pytest.approx(np.mean(flipped))
    assert judged.estimate.unit == "1"


def named(loaded: BrowserLoad) -> dict[str, tuple[float, float]]:
    """Return each resource's time from its request, and from when the page asked for it."""
    names = timing.resource_names(loaded.requests)
    found = {}
    for name, one in zip(names, loaded.requests, strict=True):
        times = (one.send_start_s, one.queued_s, one.ended_s)
        sent, queued, ended = (math.nan if time is None else time for time in times)
        found[name] = ended - sent, ended - queued
    return {name: pair for name, pair in found.items() if not math.isnan(sum(pair))}
