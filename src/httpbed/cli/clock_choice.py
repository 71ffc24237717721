"""Which clock a campaign's trials have if the user leaves that to httpbed: ``--clock auto``.

The rule, applied once, at the start of a campaign:

1. A campaign that exists keeps its clock. So no campaign mixes clocks.
2. If other programs take less than half of the CPUs during two seconds, real time.
3. Otherwise virtual time, if this machine has it for the experiment: the guests' kernel is there
   and boots, the experiment asks for nothing that guests lack, this machine runs the trials, and
   they do not take more than three times as long as in real time.
4. Otherwise real time.

The admission of attempts lets them use at least half of the CPUs (``campaign/admission.py``). Where
others take the other half, trials have to wait for a CPU, the check of CPU pressure rejects their
attempts, and each trial is tried up to four times. That is also why three times as long is still a
gain. Niced programs do not count as others: they give way, unless httpbed is niced, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from httpbed.base.clock import CLOCKS, Clock
from httpbed.base.errors import ConfigError, HostError
from httpbed.base.units import format_share
from httpbed.bed.machine import machine_load
from httpbed.campaign import addition, preparation
from httpbed.campaign import settings as run_settings
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.campaign.settings import RunSettings
from httpbed.cli import expected_durations
from httpbed.cli.echo import say
from httpbed.programs.catalog import Catalog
from httpbed.store import campaign_folder
from httpbed.store.campaign import Campaign
from httpbed.store.layout import MANIFEST

ClockWord = Literal["real", "virtual", "auto"]
AUTO: ClockWord = "auto"
VIRTUAL: Clock = "virtual"
MUCH_SLOWER = 3.0
"""Virtual time is not chosen if it takes so many times as long as real time."""

Load = Callable[[Clock | None], LoadedExperiment]


def typed(word: str | None) -> Clock | None:
    """Return the clock that a word of ``--clock`` names; None if it leaves it open."""
    return next((clock for clock in CLOCKS if clock == word), None)


def of_campaign(directory: Path) -> Clock | None:
    """Return the clock of the campaign in a folder; None if there is none."""
    if not os.path.lexists(directory / MANIFEST):
        return None
    return typed(Campaign(directory).manifest.get("clock")) or "real"


def loaded_by(
    word: str | None, load: Load, catalog: Catalog, directory: Path, settings: RunSettings
) -> tuple[LoadedExperiment, RunSettings]:
    """Load an experiment by the clock that the user typed; without a word, by the rule."""
    if clock := typed(word):
        return load(clock), settings
    return by_rule(load, catalog, directory, settings, is_asked=word == AUTO)


def by_rule(
    load: Load, catalog: Catalog, directory: Path, settings: RunSettings, *, is_asked: bool
) -> tuple[LoadedExperiment, RunSettings]:
    """Load an experiment by the clock that the rule chooses, and say which in one line.

    Args:
        load: Loads it by a clock; None is its own.
        catalog: The programs.
        directory: The campaign's folder.
        settings: Of the run.
        is_asked: Whether the user typed ``auto``; otherwise real time is nothing to talk about.
    """
    campaign_folder.refuse_foreign(directory)
    if known := of_campaign(directory):
        if is_asked:
            say(f"clock: {known}, which {directory} began with")
        return load(known), settings
    loaded, share = load("real"), machine_load.taken_share()
    others = f"other programs take {format_share(share, 0)} of the CPUs"
    if share < machine_load.BUSY_SHARE:
        if is_asked:
            say(f"clock: real; {others}, less than {format_share(machine_load.BUSY_SHARE, 0)}")
        return loaded, settings
    try:
        in_virtual = load(VIRTUAL)
        obstacle = obstacle_to_virtual(in_virtual, loaded, catalog, settings)
    except (ConfigError, HostError) as error:
        obstacle = "; ".join(str(error).splitlines())
    if obstacle:
        say(f"clock: real, although {others}: {obstacle}")
        return loaded, settings
    say(
        f"clock: virtual, because {others}: their load changes no number, and computing takes no"
        " time; --clock real keeps real time"
    )
    return in_virtual, replace(settings, clock_reason=others)


def obstacle_to_virtual(
    in_virtual: LoadedExperiment, real: LoadedExperiment, catalog: Catalog, settings: RunSettings
) -> str:
    """Return why an experiment does not run in virtual time here; empty if it does.

    Raises:
        ConfigError: It asks for something that guests lack.
        HostError: This machine lacks guests.
    """
    if addition.executor(settings):
        return "other machines run the trials; --clock virtual works there, too"
    clock = addition.clock(VIRTUAL)
    for one in CAMPAIGN_ADDITIONS.provided():
        one.refuse(in_virtual, settings)
    preparation.require_backend(in_virtual, settings.backend)
    clock.require_congestion(in_virtual.tcp_controls())
    found = expected_durations.expected(real, catalog)
    virtual_s = expected_durations.cpu_s(clock, found) / run_settings.cpus()
    if virtual_s > MUCH_SLOWER * expected_durations.real_s(found):
        return "virtual time would take more than three times as long (httpbed plan)"
    tested = clock.test()
    return "" if tested.ok else f"{tested.name}: {tested.figure}; {tested.remedy}"
