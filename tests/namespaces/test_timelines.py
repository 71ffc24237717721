"""Real downloads over time: what the emulator sums up is what it counted, at the right links.

Real trials report how many CPUs they need while their clients run.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from httpbed.addons.timeline import time_series
from httpbed.results import attempts
from httpbed.store import query
from httpbed.trial import plan
from httpbed.trial.attempt_plan import EVIDENCE
from httpbed.trial.run import cpu_use, runner
from real_runs import SmallExperiment, artifact, stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]


LINKS = """
[[topology.links]]
between = ["client", "router"]
rate = "20 Mbit/s"
delay = "10 ms"

[[topology.links]]
between = ["router", "server"]
rate = "4 Mbit/s"
delay = "20 ms"
"""


class NarrowAtTheServer(SmallExperiment):
    """The server's link is narrower than the client's."""

    def links(self) -> Iterator[str]:
        yield LINKS


def test_a_download_over_two_links_is_watched_at_both(tmp_path: Path) -> None:
    """TCP and QUIC alike: no round trip is shorter than the path, and every byte is counted."""
    way = ("client", "router", "server")
    settings = NarrowAtTheServer(versions=("2", "3"), size="200 kB", way=way)
    records = stage(settings).results(tmp_path)
    assert {record.attempt.outcome.kind for record in records} == {"completed"}
    results = query.read(tmp_path)
    counted = {}
    for record in records:
        ways = artifact(tmp_path, record, "link-result.json")["directions"]
        assert ["timeline" in way for way in ways] == [False, True, False, True]
        counted[record.attempt.id] = ways[1]["bytes"]["delivered"], ways[3]["bytes"]["in"]
    for row in attempts.valid(results):
        found = time_series.read(results, row)
        assert found is not None
        received, sent = counted[row["trial"]]
        width_s = float(found.throughput_bit_s.times_s[1] - found.throughput_bit_s.times_s[0])
        assert (found.throughput_bit_s.values * width_s / 8).sum() == pytest.approx(received)
        assert np.nanmin(found.rtt_s.values) >= 2 * (0.01 + 0.02)
        assert 0 < found.in_flight_bytes.largest <= sent
        assert found.in_flight_bytes.values.min() >= 0
        assert found.queue_s.largest > 0
        assert found.throughput_bit_s.times_s[-1] > 200_000 * 8 / 4e6


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_download_reports_its_demand_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """The last report comes before the client's end, and the trial is whole."""
    monkeypatch.setattr(cpu_use, "PERIOD_S", 0.2)
    staged = stage(SmallExperiment(versions=(version,), rate="1 Mbit/s", size="200 kB"))
    artifacts, reported = tmp_path / "artifacts", list[float]()

    def report(cpus: float) -> None:
        reported.append(cpus)

    (trial,) = staged.loaded.trials
    planned = plan.by_setup(trial, staged.setup)
    sandbox = plan.sandbox_spec(staged.setup, planned, artifacts)
    asyncio.run(runner.run(sandbox, planned.attempt, artifacts, report))
    evidence = json.loads((artifacts / EVIDENCE).read_text())
    assert 3 <= len(reported) <= evidence["client_s"] / cpu_use.PERIOD_S
    assert 0 < max(reported) <= (os.cpu_count() or 1)
    assert evidence["exits"]["client"]["status"] == 0
