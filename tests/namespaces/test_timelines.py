"""Real downloads over time: what the emulator sums up is what it counted, at the right links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from httpbed.addons.timeline import time_series
from httpbed.results import attempts
from httpbed.store import query
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
