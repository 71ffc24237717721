"""Paths of httpbed's own Rust executables."""

from __future__ import annotations

import shutil
import sysconfig
from functools import cache
from pathlib import Path

from httpbed.base.errors import HostError

SANDBOX = "httpbed-sandbox"
LINK = "httpbed-link"
PROBE = "httpbed-probe"
ALL = (SANDBOX, LINK, PROBE)


@cache
def executable(name: str) -> Path:
    """Return the path of one of httpbed's own executables.

    Raises:
        HostError: It is not installed.
    """
    beside = Path(sysconfig.get_path("scripts")) / name
    path = str(beside) if beside.is_file() else shutil.which(name)
    if not path:
        raise HostError(
            f"the executable {name} is not installed",
            "build and install httpbed's wheel from a checkout with cargo: make build",
        )
    return Path(path).resolve()
