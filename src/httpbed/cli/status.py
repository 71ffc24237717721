"""``httpbed status``: show how far a campaign is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import click

from httpbed.cli.checked_path import CAMPAIGN
from httpbed.cli.json_option import json_option
from httpbed.cli.verb import verb
from httpbed.experiment import units
from httpbed.experiment.trial import Record
from httpbed.store import campaign as campaigns
from httpbed.store import campaign_lock, damage
from httpbed.store.campaign import Campaign
from httpbed.store.damage import Damage

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
    campaign = campaigns.open_existing(directory)
    design = campaign.design()
    examined = list(campaign.examined())
    last = _last_outcomes(campaign, examined)
    harmed = [one for one in examined if isinstance(one, Damage)]
    outcomes = Counter(last.values())
    running = campaign_lock.is_held(directory)
    started = [one.attempt.started for one in examined if isinstance(one, Record)]
    left_s = time_left_s(started, len(design) - len(last)) if running else None
    if as_json:
        values: dict[str, Any] = {
            "schema": 1,
            "planned": len(design),
            "outcomes": outcomes,
            "running": running,
        }
        values |= {"left_s": left_s}
        click.echo(json.dumps({**values, "damaged": damage.values(harmed)}))
        return
    ended = ", ".join(f"{count} {kind}" for kind, count in sorted(outcomes.items())) or "none yet"
    state = "a run is in progress" if running else "no run is in progress"
    if left_s:
        state += f", about {units.format_long_duration(left_s)} left"
    click.echo(f"{directory}: {len(last)} of {len(design)} trials ended: {ended}; {state}")
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


def _last_outcomes(campaign: Campaign, examined: Sequence[Record | Damage]) -> dict[str, str]:
    """Return how the last attempt at each trial ended, by the trial's id."""
    if campaign.is_archive:
        # Only archives need it, and it imports pyarrow.
        from httpbed.store import tables  # noqa: PLC0415

        trials = tables.compact(campaign, ()).tables["trials"].to_pylist()
        return {row["trial"]: row["outcome"] for row in sorted(trials, key=itemgetter("attempt"))}
    attempts = [one.attempt for one in examined if isinstance(one, Record)]
    return {attempt.id: attempt.outcome.kind for attempt in attempts}
