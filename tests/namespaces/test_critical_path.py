"""A real browser loads pages with a planted delay, and the critical path names it.

Those whose delay is large beside the computing of a busy machine; tests/virtual has the others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import planted_pages
from planted_pages import PLANTS

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.slow]


@pytest.mark.parametrize("name", ["slow server", "slow CPU"])
def test_the_path_names_what_was_planted(name: str, tmp_path: Path) -> None:
    planted_pages.check(PLANTS[name], planted_pages.explained(tmp_path, PLANTS[name], "real"))
