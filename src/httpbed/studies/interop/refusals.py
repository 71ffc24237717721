"""What a client must refuse: a real trial that must not complete, whatever else is fine.

A check of recipes that can only pass says nothing. So each client meets a server that it must not
believe, whose certificate no authority signed that it was given; or, where its recipe says that it
verifies none, a server that lacks one of two files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.experiment.workload import Download
from httpbed.programs.recipe import Recipe
from httpbed.studies.interop.pairings import Way
from httpbed.trial import content, tls_certificates
from httpbed.trial.content import Content, Target
from httpbed.trial.plan import CampaignSetup

SIZE = 1000
_FILES = {"files": 2}
_SAID_BY = ("client ended well", "status of the answers")
_NOT_THERE = 2
"""Number of the file that the server lacks."""


@dataclass(frozen=True)
class Asked:
    """Something that a client must refuse, on a way that works otherwise."""

    way: Way
    what: str
    workload: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """Return the scenario in which it is asked."""
        said = self.way.document(SIZE)
        return {**said, "workload": {**said["workload"], **self.workload}}


@dataclass(frozen=True)
class Refusal:
    """What came of it."""

    client: str
    what: str
    wrong: tuple[str, ...]
    """Checks of the programs that were broken, each with what was seen."""

    @property
    def passed(self) -> bool:
        """Whether the client, or what it was answered, said so; a dead server is no refusal."""
        return any(reason.startswith(_SAID_BY) for reason in self.wrong)


UNTRUSTED = "an untrusted certificate"
MISSING = "a file that is not there"


def wanted(recipes: Iterable[Recipe], ways: Iterable[Way]) -> Iterator[Asked]:
    """Yield what to ask of each client, on the first of its direct ways."""
    direct = [way for way in ways if not way.through]
    for recipe in recipes:
        way = next((one for one in direct if one.client == recipe.name), None)
        if way is not None and recipe.verifies:
            yield Asked(way, UNTRUSTED, {})
        elif way is not None and "parallel" in recipe.workloads:
            yield Asked(way, MISSING, _FILES)


def spoilt(bed: CampaignSetup, asked: Asked, folder: Path, seed: int) -> CampaignSetup:
    """Return the bed on which it is asked."""
    if asked.what == UNTRUSTED:
        other = tls_certificates.untrusted(bed.certificates, folder, datetime.now(UTC))
        return replace(bed, certificates=other)
    there = [target for target in _targets() if target.number != _NOT_THERE]
    return replace(bed, contents={one.path: content.ensure(seed, one) for one in there})


def served(seed: int) -> dict[str, Content]:
    """Return all files that are asked for, those among them that are not there."""
    return {target.path: content.ensure(seed, target) for target in _targets()}


def _targets() -> tuple[Target, ...]:
    """List the two files of which one is missing."""
    said = {"kind": "download", "size": f"{SIZE} B", **_FILES}
    return content.targets(Download.model_validate(said))
