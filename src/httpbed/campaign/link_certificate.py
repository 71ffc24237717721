"""Whether this machine's link certificate covers an experiment's links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from httpbed.campaign.preparation import LoadedExperiment
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.impairments.rate import Cellular, Trace
from httpbed.experiment.topology import Topology
from httpbed.host.backend import Backend
from httpbed.network.calibration import certificate, envelope
from httpbed.network.calibration.certificate import COMMAND, Standing
from httpbed.network.files import Facts
from httpbed.network.plan import plan

VIRTUAL = Standing(None, ("no link certificate covers virtual time",))
"""Of every experiment in virtual time: calibration measures links in real time."""


def standing(loaded: LoadedExperiment, backend: Backend) -> Standing:
    """Compare every condition of an experiment with the certificate."""
    if loaded.experiment.clock == "virtual":
        return VIRTUAL
    seed = loaded.experiment.seed
    files = {digest: file.facts for digest, file in loaded.files.items()}
    topologies = {one.topology.digest(): one.topology for one in loaded.scenarios()}
    return certificate.standing(
        (digest, _config(topology, seed, backend, files)) for digest, topology in topologies.items()
    )


def _config(
    topology: Topology, seed: int, backend: Backend, files: Mapping[str, Facts]
) -> Mapping[str, Any]:
    """Return the emulator's configuration, with the mean rate of each trace."""
    config = plan(topology, {}, seed, 1, backend=backend, files=files).emulator_config
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
