"""The CPU pressure on a trial, from the times of its tasks and of the machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.bed.sandbox.supervisor import CpuTimes, TaskTimes
from httpbed.trial.run.cpu_use import others_share, some_task_waited_s

SECONDS = st.floats(0, 100)
TASKS = st.lists(st.builds(TaskTimes, SECONDS, SECONDS), max_size=20)


def times(*tasks: TaskTimes, over_s: float = 10.0, busy_s: float = 8.0) -> CpuTimes:
    """Return what a watch of ten seconds saw, in which the CPUs were busy for eight."""
    return CpuTimes(over_s, busy_s, tasks)


@pytest.mark.parametrize(
    ("waits_s", "expected_s"),
    [((), 0.0), ((2.0,), 2.0), ((5.0, 5.0), 7.5), ((10.0, 1.0), 10.0), ((30.0,), 10.0)],
)
def test_waits_that_are_independent_overlap_by_chance(
    waits_s: tuple[float, ...], expected_s: float
) -> None:
    """Two tasks that each wait half of the time leave a quarter of it without a waiting task."""
    seen = times(*(TaskTimes(0.0, waited_s) for waited_s in waits_s))
    assert some_task_waited_s(seen) == pytest.approx(expected_s)


@pytest.mark.parametrize(("ran_s", "expected"), [(0.0, 1.0), (6.0, 0.25), (8.0, 0.0), (9.0, 0.0)])
def test_what_the_trial_did_not_use_went_to_others(ran_s: float, expected: float) -> None:
    """Never less than nothing: the machine's clock ticks are coarser than the tasks' times."""
    assert others_share(times(TaskTimes(ran_s, 0.0))) == pytest.approx(expected)


def test_a_watch_without_time_saw_nothing() -> None:
    """A division by zero is no pressure."""
    assert some_task_waited_s(times(over_s=0.0)) == 0
    assert others_share(times(busy_s=0.0)) == 0


@given(TASKS, st.floats(0.001, 100), SECONDS)
def test_shares_are_shares(tasks: list[TaskTimes], over_s: float, busy_s: float) -> None:
    """Whatever the kernel reports."""
    seen = times(*tasks, over_s=over_s, busy_s=busy_s)
    assert 0 <= some_task_waited_s(seen) <= over_s * (1 + 1e-9)
    assert 0 <= others_share(seen) <= 1
