"""How long a design takes by each clock, and which one its trials have: ``--clock auto``.

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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from httpbed.base import units
from httpbed.base.clock import CLOCKS, Clock
from httpbed.base.errors import ConfigError, HostError
from httpbed.base.units import format_share
from httpbed.bed.machine import machine_load
from httpbed.campaign import addition, preparation
from httpbed.campaign import settings as run_settings
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import RunSettings
from httpbed.cli.echo import say
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.roles import ClientRole, Transport
from httpbed.experiment.trial import Trial
from httpbed.programs.catalog import Catalog
from httpbed.results import duration
from httpbed.store import campaign_folder
from httpbed.store.campaign import Campaign
from httpbed.store.layout import MANIFEST

if TYPE_CHECKING:
    from httpbed.trial.addition import TrialClock

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
    from httpbed.trial.addition import clock as clock_of  # --help needs no trial

    clock = clock_of(VIRTUAL)
    for campaign_addition in CAMPAIGN_ADDITIONS.provided():
        campaign_addition.refuse(in_virtual, settings)
    preparation.require_machine(in_virtual)
    clock.require_congestion(in_virtual.tcp_controls())
    durations = expected(real, catalog)
    virtual_s = cpu_s(clock, durations) / run_settings.cpus()
    if virtual_s > MUCH_SLOWER * real_s(durations):
        return "virtual time would take more than three times as long (httpbed plan)"
    tested = clock.test()
    return "" if tested.ok else f"{tested.name}: {tested.figure}; {tested.remedy}"


A_YEAR_S = 365 * 86_400.0
SLOWER = 1.5
"""A clock that takes so many times as long as real time is called slower: both are estimates."""


@dataclass(frozen=True)
class ExpectedTreatment:
    """What the trials of one treatment are expected to take."""

    first: Trial
    blocks: int
    real_s: float
    """Seconds of a trial in real time."""
    share: float
    """Of the transfer that happens within the time limit."""
    in_browser: bool


def expected(loaded: LoadedExperiment, catalog: Catalog) -> list[ExpectedTreatment]:
    """Return what each treatment takes, in the order in which they first run."""

    def control(name: str, transport: Transport, wanted: str | None) -> str:
        return catalog[name].congestion_control.resolved(transport, wanted)

    def notices(client: ClientRole, transport: Transport) -> float:
        return catalog[client.implementation].notices_s(client, transport)

    def treatment(first: Trial) -> ExpectedTreatment:
        scenario = first.scenario()
        whole_s = duration.expected_s(scenario, control, notices)
        limit_s = loaded.experiment.time_limit_s(scenario)
        in_browser = catalog[scenario.roles.client.implementation].is_browser
        count, share = blocks[treatment_key(first.levels)], min(1.0, limit_s / whole_s)
        return ExpectedTreatment(first, count, min(whole_s, limit_s), share, in_browser)

    blocks = Counter(treatment_key(trial.levels) for trial in loaded.trials)
    return [treatment(trial) for trial in loaded.first_trials()]


def real(treatments: Iterable[ExpectedTreatment]) -> str:
    """Write the duration of all trials in real time."""
    return about(real_s(treatments))


def real_s(treatments: Iterable[ExpectedTreatment]) -> float:
    """Return the seconds of all trials in real time, one after another."""
    return sum(treatment.blocks * treatment.real_s for treatment in treatments)


def cpu_s(clock: TrialClock, treatments: Iterable[ExpectedTreatment]) -> float:
    """Return the CPU seconds of all trials by another clock."""
    return sum(treatment.blocks * _trial_cpu_s(clock, treatment) for treatment in treatments)


def _trial_cpu_s(clock: TrialClock, treatment: ExpectedTreatment) -> float:
    scenario = treatment.first.scenario()
    return clock.cpu_s(scenario, treatment.share, in_browser=treatment.in_browser)


def by(clock: TrialClock, treatments: list[ExpectedTreatment]) -> Iterator[str]:
    """Write the duration by another clock, and where that is slower than real time."""
    whole_s, cpus = cpu_s(clock, treatments), run_settings.cpus()
    side_by_side = f", {about(whole_s / cpus)} on {cpus} CPUs" if cpus > 1 else ""
    yield f"in {clock.name} time (--clock {clock.name}): {about(whole_s)} of one CPU{side_by_side}"
    took = [(treatment, _trial_cpu_s(clock, treatment)) for treatment in treatments]
    slower = [
        (treatment, trial_s)
        for treatment, trial_s in took
        if trial_s > SLOWER * treatment.real_s and trial_s - treatment.real_s > clock.start_s
    ]
    if slower:
        worst, trial_s = max(slower, key=lambda pair: pair[1] / pair[0].real_s)
        levels = ", ".join(f"{name}={level}" for name, level in worst.first.levels.items())
        such = f" ({levels})" if levels else ""
        longest = units.format_long_duration
        yield (
            f"note: {clock.name} time is slower than real time for {len(slower)} of {len(took)}"
            f" treatments: a guest has one CPU for all programs and packets; at worst{such} a trial"
            f" takes {longest(trial_s)} of CPU in place of {longest(worst.real_s)}"
        )


def about(seconds: float) -> str:
    """Write a duration that is an estimate."""
    return "years" if seconds > A_YEAR_S else f"about {units.format_long_duration(seconds)}"
