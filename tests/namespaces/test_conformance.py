"""The kernel's own controls pass as what they are and fail as another, by the real emulator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from httpbed.store import campaign
from httpbed.studies.conformance import properties, session
from httpbed.studies.conformance.networks import networks
from httpbed.studies.conformance.sender import Control
from real_runs import HTTPBED, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.slow]

EXIT_USAGE = 2
TEST_S = 240.0
"""Far more than a test of the smallest scale takes."""
LOSS = "window after one loss"
SURE: dict[Control, set[str]] = {
    "reno": {"initial window", LOSS, "growth"},
    "cubic": {"initial window", LOSS, "off the cubic curve"},
    "bbr": {"initial window", LOSS},
}
"""What no busy machine disturbs: numbers of packets in a round trip, however late it is."""


def conformance(control: Control, kept: Path) -> dict[str, Any]:
    """Test the kernel's control under nginx; return the record."""
    sender = ("nginx", "--http-version", "1.1", "--congestion-control", control)
    words = ("conformance", *sender, "--scale", "smoke", "--jobs", "3", "-o", str(kept), "--json")
    done = subprocess.run(
        [*HTTPBED, *words], check=False, capture_output=True, text=True, timeout=TEST_S
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    record: dict[str, Any] = json.loads(done.stdout)
    assert record["passed"] == (done.returncode == 0)
    return record


@pytest.mark.parametrize(
    ("control", "other"), [("reno", "bbr"), ("cubic", "reno"), ("bbr", "reno")]
)
def test_kernel(
    control: Control, other: Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run, judged as what it is and as what it is not.

    Everything is seen. How much passes through in a second is the machine's as well as the
    sender's, so only what is counted in packets has to be within its tolerance.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept = tmp_path / "kept"
    record = conformance(control, kept)
    assert record["blind"] == []
    found = {one["name"]: one for one in record["findings"]}
    assert [name for name, one in found.items() if one["passed"] is None] == []
    assert {name: found[name]["seen"] for name in SURE[control] if not found[name]["passed"]} == {}
    assert len(list((tmp_path / "state").rglob("nginx-*-smoke.json"))) == 1
    assert "<svg" in (kept / "conformance.html").read_text()
    evidence = session.read(campaign.existing(kept), networks("smoke", control))
    as_other = {one.name: one.passed for one in properties.judge(other, evidence.transfers)}
    assert as_other[LOSS] is False


def test_mistakes_are_told_before_anything_runs() -> None:
    """Usage, not a traceback."""
    done = httpbed("conformance", "nginx", "--congestion-control", "bbr")
    assert done.returncode == EXIT_USAGE
    assert "known: fixed, cubic" in done.stderr
