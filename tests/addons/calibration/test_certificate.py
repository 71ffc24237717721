"""What a certificate covers, and for whom."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handover_experiments import HandoverExperiment
from httpbed.addons.calibration import certificate, envelope
from httpbed.addons.calibration.cell import Finding
from httpbed.addons.calibration.cells import all_cells
from httpbed.addons.calibration.envelope import Demand
from httpbed.addons.calibration.session import Verdict
from httpbed.base.errors import ConfigError
from httpbed.bed.network.network_plan import plan
from recorded import DEMO
from stored_campaigns import loaded

OWN = {"machine": "m", "kernel": "6.1", "cpu": "c", "cores": 2, "emulator": "e" * 64}


def verdict(covers: dict[str, Any], *, passed: bool = True) -> Verdict:
    finding = Finding("rate", "bit/s", 1.0, 1.0 if passed else 2.0, 0.0, "")
    return Verdict("cell", (finding,), covers, 1e-5, "SCHED_FIFO")


WIDE = [
    *(verdict({"rate_bit_s": bit_s}) for bit_s in (10**5, 10**7, 10**9)),
    *(verdict({"delay_s": delay}) for delay in (0.0, 0.5)),
    *(verdict({"loss": loss}) for loss in (0.0, 0.5)),
    *(verdict({"queue limit": unit}) for unit in ("packets", "bytes", "time")),
]


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(certificate, "identity", lambda *_: dict(OWN))


@given(st.dictionaries(st.integers(1, 100), st.booleans(), min_size=1), st.floats(0, 101))
def test_a_value_is_covered_if_both_neighbours_passed(tried: dict[int, bool], value: float) -> None:
    """The definition, said another way."""
    covered = envelope.envelope(
        verdict({"loss": one}, passed=passed) for one, passed in tried.items()
    )
    below = [one for one in tried if one <= value]
    above = [one for one in tried if one >= value]
    expected = bool(below and above) and tried[max(below)] and tried[min(above)]
    assert (envelope.outside(covered, [Demand("loss", value)]) == []) == expected


def test_a_unit_of_the_queues_limit_is_covered_if_all_its_cells_passed() -> None:
    """One of two that failed is enough to spoil it."""
    cells = [verdict({"queue limit": "bytes"}), verdict({"queue limit": "packets"})]
    cells.append(verdict({"queue limit": "bytes"}, passed=False))
    covered = envelope.envelope(cells)
    assert covered == {"queue limit": ["packets"]}
    wanted = [Demand("queue limit", "bytes"), Demand("queue limit", "packets")]
    assert envelope.outside(covered, wanted) == ["queue limit bytes: no cell that passed covers it"]


DIRECTION: dict[str, Any] = {
    "rate": {"model": "token_bucket", "bit_s": 10**6, "burst_bytes": 2**15},
    "delay_ns": 25_000_000,
    "loss": {"model": "gilbert_elliott", "to_bad": 0.1},
    "queue": {"discipline": "codel", "limit": {"bytes": 10**5}},
    "jitter": {"distribution": "pareto", "spread_ns": 1},
    "duplication": {"probability": 0.1, "key": "1"},
    "corruption": None,
}


def test_demands_of_a_configuration() -> None:
    """What cells measure is a demand, at any time of a trial; what tests compute is none."""
    change = {"at_ns": 0, "direction": None, "change": {"rate_bit_s": 5}}
    told = {"name": "told", "when": {"handshake": True}, "change": None}
    link = {"directions": [DIRECTION], "schedule": [change], "triggers": [told]}
    assert envelope.demands({"links": [link]}) == {
        Demand("rate_bit_s", 10**6),
        Demand("rate_bit_s", 5),
        Demand("delay_s", 0.025),
        Demand("queue limit", "bytes"),
    }


def test_an_impairment_that_no_test_computes_is_a_demand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(envelope, "COMPUTED", envelope.COMPUTED - {"duplication"})
    link = {"directions": [DIRECTION], "schedule": [], "triggers": []}
    assert Demand("impairment", "duplication") in envelope.demands({"links": [link]})


PLAIN: dict[str, Any] = {
    "rate": {"model": "constant", "bit_s": 10**6},
    "delay_ns": 0,
    "queue": {"discipline": "droptail", "limit": {"packets": 9}},
}
"""Demands a rate, a delay of 0, and a queue of packets."""


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ({"overhead_bytes": 14}, set()),
        ({"queue": {"discipline": "droptail", "limit": None}}, {("queue limit", "unlimited")}),
        ({"queue": None}, {("queue limit", "unlimited")}),
        ({"jitter": {"distribution": "table", "samples_ns": [1]}}, set()),
        ({"rate": {"model": "trace", "path": "t", "mean_bit_s": 77}}, {("rate_bit_s", 77)}),
        ({"queue": {"discipline": "codel", "limit": {"packets": 9}, "ecn": True}}, set()),
        (
            {"queue": {"discipline": "pie", "limit": {"packets": 9}, "ecn": True}},
            {("marking by", "pie")},
        ),
        ({"delay_ns": 10**6}, {("delay_s", 0.001)}),
    ],
)
def test_demands_of_a_direction(said: dict[str, Any], more: set[tuple[str, Any]]) -> None:
    """Beyond those of a plain one, as far as those are still there."""
    plain = {("rate_bit_s", 10**6), ("delay_s", 0.0), ("queue limit", "packets")}
    found = envelope.demands(
        {"links": [{"directions": [PLAIN | said], "schedule": [], "triggers": []}]}
    )
    assert {(demand.quantity, demand.value) for demand in found} - plain == more


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ({"delay_ns": 10**7}, {("delay_s", 0.01)}),
        ({"loss": 0.1}, {("loss", 0.1)}),
        ({"down": True}, set()),
    ],
)
def test_demands_of_a_change(change: dict[str, Any], more: set[tuple[str, Any]]) -> None:
    """By the schedule, or by an event; that of a handshake is a demand of its own."""
    entry = {"at_ns": 0, "direction": 0, "change": change}
    events: dict[str, Any] = {
        "delivered": {"delivered_bytes": 5, "direction": 0},
        "first packet": {"first_packet": True, "direction": 0},
        "handshake": {"handshake": True},
    }
    found = envelope.demands({"links": [{"directions": [], "schedule": [entry], "triggers": []}]})
    assert {(demand.quantity, demand.value) for demand in found} == more
    for name, when in events.items():
        trigger = entry | {"name": "change", "when": when}
        found = envelope.demands(
            {"links": [{"directions": [], "schedule": [], "triggers": [trigger]}]}
        )
        own = {("event", name)} if name == "handshake" else set()
        assert {(demand.quantity, demand.value) for demand in found} == more | own


def test_what_is_demanded_is_what_the_cells_cover() -> None:
    """Of what is measured, an experiment demands no kind without a cell, and each cell is used."""
    cells = all_cells("smoke")
    covered = {
        (quantity, value)
        for cell in cells
        for quantity, value in cell.covers.items()
        if quantity not in envelope.RANGES
    }
    demanded = {
        (demand.quantity, demand.value)
        for cell in cells
        for demand in envelope.demands(plan(cell.topology(), {}, 1, 1).emulator_config)
        if demand.quantity not in envelope.RANGES
    }
    assert demanded == covered


@pytest.mark.parametrize(
    ("queue", "reasons"),
    [
        ('{ discipline = "codel" }', ()),
        ('{ discipline = "fq_codel", ecn = true }', ()),
        ('{ discipline = "pie" }', ()),
        ('{ discipline = "pie", ecn = true }', ("marking by pie: no cell that passed covers it",)),
    ],
)
def test_strict_takes_the_disciplines_that_are_computed(
    queue: str, reasons: tuple[str, ...]
) -> None:
    """PIE drops where it should mark, above a probability of 10 %."""
    certificate.write(WIDE, "smoke", backend="af_packet", load_before=0.1)
    text = re.sub("queue = {.*}", f"queue = {queue}", DEMO)
    assert text != DEMO
    assert certificate.standing(loaded(text), "af_packet").reasons == reasons


def test_the_mean_of_a_trace_is_a_rate_that_is_demanded() -> None:
    """That holds for recorded traces and for those generated from the seed."""
    certificate.write(WIDE, "standard", backend="af_packet", load_before=0.1)
    slow = DEMO.replace(
        'rate = "10 Mbit/s"', 'rate = { cellular = { mean = "20 kbit/s", duration = "9 s" } }'
    )
    assert slow != DEMO
    (reason,) = certificate.standing(loaded(slow), "af_packet").reasons
    assert reason.startswith("rate 20 kbit/s: ")


def test_a_campaign_that_is_covered_cites_the_certificate() -> None:
    """By date and digest, never by a path."""
    written = certificate.write(WIDE, "standard", backend="af_packet", load_before=0.1)
    found = certificate.standing(loaded(DEMO), "af_packet")
    assert found.reasons == ()
    certificate.require(found)
    cited = found.as_json()
    assert cited is not None
    assert cited["file"] == written.name
    assert cited["date"] == json.loads(written.read_text())["date"]
    assert len(cited["sha256"]) == 64
    assert cited["outside"] == []
    assert cited["outside_topologies"] == {}


def test_a_reason_names_the_topologies_that_it_is_about() -> None:
    """So that a claim about other links is not affected."""
    certificate.write(WIDE, "standard", backend="af_packet", load_before=0.1)
    read = loaded(DEMO.replace('loss = ["0 %", "2 %"]', 'loss = ["0 %", "90 %"]'))
    cited = certificate.standing(read, "af_packet").as_json()
    assert cited is not None
    ((reason, topologies),) = cited["outside_topologies"].items()
    assert reason in cited["outside"]
    lossy = {
        trial.scenario().topology.digest()
        for trial in read.trials
        if trial.levels["loss"] == "90 %"
    }
    assert {*topologies} == lossy


@pytest.mark.parametrize(
    ("handover", "reasons"),
    [
        ('kind = "route"\nwhen = { at = "1 s" }', ()),
        ('kind = "blackhole"\nwhen = { at = "1 s" }', ()),
        ('kind = "NAT rebinding"\nwhen = { at = "1 s" }', ()),
        ('kind = "route"\nwhen = { delivered = "100 kB" }', ()),
    ],
)
def test_a_handover_demands_what_the_bed_orders_from_the_emulator(
    handover: str, reasons: tuple[str, ...]
) -> None:
    """And the event that it waits for."""
    certificate.write(WIDE, "standard", backend="af_packet", load_before=0.1)
    text = HandoverExperiment(handover=handover).text()
    assert certificate.standing(loaded(text), "af_packet").reasons == reasons


def test_strict_without_a_certificate_names_the_command_to_run() -> None:
    """The message names httpbed doctor calibrate."""
    found = certificate.standing(loaded(DEMO), "af_packet")
    assert found.as_json() is None
    with pytest.raises(ConfigError, match="httpbed doctor calibrate"):
        certificate.require(found)


def test_every_reason_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another kernel, another emulator, and conditions outside."""
    certificate.write([verdict({"rate_bit_s": 5})], "smoke", backend="af_packet", load_before=0.1)
    others = OWN | {"kernel": "6.2", "emulator": "f" * 64}
    monkeypatch.setattr(certificate, "identity", lambda *_: others)
    with pytest.raises(ConfigError) as caught:
        certificate.require(certificate.standing(loaded(DEMO), "af_packet"))
    told = "\n".join(mistake.reason for mistake in caught.value.mistakes)
    for words in ("another kernel", "another emulator", "rate 10 Mbit/s", "delay", "loss 2 %"):
        assert words in told
    assert "another machine" not in told


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": 9}', '{"schema": 1}', "\xff"])
def test_what_is_no_certificate_is_none(text: str) -> None:
    """A torn or foreign file is as good as no file."""
    certificate.path().parent.mkdir(parents=True)
    certificate.path().write_text(text, encoding="latin-1")
    assert certificate.read() is None


def test_the_latest_replaces_the_one_before() -> None:
    """Whole: nothing else is left in the folder."""
    certificate.write(WIDE, "standard", backend="af_packet", load_before=0.1)
    certificate.write(WIDE[:1], "smoke", backend="af_packet", load_before=0.1)
    found = certificate.read()
    assert found is not None
    assert found.document["scale"] == "smoke"
    assert [path.name for path in certificate.path().parent.iterdir()] == [certificate.NAME]
