"""The kernel's own Reno passes as Reno and fails as BBR, seen through the real emulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from httpbed.conformance import properties, session
from httpbed.conformance.networks import networks
from httpbed.store import campaign
from real_runs import httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.slow]

EXIT_USAGE, EXIT_HOST = 2, 3


def test_kernel_reno(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run, judged as what it is and as what it is not.

    A busy machine may keep a property from being judged, which is exit 3; none may fail. The
    losses are those of one seed, and the tolerances three times what the kernel's Reno showed.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept = tmp_path / "kept"
    sender = ("nginx", "--http-version", "1.1", "--congestion-control", "reno")
    done = httpbed("conformance", *sender, "--scale", "smoke", "-o", kept, "--json")
    assert done.returncode in {0, EXIT_HOST}, done.stdout + done.stderr
    record = json.loads(done.stdout)
    assert not [one["name"] for one in record["findings"] if one["passed"] is False]
    kept_records = list((tmp_path / "state").rglob("nginx-*.json"))
    assert bool(kept_records) == (done.returncode == 0)
    assert "<svg" in (kept / "conformance.html").read_text()
    evidence = session.read(campaign.existing(kept), networks("smoke", "reno"))
    as_bbr = {one.name: one for one in properties.judge("bbr", evidence.transfers)}
    assert as_bbr["window after one loss"].passed is not True
    assert as_bbr["goodput, 4 %, 50 ms"].passed is not True


def test_mistakes_are_told_before_anything_runs() -> None:
    """Usage, not a traceback."""
    done = httpbed("conformance", "nginx", "--congestion-control", "bbr")
    assert done.returncode == EXIT_USAGE
    assert "known: fixed, cubic" in done.stderr
