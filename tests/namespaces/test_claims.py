"""Claims and gates on campaigns that really ran."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
    files = {
        "claims": PLAIN.text() + CLAIMS,
        "before": PLAIN.text(),
        "after": SmallExperiment(versions=("2", "3"), replicates=6, delay="100 ms").text(),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text)
        run = httpbed("run", tmp_path / f"{name}.toml", "-o", tmp_path / name)
        assert run.returncode == 0, run.stderr
    said = json.loads(httpbed("claims", tmp_path / "claims", "--json").stdout)
    verdicts = {one["id"]: one["verdict"] for one in said["campaigns"][0]["claims"]}
    assert verdicts == {
        "bytes": "reproduced",
        "impossible": "contradicted",
    }
    slower = httpbed("gate", tmp_path / "before", tmp_path / "after")
    assert (slower.returncode, "gate: regression" in slower.stdout) == (1, True), slower.stdout
    faster = httpbed("gate", tmp_path / "after", tmp_path / "before")
    assert (faster.returncode, "gate: pass" in faster.stdout) == (0, True), faster.stdout
    own = httpbed("gate", tmp_path / "before", tmp_path / "claims")
    assert own.returncode == 1, "a contradicted claim fails the gate"
