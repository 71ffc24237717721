"""Compare a whole campaign with what was written: every file of it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from httpbed.experiment.errors import ConfigError
from httpbed.experiment.trial import Record, Trial
from httpbed.store import attempts, digests, layout
from httpbed.store.campaign import DESIGN, EXPERIMENT, LINKS, RUNS, Campaign
from httpbed.store.damage import Damage


@dataclass(frozen=True)
class Verification:
    """What was found."""

    planned: int | None
    """Trials of the design; None where it cannot be read."""
    attempts: int
    """Finished attempts that are as they were written, with all that they left."""
    without_attempt: int | None
    """Trials of the design without such an attempt, which is no fault."""
    damaged: tuple[Damage, ...]
    """Attempts and files of the campaign's that are not as they were written."""
    notes: tuple[str, ...]
    """What takes no part in any result."""


def verify(campaign: Campaign) -> Verification:
    """Read all of a campaign and compare it with the digests that it has."""
    damaged = list(_own_files(campaign))
    design = _design(campaign)
    whole = dict[str, set[str]]()
    real = campaign.directory.resolve()
    for place in layout.attempts(real):
        found = _attempt(campaign, place, design)
        if isinstance(found, Damage):
            damaged.append(found)
        else:
            whole.setdefault(found.attempt.id, set()).add(place)
    return Verification(
        planned=None if design is None else len(design),
        attempts=sum(map(len, whole.values())),
        without_attempt=None if design is None else len(design.keys() - whole.keys()),
        damaged=tuple(damaged),
        notes=tuple(_notes(campaign)),
    )


def _own_files(campaign: Campaign) -> Iterator[Damage]:
    """Yield what is wrong with the files that a campaign began with."""
    try:
        said = campaign.files()
    except ConfigError as error:
        yield from (Damage(Path(one.place).name, (one.reason,)) for one in error.mistakes)
        return
    real = campaign.directory.resolve()
    yield from (Damage(name, (how,)) for name, how in digests.differences(real, said).items())
    for name in (EXPERIMENT, DESIGN, *digests.names(real, LINKS)):
        if name not in said:
            yield Damage(name, ("is not among the files that manifest.json names",))


def _design(campaign: Campaign) -> Mapping[str, Trial] | None:
    try:
        return {trial.id: trial for trial in campaign.design()}
    except ConfigError:
        return None


def _attempt(campaign: Campaign, place: str, design: Mapping[str, Trial] | None) -> Record | Damage:
    real = campaign.directory.resolve()
    found = attempts.understood(attempts.find(real, place), design)
    if isinstance(found, Damage):
        return found
    reasons = (*attempts.altered(real, place), *attempts.strangers(real, place))
    return Damage(place, reasons) if reasons else found


def _notes(campaign: Campaign) -> Iterator[str]:
    real = campaign.directory.resolve()
    try:
        yield from (
            f"{RUNS}: line {number} is torn, and is ignored" for number in campaign.torn_runs()
        )
    except ConfigError as error:
        yield from (f"{RUNS}: {one.reason}" for one in error.mistakes)
    yield from (f"{place}: belongs to no attempt, and is ignored" for place in layout.strays(real))
    yield from (
        f"{place}: was set aside by httpbed run, and is ignored" for place in layout.aside(real)
    )
