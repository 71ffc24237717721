"""What real programs left in real trials, recorded, and the judging of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from httpbed.host.toolbox import Root
from httpbed.implementations import catalog
from httpbed.model.trial import Record, Trial
from httpbed.network.plan import NetworkPlan
from httpbed.trial import bed, seen, verdict
from httpbed.trial.bed import Bed
from httpbed.trial.content import Content
from httpbed.trial.programs import Programs
from httpbed.trial.seen import Seen

FOLDER = Path(__file__).parents[1] / "recorded"
"""``<program>-<version>/`` for outputs, ``attempts/<name>/`` for whole attempts."""
DEMO = (resources.files("httpbed.cli") / "demo.toml").read_text(encoding="utf-8")
"""The experiment that both recorded attempts belong to."""
H2_LOSS, H3_CLEAN = "h2-loss", "h3-clean"
SERVED = Content(
    Path("1000000.txt"),
    1_000_000,
    "94ff91f8c052a91bac34d2871276ddc77efb0602995781b3a47de49cdc7c563a",
)
"""The file that was served in both recorded attempts."""


def artifacts(name: str) -> Path:
    """Return the folder of what was left by a recorded attempt that completed."""
    return FOLDER / "attempts" / name / "artifacts"


def trial(name: str) -> Trial:
    """Read the trial of a recorded attempt."""
    said = json.loads((FOLDER / "attempts" / name / "trial.json").read_text())
    return Trial.model_validate(said["trial"])


def planned(name: str) -> NetworkPlan:
    """Plan the network of a recorded attempt again."""
    return bed.plan(trial(name), catalog.load()).network


def what_was_seen(name: str) -> Seen:
    """Read everything that was observed in a recorded attempt."""
    return seen.read(trial(name).scenario().roles, catalog.load(), artifacts(name))


def nothing_built() -> Programs:
    """Stand for the programs where none is started."""
    return Programs(Root("sid", Path(), frozenset(), {}, ""), {})


def judged(name: str) -> Record:
    """Judge a recorded attempt again."""
    prepared = Bed(catalog.load(), nothing_built(), Path(), {SERVED.size: SERVED})
    this = verdict.Try(trial(name), 1, datetime(2026, 11, 21, 12, tzinfo=UTC))
    return verdict.judge(this, prepared, artifacts(name), {"client": 1.0, "tear-down": 0.5})
