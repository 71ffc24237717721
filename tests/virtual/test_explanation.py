"""nginx holds HTTP/3 at its stream buffer: without computing, the division is exact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from real_runs import SmallExperiment, httpbed

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.timeout(900)]

RUN_S = 800.0
"""Far more than three trials take on a busy machine."""
EXACT_S = 1e-8
BUFFER = 65_536
OVERHEAD = 1.06
"""Of QUIC's headers and tags, at most (docs/concepts/explain.md)."""
HELD = SmallExperiment(
    versions=("2", "3"), rate="50 Mbit/s", delay="20 ms", size="1 MB", clock="virtual"
)
"""The path holds four times the buffer."""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a trial of each version."""
    folder = tmp_path_factory.mktemp("held")
    (folder / "e.toml").write_text(HELD.text())
    words = ("run", folder / "e.toml", "-o", folder / "c", "--keep", "packets")
    done = httpbed(*words, within_s=RUN_S)
    assert done.returncode == 0, done.stderr
    return folder / "c"


def explained(campaign: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Return what explain says of the trials that ran, by version."""
    done = httpbed("explain", campaign, "--json", *options, within_s=RUN_S)
    assert done.returncode == 0, done.stderr
    return {one["levels"]["http_version"]: one for one in json.loads(done.stdout)["explained"]}


def costs(one: dict[str, Any]) -> dict[str, float]:
    return {cause["cause"]: cause["cost_s"] for cause in one["causes"]}


def test_the_stream_buffer_holds_http3_alone_and_is_named(campaign: Path) -> None:
    found = explained(campaign, "--no-run")
    assert found["2"]["held"] is None
    assert "fixed window" not in costs(found["2"])
    held, size_bytes = found["3"]["held"], found["3"]["held"]["bytes"]
    assert (held["program"], held["knob"]) == ("nginx", "http3_stream_buffer_size")
    assert held["size"] == BUFFER
    assert BUFFER < size_bytes < OVERHEAD * BUFFER
    # 50 Mbit/s for 40 ms
    assert held["fills_bytes"] == 250_000
    # Of 15 buffers, slow start carries less than three.
    assert 12 <= held["round_trips"] <= 15
    for one in found.values():
        assert sum(costs(one).values()) == pytest.approx(one["seconds"], abs=EXACT_S)
        assert costs(one)["sender's reaction"] < 0.001
        assert one["periods"][0][0] == 0
    markdown = httpbed("explain", campaign, "--no-run", "--format", "markdown")
    assert "http3\\_stream\\_buffer\\_size" in markdown.stdout
    assert "Where the time went" in (campaign / "report.html").read_text()


def test_a_larger_buffer_removes_all_that_it_cost(campaign: Path) -> None:
    (one,) = explained(campaign, "--try", "--treatment", "http_version=3").values()
    (rung,) = one["ladder"]
    assert (rung["cause"], rung["confirmed"]) == ("fixed window", True)
    assert "http3_stream_buffer_size = 16m" in rung["lifted"]
    assert "fixed window" not in costs(rung["after"])
    saved_s = one["seconds"] - rung["after"]["seconds"]
    assert rung["saved_s"] == pytest.approx(saved_s, abs=EXACT_S)
    # Acknowledgements of a full window came late, too.
    assert saved_s > costs(one)["fixed window"]
