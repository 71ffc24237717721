"""The manifest of a campaign: programs with their libraries, recipes, machine and command."""

from __future__ import annotations

import asyncio
import contextlib
import re
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from httpbed.campaign.preparation import LoadedExperiment
from httpbed.experiment.errors import HostError
from httpbed.host import facts, file_digest, folders
from httpbed.host.packages import identity
from httpbed.host.packages.identity import ProgramIdentity
from httpbed.host.sandbox.binaries import LINK, SANDBOX, executable
from httpbed.host.sandbox.spec import PartSpec, ProcessSpec
from httpbed.host.sandbox.supervisor import RefusalError, SandboxSpec, sandbox
from httpbed.network.plan import TOOLS
from httpbed.programs.recipe import Recipe
from httpbed.store.layout import MANIFEST_SCHEMA
from httpbed.trial.plan import SANDBOX_BYTES, CampaignSetup

UNKNOWN = "unknown"
"""Version of a user's own binary that reports none; its digest identifies it."""
REPLAY_PROGRAM = "python3"
"""The interpreter of the server that replays sites, and its package."""
TOOLS_USED = {"ip": "iproute2", "ss": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping"}
"""Tools that set up and inspect the network, and their packages."""


@dataclass(frozen=True)
class ReportedVersion:
    """The version that a program reports."""

    version: str | None
    """None if its recipe's pattern does not match the output."""
    output: str
    """The beginning of what it printed."""

    def absence(self, name: str) -> str:
        """Return the sentence that the program of this name reported no version."""
        return f"{name} did not report its version: {self.output!r}"


def manifest(loaded: LoadedExperiment, setup: CampaignSetup, *, command: str) -> dict[str, Any]:
    """Return the manifest of a campaign."""
    recipes = {name: setup.catalog[name] for name in loaded.implementations()}
    tools = setup.programs.tools
    identities = {  # first of all: a missing program raises, with the remedy
        name: setup.programs.identity(name, recipe.command(recipe.roles[0]))
        for name, recipe in recipes.items()
    }
    identities |= {tool: identity.identity(tools, tool) for tool in TOOLS_USED}
    reported = asyncio.run(versions(recipes.values(), setup))
    known = {name: _required(recipes[name], version) for name, version in reported.items()}
    known |= {tool: tools.versions[package] for tool, package in TOOLS_USED.items()}
    if replay_root := setup.programs.replay_origin:
        identities[REPLAY_PROGRAM] = identity.identity(replay_root, REPLAY_PROGRAM)
        known[REPLAY_PROGRAM] = replay_root.versions[REPLAY_PROGRAM]
    wheels = {name: setup.programs.wheels(name) for name in recipes}
    programs = [
        _program(name, known[name], program, wheels.get(name, {}))
        for name, program in identities.items()
    ]
    programs += [_own(name) for name in (LINK, SANDBOX)]
    return {
        "schema": MANIFEST_SCHEMA,
        "httpbed": metadata.version("httpbed"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "seed": loaded.experiment.seed,
        "link": _link(setup),
        "host": facts.gather().as_json(),
        "programs": programs,
        "recipes": {name: recipe.digest for name, recipe in recipes.items()},
        "sites": [
            {"name": one.site.name, "source": one.site.source, "sha256": one.site.digest}
            for one in setup.sites.values()
        ],
    }


def _link(setup: CampaignSetup) -> dict[str, Any]:
    options = setup.options
    seeded = {"netem_seeded": options.netem_seeded} if options.backend == "netem" else {}
    return {"backend": options.backend, **seeded}


def _program(
    name: str, version: str, program: ProgramIdentity, wheels: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "name": name,
        "version": version,
        "path": program.path,
        "sha256": program.sha256,
        "libraries": dict(program.libraries),
        **({"wheels": dict(wheels)} if wheels else {}),
    }


def _own(name: str) -> dict[str, Any]:
    """Identify one of httpbed's own executables, which are linked statically."""
    return {
        "name": name,
        "version": metadata.version("httpbed"),
        "path": name,
        "sha256": file_digest.sha256(executable(name)),
        "libraries": {},
    }


async def versions(recipes: Collection[Recipe], setup: CampaignSetup) -> dict[str, ReportedVersion]:
    """Ask every program for its version, in a sandbox."""
    with tempfile.TemporaryDirectory(prefix="versions-", dir=folders.cache()) as name:
        folder = Path(name)
        commands = [command for recipe in recipes if (command := recipe.identify())]
        for part in ("sandbox", *(f"output/{command.part}" for command in commands)):
            (folder / part).mkdir(parents=True)
        spec = SandboxSpec(
            scratch=folder / "sandbox",
            trial=folder / "output",
            roots=setup.programs.roots(),
            shared={},
            programs={},
            hosts={},
            sysctls={},
            tmpfs_bytes=SANDBOX_BYTES,
            parts={str(command.part): _part(command, setup) for command in commands},
        )
        async with sandbox(spec) as supervisor:
            for command in commands:
                with contextlib.suppress(RefusalError):  # it then reports no version
                    await supervisor.run(command)
        return {recipe.name: _version(recipe, folder / "output") for recipe in recipes}


def _part(spec: ProcessSpec, setup: CampaignSetup) -> PartSpec:
    limits = PartSpec(
        spec.root,
        folders=[str(spec.part)],
        memory_bytes=spec.memory_bytes,
        processes=spec.processes,
    )
    return setup.programs.part(limits)


def _version(recipe: Recipe, folder: Path) -> ReportedVersion:
    spec = recipe.identify()
    if spec is None or recipe.version is None:
        return ReportedVersion(None, "")
    file = folder / str(spec.stdout)
    output = file.read_text(errors="replace") if file.exists() else ""
    match = re.search(recipe.version.pattern, output)
    return ReportedVersion(match["version"] if match else None, output.strip()[:200])


def _required(recipe: Recipe, version: ReportedVersion) -> str:
    if version.version is None and recipe.install.binary:
        return UNKNOWN
    if version.version is None:
        raise HostError(
            version.absence(recipe.name),
            f"mend [version] of its recipe, or rebuild the {TOOLS} with httpbed toolbox remove",
        )
    return version.version
