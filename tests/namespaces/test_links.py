"""Real links with every impairment, by both backends: what was asked for is what happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.bed.machine import backend as backends
from httpbed.bed.machine.backend import Backend
from real_runs import SmallExperiment, artifact, check, stage

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

EVERYTHING = """
jitter = "2 ms"
duplication = "5 %"
corruption = "0.5 %"
policing = { rate = "8 Mbit/s", burst = "8 kB" }
reordering = { share = "2 %", hold = "5 ms" }
down = { rate = { trace = "t.trace" }, queue = { discipline = "fq_codel", ecn = true } }
up = { loss = { to_bad = "1 %", to_good = "30 %" } }

[[topology.links.schedule]]
at = "50 ms"
delay = "8 ms"

[[topology.links.events]]
name = "half"
when = { delivered = "100 kB", to = "client" }
rate = "2 Mbit/s"
direction = "up"
"""
DRAWN = ("losses", "copies", "damage")


@pytest.fixture(params=["af_packet", "tun"])
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "tun" and (fault := backends.tun_fault(backends.TUN)):
        pytest.skip(fault[0])
    return backends.choose(request.param)


def test_everything_at_once_happens_as_planned(tmp_path: Path, backend: Backend) -> None:
    """Random draws, a trace, a schedule and an event act in one trial, and the body is complete."""
    (tmp_path / "t.trace").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    settings = SmallExperiment(versions=("2",), size="300 kB", loss="1 %", link=EVERYTHING)
    (record,) = stage(settings, folder=tmp_path, backend=backend).results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    for way in ("client->server", "server->client"):
        assert all(check(record, f"{what} as drawn, {way}").passed for what in DRAWN)
    assert check(record, "link backend").figure == backend
    assert check(record, "scheduled changes").figure == "2 changes made"
    assert "half: rate 2000000 bit/s" in check(record, "changes by events").figure
    result = artifact(tmp_path / "campaign", record, "link-result.json")
    both = [direction["packets"] for direction in result["directions"]]
    # Of some 300 packets none is duplicated once in 10^6 runs.
    assert sum(packets["duplicated"] for packets in both) > 0
    packets = both[1]
    assert packets["policed"] == len(result["directions"][1]["policed_numbers"]) > 0


LOSS_THAT_CHANGES = """
[[topology.links.schedule]]
at = "40 ms"
loss = "20 %"
direction = "up"

[[topology.links.events]]
name = "half"
when = { delivered = "100 kB", to = "client" }
loss = "10 %"
"""


def test_a_loss_that_changes_is_checked_packet_by_packet(tmp_path: Path) -> None:
    """A schedule and an event change the loss; the emulator reports at which packets."""
    settings = SmallExperiment(versions=("2",), size="300 kB", loss="1 %", link=LOSS_THAT_CHANGES)
    (record,) = stage(settings).results(tmp_path)
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    assert check(record, "scheduled changes").passed
    for name in ("client->server", "server->client"):
        told = check(record, f"losses as drawn, {name}")
        assert told.passed
        assert "at 0.1 from packet " in told.limit
    result = artifact(tmp_path, record, "link-result.json")
    # On a busy machine the client may begin after the scheduled change.
    by_event = [one["next_number"] for one in result["changes"] if one["by"] == "trigger"]
    assert len(by_event) == 2
    assert min(by_event) > 0


def test_a_replayed_record_loses_the_same_packets(tmp_path: Path) -> None:
    """The next trial loses the same packet numbers, whatever its seed."""
    settings = SmallExperiment(versions=("2",), loss="3 %")
    (first,) = stage(settings).results(tmp_path / "first")
    result = artifact(tmp_path / "first", first, "link-result.json")
    lost = [way["lost_numbers"] for way in result["directions"]]
    attempt = first.attempt
    place = f"first/trials/{attempt.trial.block:04d}/{attempt.id}/{attempt.number}/artifacts"
    replay = f'up = {{ loss = {{ replay = "{place}/link-result.json" }} }}'
    again = SmallExperiment(versions=("2",), seed=99, link=replay)
    (second,) = stage(again, folder=tmp_path).results(tmp_path / "second")
    assert check(second, "losses as drawn, client->server").passed
    seen = artifact(tmp_path / "second", second, "link-result.json")["directions"][0]
    assert seen["lost_numbers"] == [n for n in lost[0] if n < seen["packets"]["in"]]


def test_a_cellular_link_delivers_by_its_trace(tmp_path: Path) -> None:
    """The trace comes from the seed; an echo may wait for a delivery opportunity."""
    cell = 'down = { rate = { cellular = { mean = "5 Mbit/s", duration = "10 s" } } }'
    (record,) = stage(SmallExperiment(versions=("2",), link=cell)).results(tmp_path)
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    assert check(record, "round-trip time").passed


def test_a_queue_that_marks_meets_tcp_that_asks_for_it(tmp_path: Path) -> None:
    """Linux' clients request ECN only if told to, and nothing would be marked."""
    link = 'down = { queue = { discipline = "codel", ecn = true } }'
    settings = SmallExperiment(versions=("2",), size="1 MB", rate="4 Mbit/s", link=link)
    (record,) = stage(settings).results(tmp_path)
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome.reason
    # In the second that 4 Mbit/s take, slow start overflows CoDel's 5 ms at least once.
    result = artifact(tmp_path, record, "link-result.json")
    assert result["directions"][1]["marked"] > 0
