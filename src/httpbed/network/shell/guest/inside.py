"""The first process of a guest: it runs the command that was handed over, and powers off."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import asdict, replace
from typing import Any

from httpbed.experiment.errors import BedError, HostError
from httpbed.host.guest import job
from httpbed.host.guest.command import SHARED
from httpbed.network.shell import run as shell
from httpbed.network.shell.guest.work import LOG, PCAP, STDERR, STDOUT, Work
from httpbed.network.shell.run import LinkRequest


def main() -> None:
    """Run the command in its folder and environment, and power off."""
    work: Work = job.read_work()
    for descriptor, name in enumerate((STDOUT, STDERR), start=1):
        os.dup2(os.open(SHARED / name, os.O_WRONLY | os.O_APPEND), descriptor)
    os.environ.clear()
    os.environ.update(work.environment)
    os.chdir(work.folder)
    job.begin()
    job.end(_result(work.request))


def _result(request: LinkRequest) -> dict[str, Any]:
    here = replace(
        request,
        pcap=SHARED / PCAP if request.pcap else None,
        log=SHARED / LOG if request.log else None,
    )
    try:
        return asdict(asyncio.run(shell.run(here, _print)))
    except (BedError, HostError) as error:
        return {"broken": str(error)}


def _print(line: str) -> None:
    sys.stderr.write(f"httpbed: {line}\n")


if __name__ == "__main__":
    main()
