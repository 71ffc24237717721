"""A conformance test: an ordinary campaign with the emulator's log, and what is read from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.analysis.sender import behaviour, packets
from httpbed.analysis.sender.flight import Flight, flight
from httpbed.campaign import preparation, senders
from httpbed.campaign import run as campaign_run
from httpbed.campaign.preparation import Loaded
from httpbed.campaign.progress import Progress
from httpbed.experiment.sender import Scale, SenderKey
from httpbed.experiment.trial import Attempt
from httpbed.host.backend import Backend
from httpbed.programs.catalog import Catalog
from httpbed.store import packet_log, sender_records
from httpbed.store.campaign import Campaign
from httpbed.studies.conformance import document, usable_attempts
from httpbed.studies.conformance.evidence import Evidence, Transfer, Transfers
from httpbed.studies.conformance.judgement import Judgement, reach
from httpbed.studies.conformance.networks import REPLICATES, Network, networks
from httpbed.studies.conformance.sender import Sender

NO_BODY = "nothing of the body came"
SEED = 20261121
"""Of all conformance tests: two senders meet the same losses."""


RETRIES = 1
"""Of a trial on a machine that is too busy: what is read bears it."""


@dataclass(frozen=True)
class Test:
    """A conformance test, before it has run."""

    sender: Sender
    scale: Scale
    networks: tuple[Network, ...]
    loaded: Loaded
    catalog: Catalog
    backend: Backend
    jobs: int
    command: str


def prepare(  # noqa: PLR0913 - all but the first two are told by name
    sender: Sender, catalog: Catalog, *, scale: Scale, backend: Backend, jobs: int, command: str
) -> Test:
    """Make the experiment of a test, without mistakes.

    Raises:
        ConfigError: The sender cannot be what it was asked to be; with every reason.
    """
    asked = networks(scale, sender.judged_as)
    text = document.experiment(sender, asked, replicates=REPLICATES[scale], seed=SEED)
    loaded = preparation.load(text, catalog)
    return Test(sender, scale, asked, loaded, catalog, backend, jobs, command)


def run(
    test: Test, folder: Path, *, tell: Callable[[Progress], None], say: Callable[[str], None]
) -> Judgement:
    """Run a test as the campaign ``folder``, or finish it, and judge what the emulator saw.

    Raises:
        ConfigError: The folder holds something else.
        HostError: This machine cannot run it.
    """
    options = campaign_run.RunOptions(test.backend, test.command, packet_log=True)
    ready = campaign_run.prepare(test.loaded, test.catalog, options, say=say)
    with campaign_run.opened(ready, folder, jobs=test.jobs, say=say) as work:
        work.finish(jobs=test.jobs, tell=tell, retries=RETRIES)
        evidence = read(work.campaign, test.networks)
    return reach(test.sender, _key(test, ready.manifest), test.scale, evidence)


def keep(judgement: Judgement) -> Path | None:
    """Keep the record of a judgement, for campaigns to cite; return its path.

    None of one that judged the sender as another on purpose, or saw no download at all.
    """
    if not judgement.sender.is_judged_by_name or not judgement.evidence.transfers.every:
        return None
    return sender_records.write(judgement.key, judgement.scale, judgement.as_json())


def _key(test: Test, made_by: Mapping[str, Any]) -> SenderKey:
    sender = test.sender
    roles = test.loaded.scenarios()[0].roles
    role = roles.server if sender.role == "server" else roles.proxies[0]
    return senders.key(test.catalog[sender.implementation], role, sender.http_version, made_by)


def read(campaign: Campaign, planned: Sequence[Network]) -> Evidence:
    """Read the last attempt of every trial of a test's campaign."""
    by_name = {network.name: network for network in planned}
    seen, blind, invalid = [], [], False
    for attempt in campaign.attempts().values():
        network = by_name[attempt.trial.levels[document.FACTOR]]
        found = _flight(campaign, attempt)
        if isinstance(found, str):
            blind.append(f"{network.name}: {found}")
            invalid |= attempt.outcome.kind == "invalid"
        else:
            seen.append(Transfer(network, found, strained=attempt.outcome.kind == "invalid"))
    return Evidence(Transfers(planned, seen), campaign.manifest, blind, invalid)


def _flight(campaign: Campaign, attempt: Attempt) -> Flight | str:
    """Follow the sender of an attempt; or say why that cannot be done."""
    if blindness := usable_attempts.blindness(attempt):
        return blindness
    down = attempt.trial.scenario().downstream()
    try:
        log = campaign.artifact(attempt, packet_log.FILE)
        found = flight(*packets.load(log, down, 1 - down))
    except (OSError, ValueError) as error:
        return f"its packet log cannot be read: {error}"
    # The handshake of a client that waits for its answer in vain shows no congestion control.
    return NO_BODY if behaviour.first_flight(found) is None else found
