"""Runs a guest until it powers off, under a watchdog on this machine's clock."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from httpbed.experiment.errors import BedError, HostError, visible
from httpbed.host.guest.command import Guest
from httpbed.host.sandbox import untrusted_files

CONSOLE = "console"
"""Name in the shared folder of the kernel's messages and what its first process prints."""
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


async def run(guest: Guest, *, limit_s: float) -> None:
    """Boot a guest and wait until it has powered off.

    When the caller is cancelled or this process ends, the guest ends with all its processes.

    Raises:
        BedError: It ended otherwise, or not within ``limit_s`` of this machine's clock.
        HostError: This machine lacks a program that boots it.
    """
    process = await _started(guest)
    try:
        async with asyncio.timeout(limit_s):
            code = await process.wait()
    except TimeoutError:
        reason = f"the guest did not end within {limit_s:.0f} s of this machine's clock"
        raise BedError(f"{reason}: {last_words(guest.shared)}") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if code:
        raise BedError(f"the guest ended with exit status {code}: {last_words(guest.shared)}")


async def _started(guest: Guest) -> asyncio.subprocess.Process:
    argv = guest.argv()
    with (guest.shared / CONSOLE).open("wb") as console:
        try:
            return await asyncio.create_subprocess_exec(
                *argv,
                env=guest.environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,  # an interrupt at the terminal must not reach it
            )
        except FileNotFoundError:
            raise HostError(f"this machine has no {argv[0]}", "install util-linux") from None


def last_words(shared: Path) -> str:
    """Return the last lines of a guest's console, in printable characters.

    After a panic, the processor's registers follow, which are left out.
    """
    lines = untrusted_files.last_lines(shared, CONSOLE, _SEARCHED_LINES, _SEARCHED_BYTES)
    words = [visible(line.strip()) for line in lines if line.strip()]
    panic = next((end for end, line in enumerate(words, 1) if _PANIC in line), len(words))
    return "; ".join(words[:panic][-_LAST_LINES:]) or "its console is empty"
