"""The manifest of a campaign: programs with what they consist of, recipes, machine, command."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata, resources
from typing import Any

from httpbed.base import disk
from httpbed.bed.machine import facts
from httpbed.bed.sandbox.sandbox_spec import LINK, SANDBOX, executable
from httpbed.bed.toolbox import root_filesystem
from httpbed.bed.toolbox.root_filesystem import ProgramIdentity
from httpbed.campaign import program_versions
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS, clock
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.campaign.settings import RunSettings
from httpbed.store.layout import MANIFEST_SCHEMA
from httpbed.trial.plan import CampaignSetup

REPLAY_PROGRAM = "python3"
"""The interpreter of the server that replays sites, and its package."""
TOOLS_USED = {"ip": "iproute2", "ss": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping"}
"""Tools that set up and inspect the network, and their packages."""


def manifest(
    loaded: LoadedExperiment, setup: CampaignSetup, settings: RunSettings
) -> dict[str, Any]:
    """Return the manifest of a campaign."""
    recipes = {name: setup.catalog[name] for name in loaded.implementations()}
    tools = setup.programs.tools
    identities = {  # first of all: a missing program raises, with the remedy
        name: setup.programs.identity(name, recipe.command(recipe.roles[0]))
        for name, recipe in recipes.items()
    }
    identities |= {tool: root_filesystem.program_identity(tools, tool) for tool in TOOLS_USED}
    reported = asyncio.run(program_versions.ask(recipes.values(), setup))
    wanted = program_versions.spoken(loaded.scenarios())
    known = program_versions.required(recipes, reported, wanted)
    known |= {tool: tools.versions[package] for tool, package in TOOLS_USED.items()}
    for root in setup.programs.own.values():
        identities[REPLAY_PROGRAM] = root_filesystem.program_identity(root, REPLAY_PROGRAM)
        known[REPLAY_PROGRAM] = root.versions[REPLAY_PROGRAM]
    wheels = {name: setup.programs.wheels(name) for name in recipes}
    programs = [
        _program(name, known[name], program, wheels.get(name, {}))
        for name, program in identities.items()
    ]
    programs += [_own(name) for name in (LINK, SANDBOX)]
    if setup.kernel:
        programs.append(clock(loaded.experiment.clock).program(setup.kernel))
    made = {
        "schema": MANIFEST_SCHEMA,
        "httpbed": metadata.version("httpbed"),
        **_commit(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": settings.command,
        "seed": loaded.experiment.seed,
        "link": _link(setup),
        "clock": loaded.experiment.clock,
        "kept": sorted(setup.options.keep),
        "host": facts.gather().as_json(),
        "programs": programs,
        "recipes": {name: recipe.digest for name, recipe in recipes.items()},
        "sites": [
            {"name": one.site.name, "source": one.site.source, "sha256": one.site.digest}
            for one in setup.sites.values()
        ],
        "scale": loaded.scale,
        "for_claims": loaded.for_claims is not None,
        "replicates": loaded.replicates,
        "until": loaded.stopping.until if loaded.stopping else None,
        **settings.sources,
    }
    for one in CAMPAIGN_ADDITIONS.provided():
        one.describe(made, loaded, setup.catalog, settings)
    return made


def _commit() -> dict[str, str]:
    """Return the commit from which this httpbed was built; empty if it was built without git."""
    file = resources.files("httpbed") / "commit"
    return {"commit": file.read_text(encoding="utf-8")} if file.is_file() else {}


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
        **(_packages(program) if program.packages else {}),
        **({"wheels": dict(wheels)} if wheels else {}),
    }


def _packages(program: ProgramIdentity) -> dict[str, Any]:
    index = {"index": program.index, "index_expired": program.index_expired}
    return {"packages": dict(program.packages), **index}


def _own(name: str) -> dict[str, Any]:
    """Identify one of httpbed's own executables, which are linked statically."""
    return {
        "name": name,
        "version": metadata.version("httpbed"),
        "path": name,
        "sha256": disk.sha256(executable(name)),
        "libraries": {},
    }
