"""A program under test cannot tell which attempt, block or campaign it is in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hostile import attacked
from httpbed.experiment.trial import Outcome
from httpbed.trial import verdict

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.as_root]

NUMBERS = re.compile(r"^\d+ \d+ \d+:\d+ ", re.MULTILINE)
"""Of mounts and their devices: the kernel takes what is free, whatever else this machine mounts."""
COUNTED = ("times of ", "/proc/self/autogroup", "processes")
"""Clocks and counters of the machine, which every program can read (docs/concepts/isolation.md)."""


@pytest.mark.parametrize("role", ["client", "server"])
def test_attempts_and_blocks_look_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """Each of two attempts in each of two blocks shows its programs the same."""
    invalid = Outcome(kind="invalid", reason="repeated")
    monkeypatch.setattr(verdict, "outcome", lambda *_: invalid)
    attacked(tmp_path, "identity", role, replicates=2)
    files = sorted((tmp_path / "campaign/trials").glob(f"*/*/*/artifacts/{role}/seen.json"))
    numbers = {(file.parts[-6], file.parts[-4]) for file in files}
    assert {("0001", "1"), ("0001", "2"), ("0002", "1"), ("0002", "2")} <= numbers
    assert len({json.dumps(lasting(file)) for file in files}) == 1, [lasting(one) for one in files]


def lasting(file: Path) -> dict[str, str]:
    """Return what a program saw, without clocks and the kernel's numbers."""
    seen = json.loads(file.read_text())
    return {
        name: NUMBERS.sub("", text) for name, text in seen.items() if not name.startswith(COUNTED)
    }


def test_no_path_of_the_campaign_is_seen(tmp_path: Path) -> None:
    """Neither in a mount nor in a variable, nor the name of this machine."""
    found = attacked(tmp_path, "identity")
    seen = (found.artifacts / "client/seen.json").read_text()
    assert tmp_path.name not in seen
    assert "campaign" not in seen
    assert json.loads(seen)["host"].split()[0] == "localhost"
