"""What a hand-over costs, taken from a recorded one and from made-up deliveries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from httpbed.experiment.handover import Handover
from httpbed.programs.protocol import LoggedRequest, MigrationCounts, PathEvent
from httpbed.trial import observe
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.handover import metrics
from httpbed.trial.handover.evidence import HandoverChange, HandoverEvidence
from httpbed.trial.handover.metrics import ObservedHandovers
from planted import ended, logged
from recorded import HANDED_OVER, chains, recorded_evidence, trial

MS = 10**6
(CHAIN,) = chains(HANDED_OVER)
SCENARIO = trial(HANDED_OVER).scenario()
HOP = CHAIN.hops[0]


def taken(found: AttemptEvidence) -> dict[tuple[str, str], float]:
    """Take the metrics of hand-overs."""
    told = metrics.observations(SCENARIO.handover, CHAIN, found)
    return {(one.metric, one.item): one.value for one in told}


def test_a_recorded_migration() -> None:
    """At 40 ms of round trip: silence, validation and first delivery take about that long."""
    values = taken(recorded_evidence(HANDED_OVER))
    for metric in ("delivery_silence", "validation_delay", "new_path_delay"):
        assert 0.040 <= values[metric, ""] <= 0.050
    assert 0.0 <= values["probe_delay", ""] <= 0.005
    assert values["delivery_stall", ""] >= values["delivery_silence", ""]
    assert values["migrations", ""] == 1
    assert values["migrations_failed", ""] == 0
    assert values["bytes_fetched_twice", ""] == 0
    assert {item for _, item in values} == {""}


def test_all_metrics_are_those_of_the_trial() -> None:
    """They stand beside its others, and a connection that migrated is one connection."""
    found = recorded_evidence(HANDED_OVER)
    told = observe.observations(SCENARIO, chains(HANDED_OVER), found)
    values = {one.metric: one.value for one in told if not one.item}
    assert values["connections"] == 1
    assert len(HOP.near(found.connections)) == 2
    assert values["request_time"] == pytest.approx(0.5, abs=0.1)
    assert "delivery_silence" in values


def moved(*at_ms: int) -> AttemptEvidence:
    """Return what was seen if the client had gone to and fro at these times, for 600 ms."""
    found = recorded_evidence(HANDED_OVER)
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
    zero_ns = found.link["origin_ns"] + found.link["started_ns"]
    own = HandoverEvidence(0, 600 * MS, (), changes, {}, {}, zero_ns=zero_ns)
    failed = ended(status=56)(found)
    return replace(failed, handover=own, deliveries={}, link={**found.link, "connections": []})


def delivered(found: AttemptEvidence, **bins: dict[int, int]) -> AttemptEvidence:
    """Let so many bytes have been delivered in these milliseconds, by link."""
    return replace(found, deliveries=bins)


def test_each_hand_over_and_the_worst_are_told() -> None:
    """Each is looked for in its own time, which begins a second before it, and all tell."""
    wifi = dict.fromkeys((*range(5, 200), *range(430, 500)), 1500)
    cellular = dict.fromkeys(range(220, 400), 1500)
    values = taken(delivered(moved(200, 400), wifi=wifi, cellular=cellular))
    silences = {item: value for (name, item), value in values.items() if name == "delivery_silence"}
    assert silences == {"hand-over 1": 0.021, "hand-over 2": 0.101, "": 0.101}
    paths = {item: value for (name, item), value in values.items() if name == "new_path_delay"}
    assert paths == {"hand-over 1": 0.0205, "hand-over 2": 0.0305, "": 0.0305}


def test_the_worst_is_not_that_of_the_survivors() -> None:
    """A hand-over that never came to pass would be the slowest: without it there is no worst."""
    wifi = dict.fromkeys(range(5, 200), 1500)
    cellular = dict.fromkeys(range(220, 600), 1500)
    values = taken(delivered(moved(200, 400), wifi=wifi, cellular=cellular))
    paths = {item: value for (name, item), value in values.items() if name == "new_path_delay"}
    assert paths == {"hand-over 1": 0.0205}


def test_who_never_gets_anything_again_is_silent_until_the_end() -> None:
    """The client was ended at 600 ms; on the new path nothing came."""
    values = taken(delivered(moved(200), wifi=dict.fromkeys(range(5, 200), 1500)))
    assert values["delivery_silence", ""] == pytest.approx(0.401)
    assert ("new_path_delay", "") not in values
    assert ("probe_delay", "") not in values


def test_a_stable_address_has_its_gaps_too() -> None:
    """Over the whole transfer, so that there is something to compare with."""
    wifi = dict.fromkeys((*range(5, 300), *range(350, 600)), 1500)
    found = delivered(moved(), wifi=wifi)
    stable = Handover.model_validate({"links": ["wifi", "cellular"], "kind": "none"})
    told = metrics.observations(stable, CHAIN, found)
    values = {one.metric: one.value for one in told if not one.item}
    assert values["delivery_silence"] == pytest.approx(0.051)
    assert set(values) >= {"delivery_silence", "delivery_stall"}
    assert taken(found) == {}


def test_of_very_many_only_the_worst_is_told() -> None:
    """A change each ten milliseconds would be a book."""
    many = moved(*range(10, 10 + 4 * (metrics.MOST_ITEMS + 1), 4))
    values = taken(delivered(many, wifi=dict.fromkeys(range(5, 600), 1500)))
    assert {item for _, item in values} == {""}


def test_without_deliveries_there_is_nothing_to_measure() -> None:
    """Such as of a client that never had an answer."""
    assert ("delivery_silence", "") not in taken(moved(100))


def test_validation_is_the_clients_word() -> None:
    """The first of the new path counts, put on the emulator's clock; not one that is late."""
    found = moved(200)
    zero_ns = found.link["origin_ns"] + found.link["started_ns"]
    events = tuple(
        PathEvent(zero_ns + at * MS, kind, "10.77.1.1:5", "10.77.2.2:443", "")
        for at, kind in ((100, "validated"), (205, "probed"), (245, "validated"))
    )
    of_before = PathEvent(zero_ns + 210 * MS, "validated", "10.77.0.1:7", "10.77.2.2:443", "")
    events = (*events, of_before)
    said = replace(found.reports["client"], path_events=events, migrations=MigrationCounts(3, 1))
    values = taken(replace(found, reports={**found.reports, "client": said}))
    assert values["validation_delay", ""] == pytest.approx(0.045)
    assert (values["migrations", ""], values["migrations_failed", ""]) == (3, 1)


@pytest.mark.parametrize(("sizes", "again"), [((300_000,), 0), ((120_000, 300_000), 120_000)])
def test_what_was_fetched_twice(sizes: tuple[int, ...], again: int) -> None:
    """By the client's word: all that its tries got, less one copy."""
    requests = [LoggedRequest("3", 200, size) for size in sizes]
    found = logged(*requests, part="client")(recorded_evidence(HANDED_OVER))
    assert taken(found)["bytes_fetched_twice", ""] == again


def test_a_client_that_does_not_tell_lengths_fetched_nobody_knows_what() -> None:
    """Nor does one that failed say how much a whole copy would have taken."""
    found = recorded_evidence(HANDED_OVER)
    silent = logged(LoggedRequest("3", 200, None), part="client")(found)
    assert ("bytes_fetched_twice", "") not in taken(silent)
    assert ("bytes_fetched_twice", "") not in taken(ended(status=1)(found))


def test_an_attempt_without_hand_overs_has_no_course() -> None:
    """Whether none were planned, or its client did not run."""
    found = recorded_evidence(HANDED_OVER)
    assert metrics.observed(None, CHAIN, found) is None
    assert metrics.observed(SCENARIO.handover, CHAIN, replace(found, handover=None)) is None
    assert isinstance(metrics.observed(SCENARIO.handover, CHAIN, found), ObservedHandovers)
