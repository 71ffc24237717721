"""Run a competition, and read who got what of the bottleneck."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from httpbed.analysis.sender import packets, sharing
from httpbed.analysis.sender.sharing import Sharing
from httpbed.conformance import competition
from httpbed.conformance.cells import Scale
from httpbed.conformance.competition import Outcome, Shared
from httpbed.conformance.sender import Sender
from httpbed.conformance.session import RETRIES, SEED, is_readable
from httpbed.executor import local
from httpbed.executor.local import Progress
from httpbed.host.backend import Backend
from httpbed.implementations.catalog import Catalog
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign
from httpbed.trial import manifest, preparation
from httpbed.trial.preparation import Loaded
from httpbed.trial.sharing import PACKET_LOG


def prepare(senders: Sequence[Sender], catalog: Catalog, scale: Scale) -> Loaded:
    """Make the experiment of a competition, without mistakes.

    Raises:
        ConfigError: With every reason why it cannot be.
    """
    return preparation.load(competition.experiment(senders, scale, seed=SEED), catalog)


def run(  # noqa: PLR0913 - all but the first three are told by name
    senders: Sequence[Sender],
    loaded: Loaded,
    folder: Path,
    *,
    catalog: Catalog,
    backend: Backend,
    command: str,
    tell: Callable[[Progress], None],
    say: Callable[[str], None],
) -> Outcome:
    """Run a competition as the campaign ``folder``, one trial at a time, and read what it shows.

    Raises:
        ConfigError: The folder holds something else.
        HostError: This machine cannot run it.
    """
    bed = preparation.make_bed(loaded, catalog, capture=False, say=say, backend=backend)
    bed = replace(bed, log=True)
    made_by = manifest.manifest(loaded, bed, command=command)
    with campaigns.opened(folder, loaded.text, loaded.trials, made_by) as campaign:
        campaign.clear_unfinished()
        campaign.note_run(datetime.now(UTC), command, 1)
        work = local.pending(campaign, loaded.trials)
        asyncio.run(local.execute(campaign, bed, work, jobs=1, tell=tell, retries=RETRIES))
        return read(campaign, competition.names(senders))


def read(campaign: Campaign, flows: Sequence[str]) -> Outcome:
    """Read the last attempt of every trial."""
    found, blind = [], []
    for attempt in campaign.attempts().values():
        queue = attempt.trial.levels[competition.FACTOR]
        if not is_readable(attempt):
            blind.append(f"queue of {queue}: {attempt.outcome.kind}: {attempt.outcome.reason}")
            continue
        found.append(Shared(queue, share(campaign.artifacts(attempt) / PACKET_LOG, flows)))
    return Outcome(tuple(flows), found, campaign.manifest, blind)


def share(log: Path, flows: Sequence[str]) -> Sharing:
    """Read the shares of one trial from its log, after all have settled."""
    own = {name: packets.load(log, competition.access(number)) for number, name in enumerate(flows)}
    begin_s = min(float(one.sent_s[0]) for one in own.values() if len(one))
    return sharing.share(
        own,
        packets.load(log, competition.bottleneck(len(flows))),
        rate_bit_s=competition.RATE_BIT_S,
        delay_s=competition.ONE_WAY_S,
        interval_s=(
            begin_s + competition.SETTLED_S,
            begin_s + competition.TIME_LIMIT_S - 1.0,
        ),
    )
