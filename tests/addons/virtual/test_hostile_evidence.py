"""Evidence that a program wrote which has taken its guest: any form is judged, or an error."""

from __future__ import annotations

import json
import random
import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.virtual import outside
from httpbed.base.errors import BedError
from httpbed.experiment.kept import LINK_RESULT
from httpbed.experiment.trial import Record
from httpbed.trial import verdict
from httpbed.trial.attempt_plan import EVIDENCE, CampaignSetup
from httpbed.trial.verdict import AttemptId
from recorded import CATALOG, H2_LOSS, artifacts, contents, nothing_built, planned, trial

HOSTILE: tuple[Any, ...] = (None, -1, 1e308, 10**400, "x", [], [[]], {}, {"a": {"a": {}}}, True)


def judged(folder: Path) -> Record:
    setup = CampaignSetup(CATALOG, nothing_built(), Path(), contents(H2_LOSS))
    this = AttemptId(trial(H2_LOSS), 1, datetime.now(UTC))
    return outside.judged(
        partial(verdict.judge, this, planned(H2_LOSS), setup, folder, {"client": 1.0})
    )


def copied(folder: Path) -> Path:
    """Copy a recorded attempt's artifacts."""
    return Path(shutil.copytree(artifacts(H2_LOSS), folder / "artifacts"))


def test_what_a_guest_left_is_judged_as_any_attempt(tmp_path: Path) -> None:
    """Untouched evidence completes."""
    assert judged(copied(tmp_path)).attempt.outcome.kind == "completed"


@pytest.mark.parametrize("name", [EVIDENCE, LINK_RESULT])
@pytest.mark.parametrize("text", ["[" * 10**6, "7", '"x"', "{", '{"a": NaN}', "{}" * 10, "\0"])
def test_a_file_of_another_form_is_an_error_of_the_bed(
    tmp_path: Path, name: str, text: str
) -> None:
    """No traceback, and no more memory than its bound."""
    folder = copied(tmp_path)
    (folder / name).write_text(text)
    with pytest.raises(BedError, match="what the guest left cannot be judged"):
        judged(folder)


@pytest.mark.parametrize("name", [EVIDENCE, LINK_RESULT])
@pytest.mark.parametrize("seed", range(40))
def test_values_of_another_form_are_judged_or_an_error_of_the_bed(
    tmp_path: Path, name: str, seed: int
) -> None:
    """One value somewhere in the file is another one."""
    folder = copied(tmp_path)
    content = json.loads((folder / name).read_text())
    rng = random.Random(seed)  # noqa: S311 - draws what is changed
    place = content
    while isinstance(one := place[key(rng, place)], dict | list) and one and rng.random() < 0.8:
        place = one
    place[key(rng, place)] = rng.choice(HOSTILE)
    (folder / name).write_text(json.dumps(content))
    assert outcome(folder) in {"completed", "invalid", "failed", "timed out", "broken off"}


def outcome(folder: Path) -> str:
    """Judge a folder; return how the attempt ended."""
    try:
        return judged(folder).attempt.outcome.kind
    except BedError:
        return "broken off"


def key(rng: random.Random, place: Any) -> Any:
    """Return a key of an object, or an index of a list."""
    return rng.choice([*place]) if isinstance(place, dict) else rng.randrange(len(place))
