"""What is done once before a campaign's trials: read the experiment, make the bed ready.

Reading finds every mistake at once, those of the file and those of its recipes together,
before anything is built or run.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from httpbed.design.blocks import design
from httpbed.host import facts, identity, toolbox
from httpbed.host.toolbox import Root
from httpbed.implementations.catalog import Catalog
from httpbed.implementations.recipe import Recipe
from httpbed.model import reading
from httpbed.model.errors import ConfigError, HostError, Mistake
from httpbed.model.experiment import Experiment, fill
from httpbed.model.reading import Reading
from httpbed.model.scenario import Roles
from httpbed.model.trial import Trial
from httpbed.network.plan import TOOLS
from httpbed.process.supervisor import SandboxSpec, sandbox
from httpbed.trial import certificates, content
from httpbed.trial.bed import Bed
from httpbed.trial.runner import MEMORY_BYTES

Say = Callable[[str], None]
TOOLS_USED = {"ip": "iproute2", "ss": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping"}
"""What the network is set up and looked at with, and the package that has it."""


@dataclass(frozen=True)
class Loaded:
    """An experiment without mistakes, and its design."""

    text: str
    experiment: Experiment
    document: Mapping[str, Any]
    trials: tuple[Trial, ...]

    def implementations(self) -> list[str]:
        """Names of all implementations that take part, sorted."""
        roles = [trial.scenario().roles for trial in self.trials]
        names = {role.implementation for each in roles for role in (each.client, each.server)}
        return sorted(names)

    def sizes(self) -> set[int]:
        """Sizes of all files that are fetched."""
        return {trial.scenario().workload.size for trial in self.trials}


def load(text: str, catalog: Catalog) -> Loaded:
    """Read an experiment's text.

    Raises:
        ConfigError: With every mistake in it.
    """
    read = reading.read(text)
    mistakes = tuple(dict.fromkeys((*read.mistakes, *_role_mistakes(read, catalog))))
    if mistakes or read.experiment is None:
        raise ConfigError(mistakes)
    trials = design(read.experiment, read.document)
    return Loaded(text, read.experiment, read.document, tuple(trials))


def _role_mistakes(read: Reading, catalog: Catalog) -> Iterator[Mistake]:
    """Check who takes which role, in every treatment, even where other parts have mistakes."""
    for levels in read.treatments:
        try:
            roles = Roles.model_validate(fill(read.document.get("roles"), levels))
        except ValidationError:
            continue
        for mistake in catalog.mistakes(roles):
            path = tuple(mistake.place.split("."))
            place, used_at = reading.place_of(read.document, path, levels)
            yield Mistake(place, mistake.reason + used_at, mistake.remedy)


def make_bed(loaded: Loaded, catalog: Catalog, *, capture: bool, say: Say) -> Bed:
    """Build or find all that the trials stand on.

    Raises:
        HostError: The toolbox cannot be built here.
    """
    installs = catalog.installs()
    suites = sorted({catalog[name].install.suite for name in loaded.implementations()})
    roots = {suite: toolbox.ensure(suite, installs[suite], say=say) for suite in suites}
    seed = loaded.experiment.seed
    return Bed(
        catalog=catalog,
        roots=roots,
        certificates=certificates.ensure(datetime.now(UTC)),
        contents={size: content.ensure(seed, size) for size in sorted(loaded.sizes())},
        capture=capture,
    )


def manifest(loaded: Loaded, bed: Bed, *, command: str, jobs: int) -> dict[str, Any]:
    """Write down what makes the campaign: programs, recipes, machine, command."""
    recipes = {name: bed.catalog[name] for name in loaded.implementations()}
    versions = asyncio.run(_versions(recipes.values(), bed))
    programs = [
        _program(recipe.version.argv[0], bed.roots[recipe.install.suite], versions[name], name)
        for name, recipe in recipes.items()
    ]
    tools = next(iter(bed.roots.values()))
    programs += [
        _program(tool, tools, tools.versions[package], tool) for tool, package in TOOLS_USED.items()
    ]
    return {
        "schema": 1,
        "httpbed": metadata.version("httpbed"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "jobs": jobs,
        "seed": loaded.experiment.seed,
        "host": facts.gather().as_json(),
        "programs": programs,
        "recipes": {name: recipe.digest for name, recipe in recipes.items()},
    }


def _program(command: str, root: Root, version: str, name: str) -> dict[str, Any]:
    found = identity.identity(root, command)
    return {
        "name": name,
        "version": version,
        "path": found.path,
        "sha256": found.sha256,
        "libraries": dict(found.libraries),
    }


async def _versions(recipes: Iterable[Recipe], bed: Bed) -> dict[str, str]:
    """Ask every program for its version, in a sandbox."""
    with tempfile.TemporaryDirectory(prefix="httpbed-versions-") as name:
        folder = Path(name)
        for part in ("sandbox", "said"):
            (folder / part).mkdir()
        roots = {suite: root.path for suite, root in bed.roots.items()}
        spec = SandboxSpec(folder / "sandbox", folder / "said", roots, {}, {}, {}, {}, MEMORY_BYTES)
        async with sandbox(spec) as supervisor:
            for recipe in recipes:
                await supervisor.run(recipe.identify())
        return {recipe.name: _version(recipe, folder / "said") for recipe in recipes}


def _version(recipe: Recipe, folder: Path) -> str:
    said = (folder / (recipe.identify().stdout or "")).read_text(errors="replace")
    match = re.search(recipe.version.pattern, said)
    if match is None:
        raise HostError(
            f"{recipe.name} did not tell its version: {said.strip()[:200]!r}",
            f"mend [version] of its recipe, or rebuild the {TOOLS} with httpbed toolbox remove",
        )
    return match["version"]
