"""`httpbed conformance` judges a congestion control of the kernel over the real emulator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.conformance import conformance_session, properties
from httpbed.addons.conformance.networks import networks
from httpbed.addons.conformance.sender import Control
from httpbed.base.errors import ConfigError
from httpbed.store import campaign
from patience import HTTPBED
from real_runs import httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

EXIT_USAGE = 2
TEST_S = 240.0
"""Far more than a test of the smallest scale takes."""
LOSS = "window after one loss"
COUNTED = {"initial window", LOSS}
"""Properties in packets alone. Cubic's curve is one of time, which a busy machine stretches."""


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


def test_the_kernels_cubic_passes_as_cubic_and_fails_as_reno(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run, judged by the properties of both controls.

    The throughput depends on the machine as well as on the sender, so only properties that are
    counted in packets have to be within their tolerances. Other controls are judged from recorded
    packet logs (tests/addons/conformance/sender/test_recorded.py).
    """
    control: Control = "cubic"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept = tmp_path / "kept"
    record = conformance(control, kept)
    assert record["unreadable"] == []
    found = {one["name"]: one for one in record["findings"]}
    unseen = {one["why"] for one in found.values() if one["passed"] is None}
    assert unseen <= {properties.BUSY}, "on a busy machine a property may not be judged"
    failed = {name: found[name]["observed"] for name in COUNTED if found[name]["passed"] is False}
    assert failed == {}
    assert len(list((tmp_path / "state").rglob("nginx-*-smoke.json"))) == 1
    assert "<svg" in (kept / "conformance.html").read_text()
    evidence = conformance_session.read(campaign.open_existing(kept), networks("smoke", control))
    as_other = {
        result.name: result.passed for result in properties.judge("reno", evidence.transfers)
    }
    assert as_other[LOSS] is False
    _refuses_a_changed_log(kept, control)


def _refuses_a_changed_log(kept: Path, control: Control) -> None:
    """A changed packet log is a mistake with its place; it fails no sender."""
    log = next(kept.rglob("packets.tsv"))
    log.write_bytes(log.read_bytes() + b"\n")
    with pytest.raises(ConfigError, match=log.name):
        conformance_session.read(campaign.open_existing(kept), networks("smoke", control))


def test_mistakes_are_reported_before_anything_runs() -> None:
    """Exit code 2 with the known values, no traceback."""
    done = httpbed("conformance", "nginx", "--congestion-control", "bbr")
    assert done.returncode == EXIT_USAGE
    assert "known: fixed, cubic" in done.stderr
