"""The job of a guest that runs a command behind a link, and what is handed to it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from httpbed.addons.link.link_plan import LOG, PCAP, LinkRequest
from httpbed.addons.link.link_run import run
from httpbed.addons.virtual import job
from httpbed.addons.virtual.visible_files import SHARED

STDOUT, STDERR = "stdout", "stderr"
"""Names in the shared folder of what the command prints."""
RANDOM_DEVICE = "random_device.so"
"""Name in the shared folder of the library that the command loads: the loader takes no path with a
space or a colon."""


@dataclass(frozen=True)
class HandedCommand:
    """A command to be run in a guest."""

    request: LinkRequest
    folder: Path
    environment: Mapping[str, str]


def main() -> None:
    """Run the command, and power off."""
    job.perform(_command)


def _command(work: HandedCommand) -> dict[str, Any]:
    """Run the command in its folder and environment; return how it ended."""
    for descriptor, name in enumerate((STDOUT, STDERR), start=1):
        os.dup2(os.open(SHARED / name, os.O_WRONLY | os.O_APPEND), descriptor)
    os.environ.clear()
    os.environ.update(work.environment)
    os.chdir(work.folder)
    job.begin()
    here = replace(
        work.request,
        pcap=SHARED / PCAP if work.request.pcap else None,
        log=SHARED / LOG if work.request.log else None,
    )
    return asdict(asyncio.run(run(here, _print)))


def _print(line: str) -> None:
    sys.stderr.write(f"httpbed: {line}\n")
