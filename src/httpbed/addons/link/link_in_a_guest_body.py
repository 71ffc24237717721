"""What ``httpbed link --clock virtual`` does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from httpbed.addons.link import outside as wiring
from httpbed.addons.link.guest import outside as guest
from httpbed.addons.link.run import LinkRequest, LinkRun
from httpbed.addons.virtual import capability, guest_kernel
from httpbed.base.errors import Mistake

_REAL = "or use --clock real"


def mistakes(argv: Sequence[str], *, isolated: bool, outside: bool, metered: bool) -> list[Mistake]:
    """Return what a command line asks for that has no virtual time."""
    found = []
    if not argv:
        reason = "is missing: a shell waits for keys, which have no virtual time"
        found.append(Mistake("COMMAND", reason, f"name a command, {_REAL}"))
    if outside:
        reason = "no other network has virtual time, so a guest reaches none"
        found.append(Mistake("--outside", reason, f"omit it, {_REAL}"))
    if metered:
        reason = "shows how fast packets pass on this machine's clock, which a guest has not"
        found.append(Mistake("--meter", reason, f"omit it, {_REAL}"))
    return [*found, *guest.mistakes(os.environ, Path.cwd(), isolated=isolated)]


def run(request: LinkRequest, say: Callable[[str], None]) -> LinkRun:
    """Run a command behind a link in a guest; everything that both need here is made before.

    Raises:
        HostError: This machine runs no guests.
        BedError: The link failed in the guest, or the guest died.
    """
    kernel = guest_kernel.ensure(say)
    capability.require(kernel)
    wiring.tools(say)
    return asyncio.run(guest.run(request, kernel, Path.cwd(), say))
