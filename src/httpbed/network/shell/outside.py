"""What a link needs of this machine: ``ip`` and ``ethtool``, and a way to the outside."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from httpbed.experiment.errors import HostError
from httpbed.host.packages import toolbox

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders in which a sandbox looks for programs."""
WIRING = ("ip", "ethtool")
REMEDY = "install pasta (apt install passt)"


def tools(say: Callable[[str], None]) -> Path:
    """Return a root filesystem with the tools for a network: this machine's, if it has them.

    Raises:
        HostError: The machine lacks them, and a toolbox cannot be built.
    """
    if all(shutil.which(name, path=SEARCHED) for name in WIRING):
        return Path("/")
    if toolbox.find(toolbox.TOOLS) is None:
        say("ip or ethtool is missing here: building a toolbox that has them, once, in about 5 s")
    return toolbox.ensure(toolbox.TOOLS, say=say).path


def pasta(*, wanted: bool | None, say: Callable[[str], None]) -> str | None:
    """Find the program that connects the sandbox to the outside; None isolates the command.

    ``wanted`` is False for isolation, True to require the program, None to use it if it exists.

    Raises:
        HostError: It is required and missing.
    """
    if wanted is False:
        return None
    found = shutil.which("pasta", path=SEARCHED)
    if not found and wanted:
        raise HostError("pasta is missing, so the outside cannot be reached", REMEDY)
    if not found:
        say(f"the command has no outside network: {REMEDY}, or give --isolated")
    return found
