"""Real senders get the name of their congestion control, and who stops gets none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stranger
from real_runs import httpbed

pytestmark = pytest.mark.slow
NAMED_S = 900.0
"""Far more than three trials take on a busy machine."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep records in the test's own folder, which stays empty: a name is no verdict."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def identified(tmp_path: Path, *sender: str) -> tuple[int, dict[str, Any], str]:
    """Ask for a sender's name; return the exit code, the record and the page."""
    kept = tmp_path / "kept"
    words = ("--http-version", "1.1", "--identify", "--json", "-o", kept)
    done = httpbed("conformance", *sender, *words, within_s=NAMED_S)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout), (kept / "conformance.html").read_text()


@pytest.mark.parametrize("control", ["reno", "westwood"])
def test_the_kernels_controls_have_their_names(tmp_path: Path, control: str) -> None:
    """Of all references, these two are the nearest to each other."""
    code, record, page = identified(tmp_path, "nginx", "--congestion-control", control)
    assert (code, record["name"], record["unreadable"]) == (0, control, [])
    assert "<svg" in page
    assert not list((tmp_path / "state").rglob("nginx-*.json"))


@pytest.mark.toolbox
def test_a_sender_that_closes_at_its_first_loss_is_unknown(tmp_path: Path) -> None:
    recipes = stranger.recipe(tmp_path / "recipes", "closes")
    code, record, page = identified(tmp_path, "stranger", "--recipes", str(recipes))
    assert (code, record["name"]) == (1, "unknown")
    assert record["unreadable"]
    assert all(reason.split(":")[0] in page for reason in record["unreadable"])
