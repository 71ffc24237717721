"""The sandbox of an attempt: what each part sees and may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from httpbed.bed.network.network_commands import NO_NEIGHBOUR_DISCOVERY
from httpbed.bed.sandbox.sandbox_spec import LINK, PartSpec, SandboxSpec, executable
from httpbed.programs.protocol import AUTHORITY, KEY_PIN
from httpbed.trial.addition import TRIAL_ADDITIONS
from httpbed.trial.attempt_plan import AttemptPlan
from httpbed.trial.parts import CERTIFICATES, CONTENT, LOG_BYTES
from httpbed.trial.plan import CampaignSetup, TrialPlan

SANDBOX_BYTES = 512 * 2**20
"""Size of a sandbox's tmpfs, without the bodies that programs store."""


def sandbox_spec(setup: CampaignSetup, planned: TrialPlan, artifacts: Path) -> SandboxSpec:
    """Return the sandbox of an attempt that leaves its evidence in the folder ``artifacts``."""
    scenario, attempt = planned.scenario, planned.attempt
    fetched = {fetch.path for one in attempt.all_clients() for fetch in one.part.fetches}
    contents = {path: content for path, content in setup.contents.items() if path in fetched}
    served = {
        **{f"{CONTENT}{path}": content.path for path, content in contents.items()},
        **{
            path: here
            for one in TRIAL_ADDITIONS.provided()
            for path, here in one.served(setup, scenario).items()
        },
    }
    added = {
        path: here
        for one in TRIAL_ADDITIONS.provided()
        for path, here in one.shared(setup, planned).items()
    }
    bodies = [workload.body_bytes() for workload in scenario.workloads()]
    proxies = len(scenario.roles.proxies)
    return SandboxSpec(
        scratch=artifacts.parent / "sandbox",
        trial=artifacts,
        parts={
            name: setup.programs.part(replace(spec, shared=_shown(name, attempt, setup, served)))
            for name, spec in _isolated(attempt).items()
        },
        roots=setup.programs.roots(),
        shared={**setup.shared_files(), **added},
        programs={LINK: executable(LINK)},
        hosts=planned.network.sysctls,
        sysctls=NO_NEIGHBOUR_DISCOVERY,
        # A proxy may store what it forwards.
        tmpfs_bytes=SANDBOX_BYTES + (2 + proxies) * sum(bodies),
    )


def _isolated(attempt: AttemptPlan) -> dict[str, PartSpec]:
    """Return what each part sees and may use, without its program and the files of all."""
    specs: dict[str, PartSpec] = {}
    for folder, process in attempt.part_processes():
        name = process.part or folder
        spec = specs.get(name, PartSpec(process.root, process.host))
        specs[name] = replace(
            spec,
            folders={**spec.folders, folder: process.file_bytes or LOG_BYTES},
            files={**spec.files, **process.shown},
            memory_bytes=process.memory_bytes,
            processes=process.processes,
        )
    return specs


def _shown(
    part: str, attempt: AttemptPlan, setup: CampaignSetup, served: Mapping[str, Path]
) -> dict[str, Path]:
    """Return the files a part sees: content for servers only, keys for no client."""
    if part not in attempt.servers and part not in attempt.bed_programs():
        known = (AUTHORITY, KEY_PIN)
        return {f"{CERTIFICATES}/{name}": setup.certificates / name for name in known}
    proxies = {hop.client for hop in attempt.hops}
    own = {CERTIFICATES: setup.certificates}
    return own if part in proxies else {**own, **served}
