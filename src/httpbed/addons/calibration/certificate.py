"""The certificate: the results of a calibration, its machine and emulator, and what it covers.

One file per user. The latest calibration writes it; a campaign cites it by date and digest, and
says which of its links the certificate does not cover.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from httpbed.addons.calibration import envelope
from httpbed.base import disk, folders
from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.machine import facts
from httpbed.bed.machine.backend import Backend
from httpbed.bed.machine.facts import MachineFacts
from httpbed.bed.network.link_file import Facts
from httpbed.bed.network.network_plan import plan
from httpbed.bed.sandbox.sandbox_spec import LINK, executable
from httpbed.campaign.addition import CampaignAddition, Option, executor
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import RunSettings
from httpbed.experiment.impairments.rate import Cellular, Trace
from httpbed.experiment.scenario import Scenario
from httpbed.programs.catalog import Catalog

if TYPE_CHECKING:  # it imports numpy, which only judging needs
    from httpbed.addons.calibration.session import Verdict

SCHEMA = 2
COMMAND = "httpbed doctor calibrate"
NAME = "link-certificate.json"
_MACHINE_ID = Path("/etc/machine-id")


@dataclass(frozen=True)
class Certificate:
    """A certificate read from its file."""

    document: Mapping[str, Any]
    digest: str

    @property
    def date(self) -> str:
        """When it was made: ISO 8601, UTC."""
        return str(self.document["date"])

    def strangers(self, here: Mapping[str, Any]) -> list[str]:
        """Return how its machine or emulator differs from those ``here``."""
        identity = self.document["identity"]
        return [
            f"the certificate of {self.date} is of another {name}:"
            f" {_short(identity.get(name))}, not {_short(value)}"
            for name, value in here.items()
            if identity.get(name) != value
        ]

    def outside(self, config: Mapping[str, Any]) -> list[str]:
        """Return why it does not cover an emulator's configuration; empty if it does."""
        calibrated, used = self.document.get("backend"), config.get("backend", "af_packet")
        outside = envelope.outside(self.document["envelope"], envelope.demands(config))
        if calibrated != used:
            outside.insert(0, f"backend {used}: the certificate is of {calibrated}")
        return outside


def path() -> Path:
    """Return where this user's certificate is, or would be."""
    return folders.state() / NAME


def identity(machine: MachineFacts | None = None) -> dict[str, Any]:
    """Identify what a certificate holds for: the machine, its kernel and the emulator."""
    machine = machine or facts.gather()
    return {
        "machine": _machine_id(),
        "kernel": machine.kernel,
        "cpu": machine.cpu,
        "cores": machine.cores,
        "emulator": disk.sha256(executable(LINK)),
    }


def write(verdicts: Sequence[Verdict], scale: str, *, backend: str, load_before: float) -> Path:
    """Write the certificate atomically and return its path."""
    machine = facts.gather()
    document = {
        "schema": SCHEMA,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "scale": scale,
        "passed": all(verdict.passed for verdict in verdicts),
        "identity": identity(machine),
        "backend": backend,
        "scheduling": sorted({verdict.scheduling for verdict in verdicts if verdict.scheduling}),
        "load": {"before": load_before, "after": machine.load[0]},
        "host": machine.model_dump(),
        "envelope": envelope.envelope(verdicts),
        "cells": [verdict.as_json() for verdict in verdicts],
    }
    return disk.write_record(path(), document)


def read() -> Certificate | None:
    """Read this user's certificate; None if it is missing or damaged."""
    try:
        text = path().read_bytes()
        document = json.loads(text)
        known = document["schema"] == SCHEMA
        known = known and {"date", "identity", "envelope"} <= document.keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Certificate(document, hashlib.sha256(text).hexdigest()) if known else None


@dataclass(frozen=True)
class Standing:
    """How a campaign's conditions relate to this machine's certificate."""

    certificate: Certificate | None
    reasons: tuple[str, ...]
    """All reasons why the conditions are not covered; empty if they are."""
    affected: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The topologies that a reason is about, by digest; a reason without any is about all."""

    def as_json(self) -> dict[str, Any] | None:
        """Return what a manifest keeps, without the file's path on this machine."""
        if self.certificate is None:
            return None
        return {
            "file": NAME,
            "date": self.certificate.date,
            "sha256": self.certificate.digest,
            "scale": self.certificate.document.get("scale"),
            "passed": self.certificate.document.get("passed"),
            "outside": list(self.reasons),
            "outside_topologies": {
                reason: list(topologies) for reason, topologies in self.affected.items()
            },
        }


VIRTUAL = Standing(None, ("no link certificate covers virtual time",))
"""The standing of every experiment in virtual time: calibration measures links in real time."""


def standing(loaded: LoadedExperiment, backend: Backend) -> Standing:
    """Compare every condition of an experiment with the certificate."""
    if loaded.experiment.clock == "virtual":
        return VIRTUAL
    certificate = read()
    if certificate is None:
        return Standing(None, ("there is no link certificate on this machine",))
    seed = loaded.experiment.seed
    files = {digest: file.facts for digest, file in loaded.files.items()}
    conditions = {
        (scenario.topology.digest(), str(scenario.handover)): scenario
        for scenario in loaded.scenarios()
    }
    affected = dict[str, dict[str, None]]()
    for (digest, _), scenario in conditions.items():
        for reason in certificate.outside(_config(scenario, seed, backend, files)):
            affected.setdefault(reason, {})[digest] = None
    reasons = dict.fromkeys([*certificate.strangers(identity()), *affected])
    return Standing(
        certificate,
        tuple(reasons),
        {reason: tuple(topologies) for reason, topologies in affected.items()},
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


def _short(value: object) -> str:
    text = str(value)
    return f"{text[:12]}…" if len(text) > 40 else text  # a digest


def _machine_id() -> str:
    """Return a hash of the machine's identifier, which must not be published (machine-id(5))."""
    try:
        identifier = _MACHINE_ID.read_text().strip()
    except OSError:
        return ""
    return (
        hashlib.sha256(f"httpbed link certificate {identifier}".encode()).hexdigest()[:16]
        if identifier
        else ""
    )
