"""Claims and gates on campaigns that really ran.

A part of a study runs again and is compared with its published results.
``httpbed doctor audit`` with real trials.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import reproduce
from reproduce import Selection

from httpbed.addons.audit import audit_session
from patience import HTTPBED
from real_runs import SmallExperiment, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


CLAIMS = """
[[claim]]
id = "bytes"
says = "100 kB take at least 80 ms at 10 Mbit/s"
metric = "request_time"
over = ["http_version"]
expect = ">= 80 ms"

[[claim]]
id = "impossible"
says = "HTTP/2 needs less than the round-trip time"
metric = "request_time"
where = { http_version = "2" }
expect = "< 40 ms"
"""
# The delays differ by more than a busy machine adds.
PLAIN = SmallExperiment(versions=("2", "3"), replicates=6, delay="20 ms")


def test_claims_are_judged_and_gated(tmp_path: Path) -> None:
    """What physics demands is reproduced, what it forbids contradicted; a slower link fails."""
    slow = SmallExperiment(versions=("2", "3"), replicates=6, delay="100 ms")
    files = {"before": PLAIN.text(), "after": slow.text() + CLAIMS}
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text)
        run = httpbed("run", tmp_path / f"{name}.toml", "-o", tmp_path / name)
        assert run.returncode == 0, run.stderr
    said = json.loads(httpbed("claims", tmp_path / "after", "--json").stdout)
    verdicts = {one["id"]: one["verdict"] for one in said["campaigns"][0]["claims"]}
    assert verdicts == {
        "bytes": "reproduced",
        "impossible": "contradicted",
    }
    slower = httpbed("gate", tmp_path / "before", tmp_path / "after")
    assert (slower.returncode, "gate: regression" in slower.stdout) == (1, True), slower.stdout
    faster = httpbed("gate", tmp_path / "after", tmp_path / "before")
    assert (faster.returncode, "gate: pass" in faster.stdout) == (0, True), faster.stdout
    shutil.copytree(tmp_path / "after", tmp_path / "same")
    same = httpbed("gate", tmp_path / "after", tmp_path / "same")
    assert same.returncode == 1, "a contradicted claim fails the gate"
    assert "impossible" in same.stdout


SMALLEST = """
[scales.smoke]
replicates = 2
[scales.smoke.levels]
size = ["0 B"]
client = ["curl-h2", "curl-h3"]
path = ["direct"]
loss = ["0 %"]
delay = ["0 ms"]
delay_reading = ["one-way"]

[scales.standard]
"""
SMOKE = re.compile(r"\[scales\.smoke\].*\[scales\.standard\]\n", re.DOTALL)


@pytest.mark.slow
def test_a_part_of_a_study_is_compared_with_its_published_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each trial has a published counterpart, and two blocks settle no claim."""
    monkeypatch.setattr(reproduce, "HTTPBED", HTTPBED)
    published = reproduce.PUBLISHED / "liu2024/single-stream"
    whole = (reproduce.STUDIES / "liu2024/single-stream.toml").read_text()
    experiment, campaign = tmp_path / "part.toml", tmp_path / "campaigns" / "part"
    experiment.write_text(SMOKE.sub(SMALLEST, whole, count=1))
    seed = reproduce.seed_of(experiment, None)
    claims = reproduce.reproduced(experiment, Selection("smoke"), campaign, published, seed)
    assert {claim.now for claim in claims} <= {"open", reproduce.NOT_RUN}
    assert None not in {claim.published for claim in claims}
    assert reproduce.compared_values(published, campaign).values == 4


SMALL = SmallExperiment(versions=("1.1",), replicates=5, delay="100 ms", size="20 kB")


@pytest.mark.slow
def test_three_runs_are_compared(tmp_path: Path) -> None:
    """Each has all trials; what the machine's load does to the verdict is not certain."""
    file, kept = tmp_path / "small.toml", tmp_path / "kept"
    file.write_text(SMALL.text())
    done = httpbed("doctor", "audit", file, "--jobs", "2", "-o", kept, "--json")
    said = json.loads(done.stdout)
    assert done.returncode == (0 if said["passed"] else 1), done.stderr
    assert [one["n"] for one in said["treatments"]] == [5]
    assert sorted(path.name for path in kept.iterdir()) == sorted(audit_session.RUNS)
    for name in audit_session.RUNS:
        assert httpbed("verify", kept / name).returncode == 0
