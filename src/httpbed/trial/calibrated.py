"""How an experiment's links stand to this machine's link certificate."""

from __future__ import annotations

import json

from httpbed.calibration import certificate
from httpbed.calibration.certificate import COMMAND, Standing
from httpbed.host.backend import Backend
from httpbed.model.errors import ConfigError, Mistake
from httpbed.network.plan import plan
from httpbed.trial.preparation import Loaded


def standing(loaded: Loaded, backend: Backend) -> Standing:
    """Compare every condition of an experiment with the certificate; blocks change none."""
    seed = loaded.experiment.seed
    files = {digest: file.facts for digest, file in loaded.files.items()}
    planned = (
        plan(scenario.topology, {}, seed, 1, backend=backend, files=files)
        for scenario in loaded.scenarios()
    )
    configs = dict.fromkeys(json.dumps(one.emulator_config) for one in planned)
    return certificate.standing(map(json.loads, configs))


def require(found: Standing) -> None:
    """Refuse what the certificate does not cover.

    Raises:
        ConfigError: With every reason.
    """
    remedy = f"calibrate this machine: {COMMAND}, with --scale full for more conditions"
    if found.reasons:
        raise ConfigError(Mistake("--strict", reason, remedy) for reason in found.reasons)
