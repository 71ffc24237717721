"""``httpbed doctor audit`` with real trials."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from httpbed.addons.audit import session
from real_runs import SmallExperiment, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

SMALL = SmallExperiment(versions=("1.1",), replicates=5, delay="100 ms", size="20 kB")


def test_three_runs_are_compared(tmp_path: Path) -> None:
    """Each has all trials; what the machine's load does to the verdict is not certain."""
    file, kept = tmp_path / "small.toml", tmp_path / "kept"
    file.write_text(SMALL.text())
    done = httpbed("doctor", "audit", file, "--jobs", "2", "-o", kept, "--json")
    said = json.loads(done.stdout)
    assert done.returncode == (0 if said["passed"] else 1), done.stderr
    assert [one["n"] for one in said["treatments"]] == [5]
    assert sorted(path.name for path in kept.iterdir()) == sorted(session.RUNS)
    for name in session.RUNS:
        assert httpbed("verify", kept / name).returncode == 0
