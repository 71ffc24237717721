"""Every test here runs real programs in namespaces, and must leave the machine as it was.

Where namespaces are refused they are skipped, or fail with HTTPBED_REQUIRE_NAMESPACES=1:
tests/conftest.py sees to that for everything marked ``namespaces``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

import kin
from families import until
from httpbed.experiment.check import HANDOVER_PROMPT, LATENESS, PRESSURE


@pytest.fixture(scope="session", autouse=True)
def _adopting() -> Iterator[None]:
    with kin.adopting():
        yield


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """Leave out the checks that nobody waited for a CPU: the machine may be busy with tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpbed.trial.checks.bed.PRESSURE", replace(PRESSURE, limit=1e9))
        patch.setattr("httpbed.trial.checks.bed.LATENESS", replace(LATENESS, limit=1e9))
        prompt = replace(HANDOVER_PROMPT, limit=1e9)
        patch.setattr("httpbed.trial.handover.checks.HANDOVER_PROMPT", prompt)
        yield


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    """Fail every test after which a process, an interface or a mount is left."""
    before = kin.host()
    yield
    until(lambda: not kin.descendants(os.getpid()))
    assert kin.host() == before
