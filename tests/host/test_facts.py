"""The facts of a machine are those the kernel tells."""

from __future__ import annotations

import json

import pytest

from httpbed.host import facts


def test_this_machine_has_facts() -> None:
    """What every Linux tells is there, and all of it can be written down."""
    found = facts.gather()
    assert found.kernel
    assert found.cores >= 1
    assert found.memory_bytes > 1e8
    assert json.loads(json.dumps(found.as_json()))["cores"] == found.cores


@pytest.mark.parametrize(
    ("stat", "share"),
    [
        ("cpu  10 0 10 60 0 0 0 20 5 0\ncpu0 1 2 3", 0.2),
        ("cpu  10 0 10 60 0 0 0 0 0 0\n", 0.0),
        ("cpu  0 0 0 0 0 0 0 0 0 0\n", None),
        ("", None),
    ],
)
def test_the_stolen_share(stat: str, share: float | None) -> None:
    """Steal is a share of all time; guests' time is not counted twice."""
    assert facts._steal(stat) == share
