"""Recorded attempts of real programs, which can be judged again."""

from __future__ import annotations

import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

from httpbed.bed.toolbox.root_filesystem import Root
from httpbed.experiment.metric import Observation
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Check, Record, Trial
from httpbed.programs import catalog
from httpbed.trial import evidence, plan, verdict
from httpbed.trial.addition import TRIAL_ADDITIONS
from httpbed.trial.attempt_plan import CampaignSetup, TrialPlan
from httpbed.trial.content import Content
from httpbed.trial.evidence import AttemptEvidence, JudgedAttempt
from httpbed.trial.hops import Chain
from httpbed.trial.program_roots import Programs

FOLDER = Path(__file__).parents[1] / "recorded"
"""``<program>-<version>/`` for outputs, ``attempts/<name>/`` for whole attempts."""
DEMO = (Path(__file__).parent / "versions_and_loss.toml").read_text(encoding="utf-8")
"""The experiment of both direct attempts."""
H2_LOSS, H3_CLEAN, PROXIED = "h2-loss", "h3-clean", "h3-proxied"
HANDED_OVER = "handed-over"
"""An attempt whose client lost its address and whose connection migrated."""
UPLOADED = "uploaded"
"""An attempt whose client sent a file."""
ALL = (H2_LOSS, H3_CLEAN, PROXIED)
CATALOG = catalog.load()


def attempt(name: str) -> Path:
    """Return the folder of a recorded attempt that completed."""
    return FOLDER / "attempts" / name


def artifacts(name: str) -> Path:
    """Return the folder with its evidence."""
    return attempt(name) / "artifacts"


def trial(name: str) -> Trial:
    """Read the trial of a recorded attempt."""
    said = json.loads((attempt(name) / "trial.json").read_text())
    return Trial.model_validate(said["trial"])


def contents(name: str) -> dict[str, Content]:
    """Return the files that its servers had."""
    told = json.loads((attempt(name) / "contents.json").read_text())
    return {path: Content(Path(path), *said) for path, said in told.items()}


SERVED = contents(H2_LOSS)["/1000000.txt"]
"""The file that was served in both direct attempts."""


def planned(name: str) -> TrialPlan:
    """Plan a recorded attempt again."""
    return plan.plan(trial(name), CATALOG)


def chains(name: str) -> tuple[Chain, ...]:
    """Return the chains of a recorded attempt."""
    return planned(name).chains


def recorded_evidence(name: str) -> AttemptEvidence:
    """Read the evidence of a recorded attempt."""
    attempt = planned(name)
    additions = TRIAL_ADDITIONS.provided(attempt.scenario.words)
    return evidence.read(attempt, CATALOG, artifacts(name), [one.read for one in additions])


def checks(observed: AttemptEvidence, name: str = H2_LOSS) -> list[Check]:
    """Return every check on an attempt's evidence."""
    return verdict.every_check(judged_attempt(observed, name))


def observations(observed: AttemptEvidence, name: str = H2_LOSS) -> list[Observation]:
    """Return every observation of an attempt's evidence."""
    return verdict.observations(judged_attempt(observed, name))


def judged_attempt(observed: AttemptEvidence, name: str = H2_LOSS) -> JudgedAttempt:
    """Return an attempt with its evidence, as the checks read it."""
    prepared = CampaignSetup(CATALOG, nothing_built(), Path(), contents(name))
    return with_additions(planned(name), prepared, observed)


def with_additions(
    planned: TrialPlan, prepared: CampaignSetup, observed: AttemptEvidence
) -> JudgedAttempt:
    """Return an attempt that additions judge, too."""
    additions = TRIAL_ADDITIONS.provided(planned.scenario.words)
    return JudgedAttempt(planned, prepared, observed, tuple(one.judgement for one in additions))


def nothing_built() -> Programs:
    """Return programs for a setup that starts none."""
    return Programs(Root("sid", Path(), frozenset(), {}, ""), {})


def judged(name: str) -> Record:
    """Judge a recorded attempt again."""
    prepared = CampaignSetup(CATALOG, nothing_built(), Path(), contents(name))
    this = verdict.AttemptId(trial(name), 1, datetime(2026, 11, 21, 12, tzinfo=UTC))
    return verdict.judge(
        this, planned(name), prepared, artifacts(name), {"client": 1.0, "tear-down": 0.5}
    )


def unpacked(name: str, folder: Path) -> Scenario:
    """Unpack the evidence of an attempt that kept its packets; return what it was asked to do."""
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        for member in archive:
            file, stream = folder / member.name, archive.extractfile(member)
            assert stream is not None
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(stream.read())
    return Scenario.model_validate(json.loads((folder / "document.json").read_text()))
