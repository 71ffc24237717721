"""Build or find what all trials of a campaign need, once, before the first trial."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.base.clock import Clock
from httpbed.bed.machine import doctor
from httpbed.bed.network import link_file
from httpbed.bed.toolbox.root_filesystem import Root
from httpbed.campaign.addition import clock
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.experiment.roles import DEFAULT_CONTROL
from httpbed.programs.catalog import Catalog
from httpbed.trial import content, program_roots, tls_certificates
from httpbed.trial.addition import TRIAL_ADDITIONS
from httpbed.trial.plan import CampaignSetup, PlanOptions

Say = Callable[[str], None]


def make_setup(
    loaded: LoadedExperiment,
    catalog: Catalog,
    options: PlanOptions | None = None,
    *,
    say: Say,
) -> CampaignSetup:
    """Build or find everything that the trials need.

    Raises:
        HostError: The toolbox cannot be built, or the kernel lacks the backend or a congestion
            control.
    """
    origins, is_real = loaded.recorded_origins(), loaded.experiment.clock == "real"
    names = loaded.implementations()
    workloads = loaded.workloads()
    added_roots = {
        name: root
        for addition in TRIAL_ADDITIONS.provided({addition.kind for addition in workloads})
        for name, root in addition.roots(workloads).items()
    }
    installed = program_roots.ensure(catalog, names, say=say, added=added_roots)
    chosen = options or PlanOptions()
    if chosen.backend == "tbf":
        doctor.require_tbf(installed.tools)
    _require_congestion(loaded, installed.tools)
    return CampaignSetup(
        catalog=catalog,
        programs=installed,
        certificates=_certificates(loaded.experiment.clock, origins),
        contents=content.ensure_all(loaded.experiment.seed, workloads),
        sites=loaded.sites or _sites(loaded, say),
        options=chosen,
        files=link_file.kept_files(loaded.files),
        kernel=None if is_real else clock(loaded.experiment.clock).kernel(say),
    )


def _require_congestion(loaded: LoadedExperiment, tools: Root) -> None:
    """Check that the kernel of the trials, this machine's or a guest's, has the controls."""
    if loaded.experiment.clock != "real":
        clock(loaded.experiment.clock).require_congestion(loaded.tcp_controls())
    elif others := loaded.tcp_controls() - {DEFAULT_CONTROL}:
        doctor.require_congestion(others, tools)


def _sites(loaded: LoadedExperiment, say: Say) -> dict[str, Any]:
    workloads, seed = loaded.workloads(), loaded.experiment.seed
    return {
        key: site
        for addition in loaded.additions
        for key, site in addition.sites(workloads, seed, loaded.folder, say).items()
    }


def _certificates(of_trials: Clock, origins: Collection[str]) -> Path:
    """Return certificates that are valid by the clock of the trials."""
    if of_trials == "virtual":
        return tls_certificates.ensure_for_guests(origins)
    return tls_certificates.ensure(datetime.now(UTC), origins)
