"""What a link needs of this machine: ``ip`` and ``ethtool``, and a way to the outside."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from httpbed.addons.link import names
from httpbed.addons.link.names import Names
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import passt

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders in which a sandbox looks for programs."""
WIRING = ("ip", "ethtool")
RESOLV_CONF = Path("/etc/resolv.conf")

Say = Callable[[str], None]


@dataclass(frozen=True)
class WayOut:
    """What leads from the far end of a link to the outside."""

    pasta: Path
    names: Names | None
    """The resolvers; None if this machine has no resolv.conf."""

    @property
    def programs(self) -> int:
        """The number of programs in this machine's network: pasta, and the relay for names."""
        return 1 if self.names is None else 2


def tools(say: Say) -> Path:
    """Return a root filesystem with the tools for a network: this machine's, if it has them.

    Raises:
        HostError: The machine lacks them, and a toolbox cannot be built.
    """
    if all(shutil.which(name, path=SEARCHED) for name in WIRING):
        return Path("/")
    from httpbed.bed.toolbox import toolbox  # noqa: PLC0415 - slow, and rarely needed

    if toolbox.find(toolbox.TOOLS) is None:
        say("ip or ethtool is missing here: building a toolbox that has them, once, in about 5 s")
    return toolbox.ensure(toolbox.TOOLS, say=say).path


def way_out(*, wanted: bool | None, say: Say) -> WayOut | None:
    """Find what leads to the outside; None isolates the command.

    ``wanted`` is False for isolation, True to require the outside, None to use it if possible.

    Raises:
        HostError: It is required, and pasta is missing.
    """
    if wanted is False:
        return None
    try:
        return WayOut(passt.ensure(say), _names(say))
    except HostError as error:
        if wanted:
            reason = f"pasta is missing, so the outside cannot be reached: {error.reason}"
            raise HostError(reason, error.remedy) from None
        say(f"the command has no outside network, because pasta is missing: {error.reason}")
        say(f"{error.remedy}, or give --isolated")
        return None


def _names(say: Say) -> Names | None:
    """Read this machine's resolv.conf."""
    try:
        return names.read(RESOLV_CONF.read_text(errors="replace"))
    except OSError as error:
        why = "leads to no file" if RESOLV_CONF.is_symlink() else str(error.strerror)
        say(f"the command resolves no names: {RESOLV_CONF}: {why}")
        return None
