"""The facts of a machine come from the kernel."""

from __future__ import annotations

import json

import pytest

from httpbed.bed.machine import facts


def test_the_facts_of_this_machine_are_complete_and_serialisable() -> None:
    """Every Linux reports them."""
    machine = facts.gather()
    assert machine.kernel
    assert machine.cores >= 1
    assert machine.memory_bytes > 1e8
    assert json.loads(json.dumps(machine.model_dump()))["cores"] == machine.cores


@pytest.mark.parametrize(
    ("stat", "share"),
    [
        ("cpu  10 0 10 60 0 0 0 20 5 0\ncpu0 1 2 3", 0.2),
        ("cpu  10 0 10 60 0 0 0 0 0 0\n", 0.0),
        ("cpu  0 0 0 0 0 0 0 0 0 0\n", None),
        ("", None),
    ],
)
def test_steal_is_a_share_of_all_processor_time(stat: str, share: float | None) -> None:
    """Guest time, which user time includes, is not counted twice."""
    assert facts._steal(stat) == share
