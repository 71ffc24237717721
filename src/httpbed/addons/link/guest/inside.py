"""The job of a guest that runs a command behind a link."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import asdict, replace
from typing import Any

from httpbed.addons.link import run as shell
from httpbed.addons.link.guest.work import LOG, PCAP, STDERR, STDOUT, HandedCommand
from httpbed.addons.virtual import job
from httpbed.bed.machine.places import SHARED


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
    return asdict(asyncio.run(shell.run(here, _print)))


def _print(line: str) -> None:
    sys.stderr.write(f"httpbed: {line}\n")
