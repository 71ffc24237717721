"""How many loads may run side by side, by invented figures."""

from __future__ import annotations

import pytest

from httpbed.addons.capacity import judgement
from httpbed.addons.capacity.judgement import ConcurrencyLevel, ConcurrentLoad

METRIC = "speed_index"


def loads(
    worse: float, *, version: str = "2", strained: int = 0, count: int = 10
) -> list[ConcurrentLoad]:
    """Return loads of about one second, worsened by a factor."""
    times = [worse * (1 + 0.002 * at) for at in range(count)]
    return [
        ConcurrentLoad(version, {METRIC: one, "page_load_time": one}, strained=at < strained)
        for at, one in enumerate(times)
    ]


ALONE = loads(1.0) + loads(1.0, version="3")


def level(at_once: int, seen: list[ConcurrentLoad]) -> ConcurrencyLevel:
    """Judge loads beside those that ran alone."""
    return judgement.level(at_once, seen, ALONE, lasted_s=60.0)


@pytest.mark.parametrize(("worse", "most"), [(1.0, 2), (1.04, 2), (1.06, 1), (1.3, 1)])
def test_a_figure_may_be_five_percent_worse(worse: float, most: int) -> None:
    """In either HTTP version."""
    beside = level(2, loads(1.0) + loads(worse, version="3"))
    assert judgement.undisturbed([level(1, ALONE), beside], METRIC) == most
    assert beside.worsening[METRIC].ratio == pytest.approx(worse, rel=1e-6)


@pytest.mark.parametrize(("strained", "most"), [(0, 2), (5, 2), (6, 1)])
def test_too_many_invalid_loads_count_as_disturbed(strained: int, most: int) -> None:
    """Up to a quarter of the loads may be invalid, whatever the figures."""
    beside = level(2, loads(1.0, strained=strained) + loads(1.0, version="3"))
    assert judgement.undisturbed([beside], METRIC) == most


@pytest.mark.parametrize("failed", [1, 20])
def test_failed_loads_count_as_disturbed(failed: int) -> None:
    """Even if the other loads are good, or all failed."""
    seen = loads(1.0) + loads(1.0, version="3")
    seen = [ConcurrentLoad("2", {}, strained=False)] * failed + seen[failed:]
    beside = level(2, seen)
    assert beside.failed == failed
    assert judgement.undisturbed([level(1, ALONE), beside], METRIC) == 1


def test_a_number_counts_only_if_smaller_ones_are_undisturbed() -> None:
    """Good figures at three do not outweigh bad ones at two."""
    levels = [level(2, loads(1.2) + loads(1.2, version="3")), level(3, ALONE)]
    assert judgement.undisturbed(levels, METRIC) == 1


def test_the_interval_contains_the_ratio() -> None:
    """Loads per minute are counted over the time of all loads."""
    beside = level(3, loads(1.1) + loads(1.0, version="3"))
    worse = beside.worsening[METRIC]
    assert worse.version == "2"
    assert worse.low < worse.ratio < worse.high
    assert beside.loads_per_minute == pytest.approx(20.0)
