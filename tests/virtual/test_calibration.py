"""The emulated link against arithmetic, in a guest: its clock is as good as the machine's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import guest_calibration
from httpbed.addons.calibration.cells import all_cells
from httpbed.addons.virtual import boot, guest_kernel, job, visible_files
from httpbed.addons.virtual.command import Guest
from httpbed.bed.toolbox import root_filesystem

LIMIT_S = 3600.0
MEMORY_BYTES = 2**31
LEFT_BYTES = 2**28


@pytest.mark.timeout(LIMIT_S)
def test_every_cell_of_the_calibration_passes_in_a_guest(tmp_path: Path) -> None:
    """Rates, delays, losses, queues and the rest, with the limits of real time."""
    names = [cell.name for cell in all_cells("smoke")]
    found = verdicts(tmp_path, names)
    assert [one["cell"] for one in found] == names
    assert {one["cell"]: failures(one) for one in found if not one["passed"]} == {}


def verdicts(folder: Path, names: list[str]) -> list[dict[str, Any]]:
    """Run cells in a guest; return the verdicts."""
    root = root_filesystem.ensure(root_filesystem.TOOLS, say=print).path
    work = guest_calibration.Work(root, names)
    given = job.hand_over(folder, guest_calibration.__name__, work)
    kernel = guest_kernel.ensure(print)
    with boot.processor() as cpu:
        guest = Guest(
            kernel=kernel.path,
            handed=given.folder,
            seed=1,
            memory_bytes=MEMORY_BYTES,
            cpu=cpu,
            left_bytes=LEFT_BYTES,
            seen=visible_files.topmost([*given.seen, root]),
        )
        left = asyncio.run(boot.run(guest, folder, limit_s=LIMIT_S))
    found: list[dict[str, Any]] = job.read_result(left)["verdicts"]
    return found


def failures(verdict: dict[str, Any]) -> list[str]:
    """Return why a cell failed."""
    broken = [verdict["broken"]] if verdict["broken"] else []
    return broken + [
        f"{one['what']}: {one['achieved']}, not {one['expected']} within {one['tolerance']}"
        for one in verdict["findings"]
        if not one["passed"]
    ]
