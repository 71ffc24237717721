"""What ``httpbed worker`` does."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path

from httpbed.addons.cluster import certificates, machine_facts, worker_service
from httpbed.addons.cluster.messages import WorkerFacts
from httpbed.addons.cluster.worker_service import WorkerOptions
from httpbed.cli.echo import echo, say
from httpbed.programs.protocol import AUTHORITY

QUIET = "--no-dashboard --dashboard-address 127.0.0.1:0"
"""Of Dask's scheduler: its pages, which need no certificate, are for this machine only."""


def make_certificates(folder: Path) -> None:
    """Make the certificates of a cluster, and print how to use them."""
    until = certificates.make(folder, datetime.now(UTC))
    say(f"{folder} has the key of a new cluster, valid until {until:%d %B %Y}")
    say("copy the folder to each machine of the cluster, readable by its user alone")
    say("start the scheduler, here with an address of this machine:")
    files = {
        "ca-file": folder / AUTHORITY,
        "cert": folder / certificates.CERTIFICATE,
        "key": folder / certificates.KEY,
    }
    tls = " ".join(f"--tls-{name} {shlex.quote(str(path))}" for name, path in files.items())
    echo(f"dask scheduler --host tls://10.0.0.1 {tls} {QUIET}")


def run(options: WorkerOptions, *, as_json: bool) -> None:
    """Test this machine, then work for a scheduler until it is gone."""
    machine_facts.require_able()

    def connected(facts: WorkerFacts) -> None:
        if as_json:
            echo(facts.model_dump_json())
        say(f"{facts.name} is connected to {options.scheduler.address}; Ctrl-C ends it")

    worker_service.run(options, connected=connected, say=say)
