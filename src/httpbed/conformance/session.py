"""A conformance test: an ordinary campaign with the emulator's log, and what is read from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.analysis.sender import packets
from httpbed.analysis.sender.flight import Flight, flight
from httpbed.conformance import document
from httpbed.conformance.cells import REPLICATES, Cell, Scale, cells
from httpbed.conformance.evidence import Evidence, Run, Runs
from httpbed.conformance.sender import Sender
from httpbed.conformance.verdict import Verdict, reach
from httpbed.executor import local
from httpbed.executor.local import Progress
from httpbed.host.backend import Backend
from httpbed.implementations.catalog import Catalog
from httpbed.model.sender import SenderKey
from httpbed.model.trial import Attempt
from httpbed.store import campaign as campaigns
from httpbed.store import senders
from httpbed.store.campaign import Campaign
from httpbed.trial import manifest, preparation
from httpbed.trial import senders as trial_senders
from httpbed.trial.preparation import Loaded
from httpbed.trial.sharing import PACKET_LOG

SEED = 20261121
"""Of all conformance tests: two senders meet the same losses."""


STRAIN = frozenset({"CPU pressure", "emulator lateness"})
"""Checks of the bed that a busy machine breaks. It does not make a sender that misbehaves pass, so
what passes counts, and what fails is not judged."""
RETRIES = 1
"""Of a trial on a machine that is too busy: what is read bears it."""


@dataclass(frozen=True)
class Test:
    """A conformance test, before it has run."""

    sender: Sender
    scale: Scale
    networks: tuple[Cell, ...]
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
    networks = cells(scale, sender.judged_as)
    text = document.experiment(sender, networks, replicates=REPLICATES[scale], seed=SEED)
    loaded = preparation.load(text, catalog)
    return Test(sender, scale, networks, loaded, catalog, backend, jobs, command)


def run(
    test: Test, folder: Path, *, tell: Callable[[Progress], None], say: Callable[[str], None]
) -> Verdict:
    """Run a test as the campaign ``folder``, or finish it, and judge what the emulator saw.

    Raises:
        ConfigError: The folder holds something else.
        HostError: This machine cannot run it.
    """
    loaded = test.loaded
    bed = preparation.make_bed(loaded, test.catalog, capture=False, say=say, backend=test.backend)
    bed = replace(bed, log=True)
    made_by = manifest.manifest(loaded, bed, command=test.command)
    with campaigns.opened(folder, loaded.text, loaded.trials, made_by) as campaign:
        campaign.clear_unfinished()
        campaign.note_run(datetime.now(UTC), test.command, test.jobs)
        work = local.pending(campaign, loaded.trials)
        running = local.execute(campaign, bed, work, jobs=test.jobs, tell=tell, retries=RETRIES)
        asyncio.run(running)
        evidence = read(campaign, test.networks)
    return reach(test.sender, _key(test, made_by), test.scale, evidence)


def keep(verdict: Verdict) -> Path:
    """Keep the record of a verdict, for campaigns to cite; return its path."""
    return senders.write(verdict.key, verdict.as_json())


def _key(test: Test, made_by: Mapping[str, Any]) -> SenderKey:
    sender = test.sender
    roles = test.loaded.scenarios()[0].roles
    role = roles.server if sender.role == "server" else roles.proxies[0]
    return trial_senders.key(test.catalog[sender.implementation], role, sender.transport, made_by)


def read(campaign: Campaign, networks: Sequence[Cell]) -> Evidence:
    """Read the last attempt of every trial of a test's campaign."""
    by_name = {cell.name: cell for cell in networks}
    runs, blind, invalid = [], [], False
    for attempt in campaign.attempts().values():
        cell = by_name[attempt.trial.levels[document.FACTOR]]
        found = _flight(campaign, attempt)
        if isinstance(found, str):
            blind.append(f"{cell.name}: {found}")
            invalid |= attempt.outcome.kind == "invalid"
        else:
            runs.append(Run(cell, found, strained=attempt.outcome.kind == "invalid"))
    order = list(by_name)
    runs.sort(key=lambda run: order.index(run.cell.name))
    return Evidence(Runs(runs), campaign.manifest, blind, invalid)


def _flight(campaign: Campaign, attempt: Attempt) -> Flight | str:
    """Follow the sender of an attempt; or say why that cannot be done.

    That the client was stopped at the time limit is how these trials end.
    """
    if not is_readable(attempt):
        return f"{attempt.outcome.kind}: {attempt.outcome.reason}"
    trial = attempt.trial
    down = trial.scenario().downstream()
    log = campaign.artifacts(attempt) / PACKET_LOG
    try:
        return flight(packets.load(log, down), packets.load(log, 1 - down))
    except (OSError, ValueError) as error:
        return f"its packet log cannot be read: {error}"


def is_readable(attempt: Attempt) -> bool:
    """Whether the emulator's log of an attempt shows what its senders did."""
    return attempt.outcome.kind in {"timed out", "completed"} or _only_strained(attempt)


def _only_strained(attempt: Attempt) -> bool:
    """Whether all that is wrong is that the machine was busy.

    The emulator's log is true even then: its times are the kernel's own.
    """
    broken = {check.name for check in attempt.checks if check.passed is False and check.of == "bed"}
    return attempt.outcome.kind == "invalid" and bool(broken) and broken <= STRAIN
