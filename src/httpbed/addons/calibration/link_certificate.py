"""Whether this machine's link certificate covers an experiment's links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from httpbed.addons.calibration import certificate, envelope
from httpbed.addons.calibration.certificate import COMMAND, Standing
from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network.link_file import Facts
from httpbed.bed.network.network_plan import plan
from httpbed.campaign.addition import CampaignAddition, Option, executor
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.campaign.settings import RunSettings
from httpbed.experiment.impairments.rate import Cellular, Trace
from httpbed.experiment.scenario import Scenario
from httpbed.programs.catalog import Catalog

VIRTUAL = Standing(None, ("no link certificate covers virtual time",))
"""The standing of every experiment in virtual time: calibration measures links in real time."""


def standing(loaded: LoadedExperiment, backend: Backend) -> Standing:
    """Compare every condition of an experiment with the certificate."""
    if loaded.experiment.clock == "virtual":
        return VIRTUAL
    seed = loaded.experiment.seed
    files = {digest: file.facts for digest, file in loaded.files.items()}
    conditions = {(one.topology.digest(), str(one.handover)): one for one in loaded.scenarios()}
    return certificate.standing(
        (digest, _config(scenario, seed, backend, files))
        for (digest, _), scenario in conditions.items()
    )


def _config(
    scenario: Scenario, seed: int, backend: Backend, files: Mapping[str, Facts]
) -> Mapping[str, Any]:
    """Return the emulator's configuration, with the mean rate of each trace, and hand-overs."""
    # It runs trials, and --help none.
    from httpbed.addons.handover import handover_steps  # noqa: PLC0415
    from httpbed.addons.handover.handover_model import handover_of  # noqa: PLC0415

    topology = handover_steps.with_trigger(scenario, scenario.topology)
    planned = plan(topology, {}, seed, 1, backend=backend, files=files).emulator_config
    handover = handover_of(scenario)
    ordered = handover_steps.ordered(handover) if handover else ()
    config = {**planned, envelope.ORDERED: ordered}
    for link, configured in zip(topology.links, config["links"], strict=True):
        for way, table in zip(link.directions(), configured["directions"], strict=True):
            if isinstance(way.rate, (Trace, Cellular)) and table:
                table["rate"][envelope.MEAN] = way.mean_bit_s()
    return config


def require(standing: Standing) -> None:
    """Refuse links that the certificate does not cover.

    Raises:
        ConfigError: With every reason.
    """
    remedy = f"calibrate this machine: {COMMAND}, with --scale full for more conditions"
    if standing is VIRTUAL:
        remedy = "run without --strict, or with --clock real"
    if standing.reasons:
        raise ConfigError(Mistake("--strict", reason, remedy) for reason in standing.reasons)


@dataclass(frozen=True)
class CertificateAddition(CampaignAddition):
    """Every campaign cites the link certificate of the machine that runs its trials."""

    name: str = "calibration"

    def options(self) -> tuple[Option, ...]:
        """Return the option ``--strict``."""
        text = (
            "Reject links that this machine's certificate does not cover;"
            " see httpbed doctor calibrate."
        )
        return (click.option("--strict", is_flag=True, help=text),)

    def refuse(self, loaded: LoadedExperiment, settings: RunSettings) -> None:
        """Refuse links that no certificate covers, if the user wants it so."""
        if settings.added.get("strict") and executor(settings) is None:
            require(standing(loaded, settings.backend))

    def describe(
        self,
        manifest: dict[str, Any],
        loaded: LoadedExperiment,
        catalog: Catalog,
        settings: RunSettings,
    ) -> None:
        """Cite the certificate, unless trials run elsewhere: those machines have their own."""
        del catalog
        if executor(settings) is None:
            manifest["link_certificate"] = standing(loaded, settings.backend).as_json()


ADDITION = CertificateAddition()
