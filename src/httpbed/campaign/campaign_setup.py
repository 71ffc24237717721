"""What all trials of a campaign need, made or found before the first one; and its manifest.

The manifest names programs with what they consist of and their versions, recipes, machine and
command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from httpbed.base import disk
from httpbed.base.clock import Clock
from httpbed.bed import doctor
from httpbed.bed.machine import facts
from httpbed.bed.network import link_file
from httpbed.bed.sandbox.sandbox_spec import (
    LINK,
    SANDBOX,
    executable,
)
from httpbed.bed.toolbox import root_filesystem
from httpbed.bed.toolbox.root_filesystem import ProgramIdentity, Root
from httpbed.campaign.addition import CAMPAIGN_ADDITIONS
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.program_versions import ask_versions, required_versions, wanted_abilities
from httpbed.campaign.run import Prepared
from httpbed.campaign.settings import RunSettings
from httpbed.experiment.document import words
from httpbed.experiment.roles import DEFAULT_CONTROL
from httpbed.programs.catalog import Catalog
from httpbed.store.layout import MANIFEST_SCHEMA
from httpbed.trial import content, program_roots, tls_certificates
from httpbed.trial.addition import TRIAL_ADDITIONS, clock
from httpbed.trial.attempt_plan import CampaignSetup, PlanOptions
from httpbed.trial.program_roots import Say

REPLAY_PROGRAM = "python3"
"""The interpreter of the server that replays sites, and its package."""
TOOLS_USED = {"ip": "iproute2", "ss": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping"}
"""Tools that set up and inspect the network, and their packages."""


def prepare(
    loaded: LoadedExperiment, catalog: Catalog, settings: RunSettings, *, say: Say
) -> Prepared:
    """Build or find programs, contents and certificates, and write the manifest.

    Raises:
        HostError: This machine cannot run the experiment.
    """
    setup = make_setup(loaded, catalog, settings, say=say)
    return Prepared(loaded, setup, manifest(loaded, setup, settings))


def make_setup(
    loaded: LoadedExperiment,
    catalog: Catalog,
    options: PlanOptions | None = None,
    *,
    say: Say,
) -> CampaignSetup:
    """Build or find everything that the trials need.

    Raises:
        HostError: The toolbox cannot be built, or the kernel lacks a congestion control.
    """
    is_real = loaded.experiment.clock == "real"
    names, workloads = loaded.implementations(), loaded.workloads()
    additions = CAMPAIGN_ADDITIONS.provided(words(loaded.document))
    origins = sorted({name for one in additions for name in one.origins(workloads)})
    added_roots = {
        name: root
        for addition in TRIAL_ADDITIONS.provided({workload.kind for workload in workloads})
        for name, root in addition.roots(workloads).items()
    }
    installed = program_roots.ensure(catalog, names, say=say, added=added_roots)
    _require_congestion(loaded, installed.tools)
    return CampaignSetup(
        catalog=catalog,
        programs=installed,
        certificates=_certificates(loaded.experiment.clock, origins),
        contents=content.ensure_all(loaded.experiment.seed, workloads),
        sites=loaded.sites
        or {
            key: site
            for addition in additions
            for key, site in addition.sites(
                workloads, loaded.experiment.seed, loaded.folder, say
            ).items()
        },
        options=options or PlanOptions(),
        files=link_file.kept_files(loaded.files),
        kernel=None if is_real else clock(loaded.experiment.clock).kernel(say),
    )


def _require_congestion(loaded: LoadedExperiment, tools: Root) -> None:
    """Check that the kernel of the trials, this machine's or a guest's, has the controls."""
    if loaded.experiment.clock != "real":
        clock(loaded.experiment.clock).require_congestion(loaded.tcp_controls())
    elif others := loaded.tcp_controls() - {DEFAULT_CONTROL}:
        doctor.require_congestion(others, tools)


def _certificates(of_trials: Clock, origins: Collection[str]) -> Path:
    """Return certificates that are valid by the clock of the trials."""
    if of_trials == "virtual":
        return tls_certificates.ensure_for_guests(origins)
    return tls_certificates.ensure(datetime.now(UTC), origins)


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
    reported = asyncio.run(ask_versions(recipes.values(), setup))
    wanted = wanted_abilities(loaded.scenarios())
    versions = required_versions(recipes, reported, wanted)
    versions |= {tool: tools.versions[package] for tool, package in TOOLS_USED.items()}
    for root in setup.programs.own.values():
        identities[REPLAY_PROGRAM] = root_filesystem.program_identity(root, REPLAY_PROGRAM)
        versions[REPLAY_PROGRAM] = root.versions[REPLAY_PROGRAM]
    wheels = {name: setup.programs.wheels(name) for name in recipes}
    programs = [
        _program(name, versions[name], program, wheels.get(name, {}))
        for name, program in identities.items()
    ]
    programs += [_own(name) for name in (LINK, SANDBOX)]
    if setup.kernel:
        programs.append(clock(loaded.experiment.clock).program(setup.kernel))
    document = {
        "schema": MANIFEST_SCHEMA,
        "httpbed": metadata.version("httpbed"),
        **_commit(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": settings.command,
        "seed": loaded.experiment.seed,
        "link": {"backend": setup.options.backend},
        "clock": loaded.experiment.clock,
        **({"clock_reason": settings.clock_reason} if settings.clock_reason else {}),
        "kept": sorted(setup.options.keep),
        "host": facts.gather().model_dump(),
        "programs": programs,
        "recipes": {name: recipe.digest for name, recipe in recipes.items()},
        "sites": [
            {"name": served.site.name, "source": served.site.source, "sha256": served.site.digest}
            for served in setup.sites.values()
        ],
        "scale": loaded.options.scale,
        "for_claims": loaded.options.for_claims,
        "replicates": loaded.options.replicates,
        **({"blocks": [*loaded.options.blocks]} if loaded.options.blocks else {}),
        "until": loaded.stopping.until if loaded.stopping else None,
        **settings.sources,
    }
    for addition in CAMPAIGN_ADDITIONS.provided():
        addition.describe(document, loaded, setup.catalog, settings)
    return document


def _commit() -> dict[str, str]:
    """Return the commit from which this httpbed was built; empty if it was built without git."""
    file = resources.files("httpbed") / "commit"
    return {"commit": file.read_text(encoding="utf-8")} if file.is_file() else {}


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
