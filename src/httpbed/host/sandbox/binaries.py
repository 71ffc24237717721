"""Where the executables that come with httpbed are."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

from httpbed.experiment.errors import HostError

SANDBOX = "httpbed-sandbox"
LINK = "httpbed-link"
PROBE = "httpbed-probe"
ALL = (SANDBOX, LINK, PROBE)


def executable(name: str) -> Path:
    """Return the path of one of httpbed's own executables.

    Raises:
        HostError: When the package was installed without it.
    """
    beside = Path(sysconfig.get_path("scripts")) / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if not found:
        raise HostError(
            f"the executable {name} is not installed",
            "install httpbed from a checkout with cargo at hand: make build",
        )
    return Path(found).resolve()
