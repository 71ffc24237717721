"""``httpbed status``: how far a campaign is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click

from httpbed.cli.experiment import json_option
from httpbed.store import campaign as campaigns


@click.command("status")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def command(*, directory: Path, as_json: bool) -> None:
    """Show how far the campaign in DIR is, and how its trials ended.

    Use it while a run is under way, from another terminal, or to see whether one is complete.
    """
    campaign = campaigns.existing(directory)
    design = campaign.design()
    last = campaign.attempts()
    outcomes = Counter(attempt.outcome.kind for attempt in last.values())
    running = campaigns.is_locked(directory)
    if as_json:
        said = {"schema": 1, "planned": len(design), "outcomes": outcomes, "running": running}
        click.echo(json.dumps(said))
        return
    ended = ", ".join(f"{count} {kind}" for kind, count in sorted(outcomes.items())) or "none yet"
    state = "a run is working on it" if running else "no run is working on it"
    click.echo(f"{directory}: {len(last)} of {len(design)} trials ended: {ended}; {state}")
