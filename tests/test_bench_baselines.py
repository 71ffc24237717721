"""The benchmark of planted causes: the two classifiers that it compares with, and its recipes."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.explain import baselines, plants, trials

from httpbed.addons.explain.transfer import Transfer
from window_sender import PAYLOAD, WindowSender

PLAIN = WindowSender(400, lambda _: 10).transfer()
ADVERTISED = WindowSender(400, lambda _: 10, advertised=10 * PAYLOAD).transfer()
LOSSY = WindowSender(400, lambda _: 10, lost=range(20, 300, 20)).transfer()


@pytest.mark.parametrize(
    ("transfer", "limit"),
    [(PLAIN, "sender window"), (ADVERTISED, "receiver window"), (LOSSY, "congestion")],
)
def test_t_rat_tells_windows_and_losses_apart(transfer: Transfer, limit: str) -> None:
    assert baselines.t_rat(transfer) == limit


@pytest.mark.parametrize(("transfer", "limit"), [(PLAIN, "network"), (ADVERTISED, "receiver")])
def test_dapper_takes_a_window_that_stands_for_the_networks(transfer: Transfer, limit: str) -> None:
    assert baselines.dapper(transfer) == limit


def test_each_planted_program_is_a_valid_recipe_that_differs_in_what_it_runs(
    tmp_path: Path,
) -> None:
    known = trials.catalog_of(tmp_path).recipes
    for planted, plain in {
        plants.SLOW_SERVER: "nginx",
        plants.SMALL_BUFFER: "nginx",
        plants.PACED: "nginx",
        plants.SLOW_CLIENT: "curl",
    }.items():
        assert known[planted].run != known[plain].run
