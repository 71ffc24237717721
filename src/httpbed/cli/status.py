"""``httpbed status``: show how far a campaign is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import click

from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.json_option import json_option
from httpbed.cli.verb import verb
from httpbed.experiment import units
from httpbed.store import campaign as campaigns
from httpbed.store import campaign_lock, damage

FEW = 2
"""So many attempts give no usual distance between starts."""


@verb("status")
@click.argument("directory", metavar="DIR", type=CAMPAIGN)
@json_option
def command(*, directory: Path, as_json: bool) -> None:
    """Show how far the campaign in DIR is, and the outcomes of its trials.

    Use it during a run, from another terminal, or to see whether a campaign is complete. It names
    attempts whose trial.json, observations or hand-overs differ from their digests; they count as
    missing.
    """
    from httpbed.store import finished  # noqa: PLC0415 - pyarrow: not for --help

    campaign = campaigns.open_existing(directory)
    planned, found = len(campaign.design()), finished.read(campaign)
    ended, harmed = len(found.last), found.damaged
    outcomes = Counter(one.outcome for one in found.last.values())
    running = campaign_lock.is_held(directory)
    left_s = time_left_s(found.started, planned - ended) if running else None
    if as_json:
        values: dict[str, Any] = {
            "schema": 1,
            "planned": planned,
            "outcomes": outcomes,
            "running": running,
        }
        values |= {"left_s": left_s}
        click.echo(json.dumps({**values, "damaged": damage.values(harmed)}))
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(outcomes.items())) or "none yet"
    state = "a run is in progress" if running else "no run is in progress"
    if left_s:
        state += f", about {units.format_long_duration(left_s)} left"
    click.echo(f"{directory}: {ended} of {planned} trials ended: {kinds}; {state}")
    for line in damage.lines(harmed, directory):
        click.echo(line)


def time_left_s(started: Iterable[str], missing: int) -> float | None:
    """Return how long the missing trials take at the usual distance between two starts.

    The median distance ignores pauses between runs, and counts trials side by side as they are.
    None with fewer than three attempts.
    """
    times = sorted(datetime.fromisoformat(one).timestamp() for one in started)
    if len(times) <= FEW:
        return None
    return missing * median(later - earlier for earlier, later in pairwise(times))
