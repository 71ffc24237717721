"""What every test in real guests must keep."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import process_tree
from families import until


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    """Fail every test that leaves a process or a mount."""
    before = process_tree.host()
    with process_tree.adopting():
        yield
        until(lambda: not process_tree.descendants(os.getpid()))
    assert process_tree.host() == before
