"""The version that every program reports; refuses those that cannot run the experiment.

A client without HTTP/3, or too old for the options of its recipe, would fail in every trial.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from httpbed.base import untrusted_files
from httpbed.base.errors import ConfigError, HostError, Mistake
from httpbed.bed.machine import scratch
from httpbed.bed.sandbox.sandbox_spec import TOOLS, PartSpec, ProcessSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import RefusalError, sandbox
from httpbed.experiment.scenario import Scenario
from httpbed.programs.recipe import VERSION_BYTES, Recipe
from httpbed.trial.attempt_plan import CampaignSetup
from httpbed.trial.plan import LOG_BYTES, SANDBOX_BYTES

UNKNOWN = "unknown"
"""Version of a user's own binary that reports none; its digest identifies it."""
QUOTED = 200
"""Characters of a program's output that messages quote at most."""


@dataclass(frozen=True)
class ReportedVersion:
    """The version that a program reports."""

    version: str | None
    """None if its recipe's pattern does not match the output."""
    output: str
    """What it printed."""

    def absence(self, name: str) -> str:
        """Return the sentence that the program of this name reported no version."""
        return f"{name} did not report its version: {self.output[:QUOTED]!r}"


async def ask_versions(
    recipes: Collection[Recipe], setup: CampaignSetup
) -> dict[str, ReportedVersion]:
    """Ask every program for its version, in a sandbox."""
    with scratch.temporary("versions") as folder:
        commands = [command for recipe in recipes if (command := recipe.identify())]
        for name in ("sandbox", "output"):
            (folder / name).mkdir()
        spec = SandboxSpec(
            scratch=folder / "sandbox",
            trial=folder / "output",
            roots=setup.programs.roots(),
            shared={},
            programs={},
            hosts={},
            sysctls={},
            tmpfs_bytes=SANDBOX_BYTES,
            parts={str(command.part): _version_part(command, setup) for command in commands},
        )
        async with sandbox(spec) as supervisor:
            for command in commands:
                with contextlib.suppress(RefusalError):  # it then reports no version
                    await supervisor.run(command)
        return {recipe.name: reported_version(recipe, folder / "output") for recipe in recipes}


def _version_part(spec: ProcessSpec, setup: CampaignSetup) -> PartSpec:
    limits = PartSpec(
        spec.root,
        folders={str(spec.part): spec.file_bytes or LOG_BYTES},
        memory_bytes=spec.memory_bytes,
        processes=spec.processes,
    )
    return setup.programs.part(limits)


def reported_version(recipe: Recipe, folder: Path) -> ReportedVersion:
    """Read what a program printed when it was asked for its version, in the sandbox's folder."""
    spec = recipe.identify()
    if spec is None or recipe.version is None:
        return ReportedVersion(None, "")
    try:  # the program may have put a link or a pipe in its place
        output = untrusted_files.text(folder / str(spec.stdout), most=VERSION_BYTES).strip()
    except (FileNotFoundError, untrusted_files.UnreadableError):
        output = ""
    return ReportedVersion(recipe.version.reported(output), output)


def wanted_abilities(scenarios: Iterable[Scenario]) -> dict[str, set[str]]:
    """Return the HTTP versions that each implementation speaks as a client, or answers.

    A client's have its capabilities and its retry, too.
    """
    versions: dict[str, set[str]] = {}
    for scenario in scenarios:
        implementations = scenario.implementations
        answering = {hop.server for hop in scenario.hops()}
        for hop in scenario.hops():
            # Whether a proxy can send requests of a version is another ability of its build.
            ends = {hop.server} if hop.client in answering else {hop.client, hop.server}
            for part in ends:
                versions.setdefault(implementations[part], set()).add(hop.http_version)
        client = scenario.roles.client
        asked = {*scenario.workload.needs(), client.retry}
        versions.setdefault(client.implementation, set()).update(asked)
    return versions


def required_versions(
    recipes: Mapping[str, Recipe],
    reported: Mapping[str, ReportedVersion],
    wanted: Mapping[str, Collection[str]],
) -> dict[str, str]:
    """Return each program's version.

    Raises:
        ConfigError: A user's own executable is too old, or lacks an HTTP version.
        HostError: Another program does, or reports no version.
    """
    if own := [
        mistake for name in recipes for mistake in _own_mistakes(recipes[name], reported, wanted)
    ]:
        raise ConfigError(own)
    return {
        name: _required_version(recipe, reported[name], wanted) for name, recipe in recipes.items()
    }


def _own_mistakes(
    recipe: Recipe,
    reported: Mapping[str, ReportedVersion],
    wanted: Mapping[str, Collection[str]],
) -> Iterator[Mistake]:
    if recipe.install.binary:
        remedy = f"name another one: --program {recipe.name}=PATH, or omit --program"
        for reason in _lacking(recipe, reported[recipe.name], wanted):
            yield Mistake(recipe.name, f"{recipe.install.binary} {reason}", remedy)


def _lacking(
    recipe: Recipe, reported: ReportedVersion, wanted: Mapping[str, Collection[str]]
) -> Iterator[str]:
    if recipe.version:
        yield from recipe.version.lacking(reported.output, wanted.get(recipe.name, ()))


def _required_version(
    recipe: Recipe, reported: ReportedVersion, wanted: Mapping[str, Collection[str]]
) -> str:
    if reported.version is None and recipe.install.is_users_own:
        return UNKNOWN
    if reported.version is None:
        raise HostError(
            reported.absence(recipe.name),
            f"mend [version] of its recipe, or rebuild the {TOOLS} with httpbed toolbox remove",
        )
    for reason in _lacking(recipe, reported, wanted):
        remedy = (
            f"name a newer one with --program {recipe.name}=PATH, or in [install] of its recipe"
        )
        raise HostError(f"{recipe.name} {reason}", remedy)
    return reported.version
