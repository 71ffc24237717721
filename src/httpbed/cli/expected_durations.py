"""How long a design takes by each clock, in lines for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from httpbed.addons.virtual import guest_cost
from httpbed.base import units
from httpbed.campaign import parallelism
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.experiment.roles import ClientRole, Transport
from httpbed.experiment.treatment import treatment_key
from httpbed.experiment.trial import Trial
from httpbed.programs.catalog import Catalog
from httpbed.results import duration

A_YEAR_S = 365 * 86_400.0
SLOWER = 1.5
"""A guest that takes so many times as long as real time is called slower: both are estimates."""


@dataclass(frozen=True)
class ExpectedTreatment:
    """What the trials of one treatment are expected to take."""

    first: Trial
    blocks: int
    real_s: float
    """Seconds of a trial in real time."""
    guest_s: float
    """CPU seconds of a trial in virtual time."""

    @property
    def is_slower_in_guests(self) -> bool:
        """Whether virtual time is slower than real time, by more than a guest's boot."""
        longer_s = self.guest_s - self.real_s
        return self.guest_s > SLOWER * self.real_s and longer_s > guest_cost.COST.boot_s


def expected(loaded: LoadedExperiment, catalog: Catalog) -> list[ExpectedTreatment]:
    """Return what each treatment takes, in the order of the first block."""

    def control(name: str, transport: Transport, wanted: str | None) -> str:
        return catalog[name].congestion_control.resolved(transport, wanted)

    def notices(client: ClientRole, transport: Transport) -> float:
        return catalog[client.implementation].notices_s(client, transport)

    def treatment(first: Trial) -> ExpectedTreatment:
        scenario = first.scenario()
        whole_s = duration.expected_s(scenario, control, notices)
        limit_s = loaded.experiment.time_limit_s(scenario)
        in_browser = catalog[scenario.roles.client.implementation].is_browser
        guest_s = guest_cost.cpu_s(scenario, min(1.0, limit_s / whole_s), in_browser=in_browser)
        count = blocks[treatment_key(first.levels)]
        return ExpectedTreatment(first, count, min(whole_s, limit_s), guest_s)

    blocks = Counter(treatment_key(one.levels) for one in loaded.trials)
    return [treatment(one) for one in loaded.trials if one.block == 1]


def real(found: Iterable[ExpectedTreatment]) -> str:
    """Write the duration of all trials in real time."""
    return about(sum(one.blocks * one.real_s for one in found))


def virtual(found: list[ExpectedTreatment]) -> Iterator[str]:
    """Write the duration of all trials in virtual time, and where that is the slower clock."""
    cpu_s, cpus = sum(one.blocks * one.guest_s for one in found), parallelism.cpus()
    side_by_side = f", {about(cpu_s / cpus)} on {cpus} CPUs" if cpus > 1 else ""
    yield f"in virtual time (--clock virtual): {about(cpu_s)} of one CPU{side_by_side}"
    if slower := [one for one in found if one.is_slower_in_guests]:
        worst = max(slower, key=lambda one: one.guest_s / one.real_s)
        levels = ", ".join(f"{name}={level}" for name, level in worst.first.levels.items())
        such = f" ({levels})" if levels else ""
        longest = units.format_long_duration
        yield (
            f"note: virtual time is slower than real time for {len(slower)} of {len(found)}"
            f" treatments: a guest has one CPU for all programs and packets; at worst{such} a trial"
            f" takes {longest(worst.guest_s)} of CPU in place of {longest(worst.real_s)}"
        )


def about(seconds: float) -> str:
    """Write a duration that is an estimate."""
    return "years" if seconds > A_YEAR_S else f"about {units.format_long_duration(seconds)}"
