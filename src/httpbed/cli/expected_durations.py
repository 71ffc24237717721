"""How long a design takes by each clock, in lines for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from httpbed.base import units
from httpbed.campaign import settings
from httpbed.campaign.addition import TrialClock
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.roles import ClientRole, Transport
from httpbed.experiment.trial import Trial
from httpbed.programs.catalog import Catalog
from httpbed.results import duration

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


def real(found: Iterable[ExpectedTreatment]) -> str:
    """Write the duration of all trials in real time."""
    return about(real_s(found))


def real_s(found: Iterable[ExpectedTreatment]) -> float:
    """Return the seconds of all trials in real time, one after another."""
    return sum(treatment.blocks * treatment.real_s for treatment in found)


def cpu_s(clock: TrialClock, found: Iterable[ExpectedTreatment]) -> float:
    """Return the CPU seconds of all trials by another clock."""
    return sum(treatment.blocks * _trial_cpu_s(clock, treatment) for treatment in found)


def _trial_cpu_s(clock: TrialClock, one: ExpectedTreatment) -> float:
    return clock.cpu_s(one.first.scenario(), one.share, in_browser=one.in_browser)


def by(clock: TrialClock, expected: list[ExpectedTreatment]) -> Iterator[str]:
    """Write the duration by another clock, and where that is slower than real time."""
    took = [(treatment, _trial_cpu_s(clock, treatment)) for treatment in expected]
    whole_s, cpus = sum(one.blocks * trial_s for one, trial_s in took), settings.cpus()
    side_by_side = f", {about(whole_s / cpus)} on {cpus} CPUs" if cpus > 1 else ""
    yield f"in {clock.name} time (--clock {clock.name}): {about(whole_s)} of one CPU{side_by_side}"
    slower = [
        (one, trial_s)
        for one, trial_s in took
        if trial_s > SLOWER * one.real_s and trial_s - one.real_s > clock.start_s
    ]
    if slower:
        worst, trial_s = max(slower, key=lambda pair: pair[1] / pair[0].real_s)
        levels = ", ".join(f"{name}={level}" for name, level in worst.first.levels.items())
        such = f" ({levels})" if levels else ""
        longest = units.format_long_duration
        yield (
            f"note: {clock.name} time is slower than real time for {len(slower)} of {len(expected)}"
            f" treatments: a guest has one CPU for all programs and packets; at worst{such} a trial"
            f" takes {longest(trial_s)} of CPU in place of {longest(worst.real_s)}"
        )


def about(seconds: float) -> str:
    """Write a duration that is an estimate."""
    return "years" if seconds > A_YEAR_S else f"about {units.format_long_duration(seconds)}"
