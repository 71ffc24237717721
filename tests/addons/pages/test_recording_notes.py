"""Notes on replayed pages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa

from httpbed.addons.pages.page_check_table import RECORDING
from httpbed.addons.pages.replay_program import SKELETON
from httpbed.addons.pages.report import section


def notes(*rows: tuple[str, str, str]) -> list[str]:
    names = ("check", "figure", "limit")
    checks = pa.table({name: [row[n] for row in rows] for n, name in enumerate(names)})
    source = SimpleNamespace(results=SimpleNamespace(checks=checks))
    return list(section.NOTES.make(cast("Any", source)))


def test_a_skeleton_and_each_change_stand_in_the_report_once() -> None:
    """Every trial has the check; a page that is replayed itself without changes has no note."""
    row = (RECORDING.id, "a.har, 0123; 9 waits may be queueing", SKELETON)
    found = notes(row, row, (RECORDING.id, "b.har, 4567", "the page itself"), ("site", "x; y", ""))
    assert len(found) == 2
    assert SKELETON in found[0]
    assert found[1] == "a.har, 0123: 9 waits may be queueing"
    assert len(notes((RECORDING.id, f"a.har; {'x' * 9999}", "the page itself"))[0]) < 1000
