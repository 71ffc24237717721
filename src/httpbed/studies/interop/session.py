"""Try what recipes promise, with real programs: every way, a small file and a larger one.

The trials are those of any campaign, judged by what concerns the programs alone: a busy machine
changes nothing about whether a server answers in HTTP/3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.campaign import executor, manifest
from httpbed.campaign.manifest import Version
from httpbed.experiment.errors import BedError
from httpbed.experiment.trial import Trial
from httpbed.experiment.workload import parse as workload_of
from httpbed.host import backend
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.studies.interop import refusals
from httpbed.studies.interop.pairings import Promise, Way
from httpbed.studies.interop.refusals import Asked, Refusal
from httpbed.trial import content, program_roots, tls_certificates
from httpbed.trial.plan import CampaignSetup
from httpbed.trial.verdict import AttemptId

SIZES = (1000, 1_000_000)
"""Bytes: what fits the first window, and what does not."""
_SEED = 1
_TIME_LIMIT_S = 30.0


@dataclass(frozen=True)
class Download:
    """A file that took a way, or did not."""

    size: int
    wrong: tuple[str, ...]
    """Checks of the programs that were broken, each with what was seen."""


@dataclass(frozen=True)
class Tried:
    """A way and what came of it."""

    way: Way
    downloads: tuple[Download, ...]

    @property
    def passed(self) -> bool:
        """Whether every file arrived as it should."""
        return not any(download.wrong for download in self.downloads)


@dataclass(frozen=True)
class Member:
    """An implementation, and what it says of itself."""

    recipe: Recipe
    version: Version

    @property
    def passed(self) -> bool:
        """Whether its version is known; a binary of the user's may have none."""
        return self.version.found is not None or self.recipe.install.binary is not None


@dataclass(frozen=True)
class Outcome:
    """What came of a check of recipes."""

    members: tuple[Member, ...]
    tried: tuple[Tried, ...]
    refusals: tuple[Refusal, ...]
    untried: tuple[Promise, ...]
    """What those that are here declare, and nobody is here to try it with."""
    absent: dict[str, str]
    """Implementations that are not here, each with the reason."""

    @property
    def passed(self) -> bool:
        """Whether everything did as its recipe promises."""
        members = all(one.passed for one in self.members)
        ways = all(one.passed for one in self.tried)
        return members and ways and not self.untried and all(one.passed for one in self.refusals)


def here(catalog: Catalog, names: Collection[str] = ()) -> tuple[list[Recipe], dict[str, str]]:
    """Tell the implementations whose programs are here from the others, with the reason."""
    states = {
        recipe.name: program_roots.state(recipe)
        for name, recipe in sorted(catalog.recipes.items())
        if not names or name in names
    }
    found = [catalog[name] for name, (is_here, _) in states.items() if is_here]
    return found, {name: why for name, (is_here, why) in states.items() if not is_here}


def make_bed(
    catalog: Catalog, recipes: Iterable[Recipe], *, say: Callable[[str], None]
) -> CampaignSetup:
    """Find all that the trials stand on.

    Raises:
        HostError: The tools cannot be had here.
    """
    said = ({"kind": "download", "size": f"{size} B"} for size in SIZES)
    workloads = [workload_of(one) for one in said]
    return CampaignSetup(
        catalog=catalog,
        programs=program_roots.ensure(catalog, [recipe.name for recipe in recipes], say=say),
        certificates=tls_certificates.ensure(datetime.now(UTC)),
        contents=content.ensure_all(_SEED, workloads),
        backend=backend.choose(None),
    )


async def members(bed: CampaignSetup, recipes: Sequence[Recipe]) -> tuple[Member, ...]:
    """Ask every program for its version."""
    told = await manifest.versions(recipes, bed)
    return tuple(Member(recipe, told[recipe.name]) for recipe in recipes)


async def refuse_all(
    bed: CampaignSetup, several: Iterable[Asked], folder: Path, *, jobs: int
) -> tuple[Refusal, ...]:
    """Ask of each client what it must refuse, leaving what was seen in ``folder``.

    Raises:
        HostError: This machine cannot run any trial.
    """
    refused: dict[str, Refusal] = {}

    async def ask(asked: Asked) -> None:
        place = folder / f"refusal-{asked.way.client}"
        place.mkdir(parents=True)
        on = refusals.spoilt(bed, asked, place / "certificates", _SEED)
        judging = replace(bed, contents={**bed.contents, **refusals.served(_SEED)})
        wrong = await _wrong(on, judging, asked.document(), place)
        refused[asked.way.client] = Refusal(asked.way.client, asked.what, tuple(wrong))

    order = list(several)
    await executor.side_by_side(order, ask, jobs=jobs)
    return tuple(refused[asked.way.client] for asked in order)


async def try_all(
    bed: CampaignSetup,
    ways: Sequence[Way],
    folder: Path,
    *,
    jobs: int,
    tell: Callable[[Tried], None],
) -> tuple[Tried, ...]:
    """Try every way, ``jobs`` at a time, leaving what was seen in ``folder``.

    Raises:
        HostError: This machine cannot run any trial.
    """
    tried: dict[int, Tried] = {}

    async def attempt(numbered: tuple[int, Way]) -> None:
        number, way = numbered
        done = [await _download(bed, way, size, folder / f"{number:04}") for size in SIZES]
        tried[number] = Tried(way, tuple(done))
        tell(tried[number])

    await executor.side_by_side(enumerate(ways, start=1), attempt, jobs=jobs)
    return tuple(tried[number] for number in sorted(tried))


async def _download(bed: CampaignSetup, way: Way, size: int, folder: Path) -> Download:
    place = folder / str(size)
    place.mkdir(parents=True)
    return Download(size, tuple(await _wrong(bed, bed, way.document(size), place)))


async def _wrong(
    bed: CampaignSetup, judging: CampaignSetup, document: Mapping[str, Any], place: Path
) -> list[str]:
    """Run a trial on a bed, and list what was wrong with the programs in it."""
    trial = Trial(
        block=1,
        position=1,
        levels={},
        document=document,
        seed=_SEED,
        time_limit_s=_TIME_LIMIT_S,
    )
    this = AttemptId(trial, 1, datetime.now(UTC))
    try:
        record = await executor.judged(this, bed, place / "artifacts", judging)
    except BedError as error:
        return [f"could not be tried: {error}"]
    return [
        f"{check.name}: {check.figure}"
        for check in record.attempt.checks
        if check.of == "subject" and check.passed is False
    ]
