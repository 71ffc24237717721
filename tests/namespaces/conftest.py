"""Every test here runs real programs in namespaces, and must leave the machine as it was.

Where namespaces are refused they are skipped, or fail with HTTPBED_REQUIRE_NAMESPACES=1:
tests/conftest.py sees to that for everything marked ``namespaces``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pytest

import patience
import process_tree
from families import until
from httpbed.experiment.trial import Record
from planting import Caught


@pytest.fixture(scope="session", autouse=True)
def _adopting() -> Iterator[None]:
    with process_tree.adopting():
        yield


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """Lift the limits on a busy machine, because other tests run at the same time."""
    with pytest.MonkeyPatch.context() as patch:
        patience.lift(patch.setattr)
        yield


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    """Fail every test after which a process, an interface or a mount is left."""
    before = process_tree.host()
    yield
    until(lambda: not process_tree.descendants(os.getpid()))
    assert process_tree.host() == before


@pytest.fixture
def caught(request: pytest.FixtureRequest) -> Caught:
    """Tell whether the check that the test's marker names is broken in every attempt."""
    by = request.node.get_closest_marker("planted").kwargs["by"]

    def caught(records: Iterable[Record]) -> bool:
        broken = [
            {check.check for check in record.attempt.checks if check.passed is False}
            for record in records
        ]
        return bool(broken) and all(by in names for names in broken)

    return caught
