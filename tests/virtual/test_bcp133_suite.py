"""The suite of BCP 133 with real senders: the kernel's passes, and who stops is told plainly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stranger
from real_runs import httpbed

pytestmark = pytest.mark.slow
SUITE_S = 900.0
"""Far more than twelve trials take on a busy machine."""
SUITE = ("--suite", "bcp133", "--scale", "smoke", "--clock", "virtual")
EXIT_FAILED = 1


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep records in the test's own folder, which stays empty: campaigns do not cite the suite."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def suite(tmp_path: Path, *sender: str) -> tuple[int, dict[str, Any], str]:
    """Run the suite; return the exit code, the record and the page."""
    kept = tmp_path / "kept"
    words = ("--congestion-control", "cubic", *SUITE, "--json", "-o", kept)
    done = httpbed("conformance", *sender, *words, within_s=SUITE_S)
    assert "Traceback" not in done.stderr
    assert done.returncode in {0, EXIT_FAILED}, done.stderr
    read = "<svg" in (kept / "conformance.html").read_text()
    assert read == any(finding["n"] for finding in json.loads(done.stdout)["findings"])
    return done.returncode, json.loads(done.stdout), (kept / "conformance.md").read_text()


def test_the_kernels_cubic_passes_beside_reno(tmp_path: Path) -> None:
    code, record, page = suite(tmp_path, "nginx", "--http-version", "1.1")
    assert (code, record["unreadable"]) == (0, [])
    for finding in record["findings"]:
        assert finding["references"]["cubic"] == finding["observed"]
        assert finding["references"]["reno"] is not None
    assert "judge yourself" in page
    assert not list((tmp_path / "state").rglob("nginx-*.json"))


@pytest.mark.toolbox
@pytest.mark.parametrize("mode", ["crashes", "is silent", "closes"])
def test_a_sender_that_stops_or_waits_ends_in_plain_sentences(tmp_path: Path, mode: str) -> None:
    """In the middle of a case, for 5 s before the response, and at the first loss."""
    recipes = stranger.recipe(tmp_path / "recipes", mode)
    exit_code, record, page = suite(tmp_path, "stranger", "--recipes", str(recipes))
    assert all(finding["references"]["reno"] is not None for finding in record["findings"])
    if mode == "is silent":
        assert record["unreadable"] == []
    else:
        assert exit_code == EXIT_FAILED
        assert record["unreadable"]
        assert all(reason in page for reason in ("not read", "not seen"))
