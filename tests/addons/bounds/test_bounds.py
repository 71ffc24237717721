"""Bounds on what a direction of a link can do, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from httpbed.addons.bounds.link_bounds import Bounds
from httpbed.experiment.topology import Link


def bounds(way: int = 0, **said: Any) -> Bounds:
    return Bounds(Link.model_validate({"between": ["client", "server"], **said}), way)


def test_a_constant_rate_lets_its_bytes_pass() -> None:
    """1.25 MB pass in a second at 10 Mbit/s, and none before the window."""
    link = bounds(rate="10 Mbit/s")
    assert link.most_bytes(1.0) == 1_250_000
    assert link.most_bytes(-1.0) == 0
    assert link.least_transmission_s(1_250_000) == 1.0


def test_a_bucket_lets_its_burst_pass_in_addition() -> None:
    """The burst passes in an empty window, too."""
    link = bounds(rate={"bucket": "8 Mbit/s", "burst": "100 kB"})
    assert link.most_bytes(0.0) == 100_000
    assert link.most_bytes(0.5) == 600_000
    assert link.least_transmission_s(600_000) == 0.5
    assert link.least_transmission_s(100_000) == 0.0


def test_the_highest_rate_counts() -> None:
    """Whatever was in force meanwhile; the witness knows."""
    link = bounds(rate={"steps": [["0 s", "8 Mbit/s"], ["1 s", "16 Mbit/s"]]})
    assert link.most_bytes(1.0) == 2_000_000
    assert link.least_transmission_s(2_000_000) == 1.0


@pytest.mark.parametrize("rate", [None, {"trace": "up.trace"}])
def test_of_a_link_without_a_rate_nothing_is_certain(rate: Any) -> None:
    """A trace gives no bound either, since only the emulator reads it."""
    link = bounds(rate=rate)
    assert link.most_bytes(1.0) is None
    assert link.least_transmission_s(10**9) == 0.0


@pytest.mark.parametrize(
    ("said", "least_s"),
    [
        ({"delay": "25 ms"}, 0.025),
        ({"delay": "25 ms", "delay_reading": "round-trip"}, 0.0125),
        ({"delay": "25 ms", "jitter": "5 ms"}, 0.020),
        ({"delay": "5 ms", "jitter": "25 ms"}, 0.0),
        ({"delay": "25 ms", "jitter": {"samples": ["3 ms", "-7 ms"]}}, 0.018),
        ({"delay": "25 ms", "jitter": {"samples": ["3 ms"]}}, 0.025),
        ({"delay": "25 ms", "jitter": {"distribution": "normal", "spread": "1 ms"}}, 0.016427),
        ({"delay": "25 ms", "jitter": {"distribution": "pareto", "spread": "10 ms"}}, 0.0192264973),
        ({"delay": "25 ms", "schedule": [{"at": "1 s", "delay": "10 ms"}]}, 0.010),
        (
            {"delay": "25 ms", "schedule": [{"at": "1 s", "delay": "1 ms", "direction": "down"}]},
            0.025,
        ),
    ],
)
def test_the_least_delay_is_of_all_that_are_ever_in_force(
    said: dict[str, Any], least_s: float
) -> None:
    """With the least that jitter adds, and never below 0."""
    assert bounds(**said).least_delay_s() == pytest.approx(least_s, abs=1e-9)
