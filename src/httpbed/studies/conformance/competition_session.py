"""Transfer a competition, and read who got what of the bottleneck."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from httpbed.analysis.sender import packets, split
from httpbed.analysis.sender.split import Split
from httpbed.campaign import preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.preparation import Loaded
from httpbed.campaign.progress import Progress
from httpbed.experiment.sender import Scale
from httpbed.experiment.trial import Attempt
from httpbed.host.backend import Backend
from httpbed.programs.catalog import Catalog
from httpbed.store import packet_log
from httpbed.store.campaign import Campaign
from httpbed.studies.conformance import competition, usable_attempts
from httpbed.studies.conformance.competition import Competition, Shared
from httpbed.studies.conformance.sender import Sender
from httpbed.studies.conformance.session import RETRIES, SEED


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
) -> Competition:
    """Run a competition as the campaign ``folder``, one trial at a time, and read what it shows.

    Raises:
        ConfigError: The folder holds something else.
        HostError: This machine cannot run it.
    """
    options = campaign_run.RunOptions(backend, command, packet_log=True)
    ready = campaign_run.prepare(loaded, catalog, options, say=say)
    with campaign_run.opened(ready, folder, jobs=1, say=say) as work:
        work.finish(jobs=1, tell=tell, retries=RETRIES)
        return read(work.campaign, competition.names(senders))


def read(campaign: Campaign, flows: Sequence[str]) -> Competition:
    """Read the last attempt of every trial."""
    found, blind, invalid = [], [], False
    for attempt in campaign.attempts().values():
        queue = attempt.trial.levels[competition.FACTOR]
        seen = _split(campaign, attempt, flows)
        if isinstance(seen, str):
            blind.append(f"queue of {queue}: {seen}")
            invalid |= attempt.outcome.kind == "invalid"
        else:
            found.append(Shared(queue, seen))
    return Competition(tuple(flows), found, campaign.manifest, blind, invalid)


def _split(campaign: Campaign, attempt: Attempt, flows: Sequence[str]) -> Split | str:
    """Read the shares of an attempt; or say why that cannot be done."""
    if blindness := usable_attempts.blindness(attempt):
        return blindness
    try:
        return split_of(campaign.artifact(attempt, packet_log.FILE), flows)
    except (OSError, ValueError) as error:
        return f"its packet log cannot be read: {error}"


def split_of(log: Path, flows: Sequence[str]) -> Split:
    """Read the shares of one trial from its log, after all have settled.

    Raises:
        OSError: There is no log.
        ValueError: It is none, or a flow is missing in it.
    """
    ways = map(competition.access, range(len(flows)))
    *each, together = packets.load(log, *ways, competition.bottleneck(len(flows)))
    own = dict(zip(flows, each, strict=True))
    if missing := [name for name, one in own.items() if not len(one)]:
        raise ValueError(f"nothing was sent by {', '.join(missing)}")
    begin_s = min(float(one.sent_s[0]) for one in own.values())
    return split.split(
        own,
        together,
        rate_bit_s=competition.RATE_BIT_S,
        delay_s=competition.ONE_WAY_S,
        interval_s=(
            begin_s + competition.SETTLED_S,
            begin_s + competition.TIME_LIMIT_S - 1.0,
        ),
    )
