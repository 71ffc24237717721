"""What of this machine a link needs: ``ip`` and ``ethtool``, and a way to the outside."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from httpbed.experiment.errors import HostError
from httpbed.host.packages import toolbox

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a sandbox looks for programs."""
WIRING = ("ip", "ethtool")
REMEDY = "install pasta (apt install passt)"


def tools(say: Callable[[str], None]) -> Path:
    """Return the root filesystem with what a network is set up with: this machine's, if it has it.

    Raises:
        HostError: It has not, and a toolbox cannot be built.
    """
    if all(shutil.which(name, path=SEARCHED) for name in WIRING):
        return Path("/")
    if toolbox.find(toolbox.TOOLS) is None:
        say("ip or ethtool is missing here: building a toolbox that has them, once, in about 5 s")
    return toolbox.ensure(toolbox.TOOLS, say=say).path


def pasta(*, wanted: bool | None, say: Callable[[str], None]) -> str | None:
    """Find the program that leads to the outside; None keeps the command isolated.

    ``wanted`` is False for isolation, True where nothing else will do, None for what there is.

    Raises:
        HostError: It is wanted and missing.
    """
    if wanted is False:
        return None
    found = shutil.which("pasta", path=SEARCHED)
    if not found and wanted:
        raise HostError("pasta is missing, so the outside cannot be reached", REMEDY)
    if not found:
        say(f"no outside network for the command: to have it, {REMEDY}; to be content, --isolated")
    return found
