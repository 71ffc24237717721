"""Runs trials of a campaign again, with their packets kept.

A trial is a value: the same trial meets the same losses, delays and draws. In virtual time it takes
the same time again; in real time it differs as two trials of a treatment do. The trials go to a
campaign of their own, because a finished one is never changed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, HostError, Mistake
from httpbed.bed.machine import backend
from httpbed.campaign import preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS
from httpbed.campaign.executor import RunParts
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.campaign.settings import DesignOptions, Parallelism, RunSettings
from httpbed.cli import clock_choice, experiment_argument
from httpbed.cli.echo import command_line, say
from httpbed.cli.progress import Reporter
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.programs.catalog import Catalog
from httpbed.store import campaign as campaigns
from httpbed.store.results import Results

KEPT = frozenset({"packets"})
WITH_FRAMES = KEPT | {"qlog"}
"""In virtual time, where writing a qlog takes none."""
SUFFIX = "-explained"
VIRTUAL_SUFFIX = "-virtual"
Chosen = tuple[int, TreatmentKey]
"""A trial by its block and its treatment: its id depends on its clock."""


@dataclass(frozen=True)
class Again:
    """How trials run again."""

    catalog: Catalog
    directory: Path
    """Their campaign."""
    files: Path
    """The folder to which file names in the experiment are relative."""
    jobs: Parallelism
    clock: Clock | None
    """None: the clock of the trials themselves."""
    is_own_place: bool = False
    """Whether the user chose no folder."""
    kept: frozenset[str] = KEPT
    """What the trials keep."""


def folder_of(directory: Path) -> Path:
    """Return where the trials of a campaign run again by default: beside it."""
    return directory.absolute().with_name(directory.absolute().name + SUFFIX)


def exact(results: Results, chosen: Collection[Chosen], how: Again) -> Again:
    """Return how trials run again in virtual time, if the user chose no clock and they can.

    Two trials differ by what was lifted alone only there.
    """
    if how.clock is not None or results.manifest.get("clock", "real") != "real":
        return how
    settings = RunSettings(backend.choose(None), command_line(), keep=how.kept)
    place = how.directory.with_name(how.directory.name + VIRTUAL_SUFFIX)
    in_virtual = replace(
        how, clock="virtual", directory=place if how.is_own_place else how.directory
    )
    try:
        loaded = loaded_trials(results, chosen, in_virtual)
        real = loaded_trials(results, chosen, how)
        obstacle = clock_choice.obstacle_to_virtual(loaded, real, how.catalog, settings)
    except (ConfigError, HostError) as error:
        obstacle = "; ".join(str(error).splitlines())
    if obstacle:
        say(f"clock: real, so that trials differ by chance, too: {obstacle}")
        return how
    say("clock: virtual, where trials differ by what is lifted alone; --clock real keeps real time")
    return in_virtual


def run(results: Results, chosen: Collection[Chosen], how: Again) -> None:
    """Run the chosen trials; the folder may hold some of them already.

    :raises ConfigError: when the experiment cannot be read, or the folder holds something else.
    :raises HostError: when this machine cannot run them.
    """
    loaded = loaded_trials(results, chosen, how)
    settings = RunSettings(
        backend.choose(None),
        command_line(),
        keep=kept(loaded, how),
        jobs=how.jobs,
        sources=experiment_argument.program_sources(),
    )
    for one in CAMPAIGN_ADDITIONS.provided():
        one.refuse(loaded, settings)
    preparation.require_backend(loaded, settings.backend)
    campaign_run.require_place(loaded, how.directory)
    ready = campaign_run.prepare(loaded, how.catalog, settings, say=say)
    with (
        campaign_run.opened(ready, how.directory, jobs=how.jobs, say=say) as work,
        Reporter(len(work.pending), RunParts.blocks(work.pending_trials)) as reporter,
    ):
        work.finish(tell=reporter.report)


def kept(loaded: LoadedExperiment, how: Again) -> frozenset[str]:
    """Return what trials keep."""
    is_virtual = loaded.experiment.clock == "virtual"
    return WITH_FRAMES if is_virtual and how.kept == KEPT else how.kept


def loaded_trials(results: Results, chosen: Collection[Chosen], how: Again) -> LoadedExperiment:
    """Return a campaign's experiment with the chosen trials alone.

    :raises ConfigError: when it cannot be read, or has none of them.
    """
    campaign, manifest = campaigns.open_existing(results.directory), results.manifest
    loaded = preparation.load(
        campaign.experiment_text,
        how.catalog,
        how.files,
        DesignOptions(
            scale=manifest.get("scale"),
            # A campaign may have grown beyond the blocks of its file.
            replicates=max(block for block, _ in chosen),
            clock=how.clock or manifest.get("clock"),
        ),
    )
    trials = tuple(
        trial for trial in loaded.trials if (trial.block, treatment_key(trial.levels)) in chosen
    )
    if not trials:
        reason = "its experiment file has none of the trials that are to be explained"
        raise ConfigError([Mistake(str(results.directory), reason, "run the experiment itself")])
    return replace(loaded, trials=trials, stopping=None)
