"""Metrics of hand-overs, from a recorded one and from made-up deliveries."""

from __future__ import annotations

from dataclasses import replace

import pytest

import recorded_handover
from httpbed.addons.handover import handover_metrics as metrics
from httpbed.addons.handover.handover_evidence import HandoverChange, HandoverEvidence
from httpbed.addons.handover.handover_model import Handover, handover_of
from httpbed.programs.part import LoggedRequest, MigrationCounts, PathEvent
from httpbed.trial.evidence import AttemptEvidence
from planted import ended, logged
from recorded import HANDED_OVER, chains, recorded_evidence, trial

MS = 10**6
(CHAIN,) = chains(HANDED_OVER)
SCENARIO = trial(HANDED_OVER).scenario()


def taken(evidence: AttemptEvidence) -> dict[tuple[str, str], float]:
    """Return the metrics of hand-overs."""
    handovers = metrics.observed(handover_of(SCENARIO), CHAIN, evidence)
    told = metrics.observations(handovers) if handovers else ()
    return {(observation.metric, observation.item): observation.value for observation in told}


def test_a_recorded_migration_takes_about_one_round_trip() -> None:
    """Silence, validation and first delivery take about the 40 ms of one."""
    values = taken(recorded_evidence(HANDED_OVER))
    for metric in ("delivery_silence", "validation_delay", "new_path_delay"):
        assert 0.040 <= values[metric, ""] <= 0.050
    assert 0.0 <= values["probe_delay", ""] <= 0.005
    assert values["delivery_stall", ""] >= values["delivery_silence", ""]
    assert values["migrations", ""] == 1
    assert values["migrations_failed", ""] == 0
    assert values["bytes_fetched_twice", ""] == 0
    assert {item for _, item in values} == {""}


def moved(*at_ms: int) -> AttemptEvidence:
    """Return evidence of a client that alternates at these times, for 600 ms."""
    evidence = recorded_evidence(HANDED_OVER)
    links = ["wifi", "cellular"]
    changes = tuple(
        HandoverChange(
            number=number,
            left=links[(number - 1) % 2],
            entered=links[number % 2],
            **dict.fromkeys(("due_ns", "ordered_ns", "at_ns"), at * MS),
            by="the kernel",
        )
        for number, at in enumerate(at_ms, start=1)
    )
    zero_ns = evidence.link["origin_ns"] + evidence.link["started_ns"]
    own = HandoverEvidence(0, 600 * MS, (), changes, {}, {}, zero_ns=zero_ns)
    failed = ended(status=56)(evidence)
    return replace(
        recorded_handover.with_own(failed, own), link={**evidence.link, "connections": []}
    )


def delivered(evidence: AttemptEvidence, **bins: dict[int, int]) -> AttemptEvidence:
    """Set the bytes delivered in these milliseconds, by link."""
    return recorded_handover.delivered(evidence, bins)


def test_each_hand_over_and_the_worst_have_a_value() -> None:
    """Each span begins a second before its hand-over."""
    wifi = dict.fromkeys((*range(5, 200), *range(430, 500)), 1500)
    cellular = dict.fromkeys(range(220, 400), 1500)
    values = taken(delivered(moved(200, 400), wifi=wifi, cellular=cellular))
    silences = {item: value for (name, item), value in values.items() if name == "delivery_silence"}
    assert silences == {"hand-over 1": 0.021, "hand-over 2": 0.101, "": 0.101}
    paths = {item: value for (name, item), value in values.items() if name == "new_path_delay"}
    assert paths == {"hand-over 1": 0.0205, "hand-over 2": 0.0305, "": 0.0305}


def test_silence_lasts_until_the_end_if_nothing_arrives() -> None:
    """The client ended at 600 ms."""
    values = taken(delivered(moved(200), wifi=dict.fromkeys(range(5, 200), 1500)))
    assert values["delivery_silence", ""] == pytest.approx(0.401)
    assert ("new_path_delay", "") not in values
    assert ("probe_delay", "") not in values


def test_a_stable_address_has_gaps_of_the_whole_transfer() -> None:
    """Its gaps are the baseline of the other conditions."""
    wifi = dict.fromkeys((*range(5, 300), *range(350, 600)), 1500)
    evidence = delivered(moved(), wifi=wifi)
    stable = Handover.model_validate({"links": ["wifi", "cellular"], "kind": "none"})
    handovers = metrics.observed(stable, CHAIN, evidence)
    assert handovers is not None
    told = metrics.observations(handovers)
    values = {observation.metric: observation.value for observation in told if not observation.item}
    assert values["delivery_silence"] == pytest.approx(0.051)
    assert set(values) >= {"delivery_silence", "delivery_stall"}
    assert taken(evidence) == {}


def test_of_many_hand_overs_only_the_worst_is_reported() -> None:
    """One every ten milliseconds would fill the report."""
    many = moved(*range(10, 10 + 4 * (metrics.MAX_ITEMS + 1), 4))
    values = taken(delivered(many, wifi=dict.fromkeys(range(5, 600), 1500)))
    assert {item for _, item in values} == {""}


def test_validation_comes_from_the_clients_report() -> None:
    """The first one on the new path counts, on the emulator's clock."""
    evidence = moved(200)
    zero_ns = evidence.link["origin_ns"] + evidence.link["started_ns"]
    events = tuple(
        PathEvent(zero_ns + at * MS, kind, "10.77.1.1:5", "10.77.2.2:443", "")
        for at, kind in ((100, "validated"), (205, "probed"), (245, "validated"))
    )
    of_before = PathEvent(zero_ns + 210 * MS, "validated", "10.77.0.1:7", "10.77.2.2:443", "")
    events = (*events, of_before)
    said = replace(evidence.reports["client"], path_events=events, migrations=MigrationCounts(3, 1))
    values = taken(replace(evidence, reports={**evidence.reports, "client": said}))
    assert values["validation_delay", ""] == pytest.approx(0.045)
    assert (values["migrations", ""], values["migrations_failed", ""]) == (3, 1)


@pytest.mark.parametrize(("sizes", "again"), [((300_000,), 0), ((120_000, 300_000), 120_000)])
def test_bytes_beyond_one_copy_were_fetched_twice(sizes: tuple[int, ...], again: int) -> None:
    """The client reports the bytes of all its requests."""
    requests = [LoggedRequest("3", 200, size) for size in sizes]
    evidence = logged(*requests, part="client")(recorded_evidence(HANDED_OVER))
    assert taken(evidence)["bytes_fetched_twice", ""] == again


def test_bytes_fetched_twice_are_unknown_without_lengths() -> None:
    """The bytes are unknown for a failed client, too."""
    evidence = recorded_evidence(HANDED_OVER)
    silent = logged(LoggedRequest("3", 200, None), part="client")(evidence)
    assert ("bytes_fetched_twice", "") not in taken(silent)
    assert ("bytes_fetched_twice", "") not in taken(ended(status=1)(evidence))
