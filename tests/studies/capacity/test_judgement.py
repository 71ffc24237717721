"""From loads side by side to how many may run: by figures that are made up, and known."""

from __future__ import annotations

import pytest

from httpbed.studies.capacity import judgement
from httpbed.studies.capacity.judgement import Level, Seen

METRIC = "speed_index"


def loads(worse: float, *, version: str = "2", strained: int = 0, count: int = 10) -> list[Seen]:
    """Return loads around a second, so much worse."""
    times = [worse * (1 + 0.002 * at) for at in range(count)]
    return [
        Seen(version, {METRIC: one, "page_load_time": one}, strained=at < strained)
        for at, one in enumerate(times)
    ]


ALONE = loads(1.0) + loads(1.0, version="3")


def level(at_once: int, seen: list[Seen]) -> Level:
    """Judge loads beside those that ran alone."""
    return judgement.level(at_once, seen, ALONE, lasted_s=60.0)


@pytest.mark.parametrize(("worse", "most"), [(1.0, 2), (1.04, 2), (1.06, 1), (1.3, 1)])
def test_a_figure_may_be_a_twentieth_worse(worse: float, most: int) -> None:
    """Over either HTTP version."""
    beside = level(2, loads(1.0) + loads(worse, version="3"))
    assert judgement.undisturbed([level(1, ALONE), beside], METRIC) == most
    assert beside.worsening[METRIC].ratio == pytest.approx(worse, rel=1e-6)


@pytest.mark.parametrize(("strained", "most"), [(0, 2), (5, 2), (6, 1)])
def test_a_busy_machine_is_too_much_whatever_the_figures(strained: int, most: int) -> None:
    """A quarter of twenty loads may be invalid, and no more."""
    beside = level(2, loads(1.0, strained=strained) + loads(1.0, version="3"))
    assert judgement.undisturbed([beside], METRIC) == most


@pytest.mark.parametrize("failed", [1, 20])
def test_loads_that_fail_beside_others_are_disturbed(failed: int) -> None:
    """However good the rest looks, and where nothing is left to look at."""
    seen = loads(1.0) + loads(1.0, version="3")
    seen = [Seen("2", {}, strained=False)] * failed + seen[failed:]
    beside = level(2, seen)
    assert beside.failed == failed
    assert judgement.undisturbed([level(1, ALONE), beside], METRIC) == 1


def test_more_count_only_where_fewer_are_good() -> None:
    """Three that happen to look well do not mend two that do not."""
    levels = [level(2, loads(1.2) + loads(1.2, version="3")), level(3, ALONE)]
    assert judgement.undisturbed(levels, METRIC) == 1


def test_the_interval_is_about_the_ratio() -> None:
    """And loads a minute are counted over the time that all took."""
    beside = level(3, loads(1.1) + loads(1.0, version="3"))
    worse = beside.worsening[METRIC]
    assert worse.version == "2"
    assert worse.low < worse.ratio < worse.high
    assert beside.loads_per_minute == pytest.approx(20.0)
