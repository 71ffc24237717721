"""Runs a guest until it powers off, in a sandbox and under a watchdog on this machine's clock."""

from __future__ import annotations

import contextlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from httpbed.addons.virtual.command import CONSOLE, Guest
from httpbed.addons.virtual.visible_files import LEFT
from httpbed.base import untrusted_files
from httpbed.base.errors import BedError, visible
from httpbed.bed.sandbox.sandbox_spec import Exit
from httpbed.bed.sandbox.supervisor import sandbox

_LAST_LINES, _SEARCHED_LINES, _SEARCHED_BYTES = 3, 60, 2**14
_PANIC = "Kernel panic"
_guests_on = Counter[int]()
"""How many guests of this process run on each processor."""


@contextlib.contextmanager
def processor() -> Iterator[int]:
    """Reserve the processor with the fewest guests of this process."""
    chosen = min(sorted(os.sched_getaffinity(0)), key=_guests_on.__getitem__)
    _guests_on[chosen] += 1
    try:
        yield chosen
    finally:
        _guests_on[chosen] -= 1


async def run(
    guest: Guest,
    folder: Path,
    *,
    limit_s: float = math.inf,
    watch: Callable[[Path], None] = lambda _: None,
) -> Path:
    """Boot a guest, wait until it has powered off, and return the folder of what it left.

    When the caller is cancelled or this process ends, the guest ends with all its processes.

    Args:
        guest: The guest.
        folder: Gets its files.
        limit_s: The longest time by this machine's clock.
        watch: Called with the folder to which the guest writes, once it runs.

    Raises:
        BedError: It ended otherwise, or too late, or left more than files and folders.
        HostError: The kernel of this machine refuses its sandbox.
    """
    spec, left = guest.sandbox(folder), folder / "trial" / LEFT
    spec.scratch.mkdir()
    left.parent.mkdir()
    try:
        async with sandbox(spec) as supervisor:
            bound_s = limit_s if math.isfinite(limit_s) else None
            process = await supervisor.start(guest.process(bound_s))
            watch(supervisor.folder / LEFT)
            ended = await process.wait()
    finally:
        spec.scratch.rmdir()
    if wrong := _wrong(ended, limit_s):
        raise BedError(f"the guest {wrong}: {last_words(left)}")
    if disorder := supervisor.disorder.get(LEFT):
        raise BedError(f"the guest {disorder}")
    return left


def _wrong(ended: Exit, limit_s: float) -> str:
    if ended.timed_out:
        return f"did not end within {limit_s:.0f} s of this machine's clock"
    if ended.ended_for:
        return f"{ended.ended_for}, and was killed"
    return "" if ended.clean else f"ended with {ended}"


def last_words(left: Path) -> str:
    """Return the last lines of a guest's console, in printable characters.

    After a panic, the processor's registers follow, which are left out.
    """
    lines = untrusted_files.last_lines(left, CONSOLE, _SEARCHED_LINES, _SEARCHED_BYTES)
    words = [visible(line.strip()) for line in lines if line.strip()]
    panic = next((end for end, line in enumerate(words, 1) if _PANIC in line), len(words))
    return "; ".join(words[:panic][-_LAST_LINES:]) or "its console is empty"
