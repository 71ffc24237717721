"""What ``httpbed worker`` does."""

from __future__ import annotations

from httpbed.campaign.cluster import machine_facts, worker_service
from httpbed.campaign.cluster.messages import WorkerFacts
from httpbed.campaign.cluster.worker_service import WorkerOptions
from httpbed.cli.echo import echo, say


def run(options: WorkerOptions, *, as_json: bool) -> None:
    """Test this machine, then work for a scheduler until it is gone."""
    machine_facts.require_able()

    def connected(facts: WorkerFacts) -> None:
        if as_json:
            echo(facts.model_dump_json())
        say(f"{facts.name} is connected to {options.scheduler}; Ctrl-C ends it")

    worker_service.run(options, connected=connected, say=say)
