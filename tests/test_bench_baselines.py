"""The two classifiers that the benchmark of planted causes compares with."""

from __future__ import annotations

import pytest
from bench.explain import baselines

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
