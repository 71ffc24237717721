"""From tables to findings: which trials count, where, and against what."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

import reports
from campaigns import VERSIONS, Ending, Ends, campaign, timed
from httpbed.base.errors import ConfigError
from httpbed.experiment.document import scenario_document
from httpbed.results.findings import Findings, Row, find
from httpbed.results.sample import Bounded, samples
from httpbed.store.results import Results

TIMES = {"1.1": 1.1, "2": 1.0, "3": 0.8}


def steady(levels: Mapping[str, str], block: int) -> float:
    """Give each version its time, a little longer in each block, doubled by loss."""
    factor = 1 if levels["loss"] == "0 %" else 2
    return TIMES[levels["http_version"]] * factor * (1 + block / 100)


def row(findings: Findings, **levels: str) -> Row:
    return next(row for _, row in findings.rows() if dict(row.levels) == levels)


def test_conditions_are_the_levels_of_the_topology() -> None:
    """The HTTP version is no part of the network."""
    found = find(campaign(steady))
    assert (found.network, found.others) == (("loss",), ("http_version",))
    assert [dict(condition.levels) for condition in found.conditions] == [
        {"loss": "0 %"},
        {"loss": "2 %"},
    ]
    assert found.base == {"http_version": "2"}


def test_conditions_keep_the_order_of_their_levels() -> None:
    """The first treatment lacks the first level, which comes first nevertheless."""
    excluded = '\n[[exclude]]\nlevels = { http_version = ["1.1"], loss = ["0 %"] }\nreason = "no"\n'
    found = find(campaign(steady, VERSIONS + excluded))
    assert [dict(condition.levels) for condition in found.conditions] == [
        {"loss": "0 %"},
        {"loss": "2 %"},
    ]


def test_ratios_stay_within_a_condition() -> None:
    """HTTP/3 at 2 % loss is compared with HTTP/2 at 2 % loss."""
    ratio = row(find(campaign(steady)), http_version="3", loss="2 %").ratio
    assert ratio is not None
    assert ratio.value.value == pytest.approx(0.8)


def test_the_experiment_names_the_base() -> None:
    """Unless the caller does."""
    results = campaign(steady, VERSIONS + '\n[report]\nbase = { http_version = "1.1" }\n')
    assert row(find(results), http_version="1.1", loss="0 %").is_base
    assert row(find(results, base={"http_version": "3"}), http_version="3", loss="0 %").is_base


def test_a_base_may_be_a_condition() -> None:
    """Then each version is compared with itself without loss."""
    found = find(campaign(steady), base={"loss": "0 %"})
    ratio = row(found, http_version="3", loss="2 %").ratio
    assert ratio is not None
    assert ratio.value.value == pytest.approx(2)


def test_without_http_2_the_first_treatment_is_the_base() -> None:
    """Something must be."""
    text = VERSIONS.replace('"1.1", "2", "3"', '"3", "1.1"')
    assert find(campaign(steady, text)).base == {"http_version": "3"}


def test_failed_trials_are_counted_and_not_averaged() -> None:
    """Even when the emulator saw a time."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if block == 1:
            return Ending({"request_time": 99.0}, "failed", "body as served: too short")
        return timed(steady(levels, block))

    found = row(find(campaign(ends)), http_version="2", loss="0 %")
    assert (found.sample.n, found.tally.completed, found.tally.recorded) == (4, 4, 5)
    assert found.tally.reasons["failed", "body as served: too short"] == 1
    assert found.estimate is not None
    assert found.estimate.median.value < 2


def test_timed_out_trials_rank_as_longer_than_the_limit() -> None:
    """Their goodput ranks below the body's size divided by the limit."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if block > 2:
            return Ending({"request_time": 600.1, "goodput": 1.0}, "timed out", "still busy")
        return timed(steady(levels, block))

    found = row(find(campaign(ends)), http_version="2", loss="0 %")
    assert found.estimate is not None
    assert found.estimate.median == Bounded(600.0, ">")
    assert found.goodput == Bounded(8e6 / 600, "<")


def loads(ends: Ends) -> Results:
    """Make a campaign of loads of 8 images of 10 kB."""
    head, _ = VERSIONS.split("[workload]")
    page = 'kind = "page"\npage = { objects = 8, size = "10 kB" }\n'
    head = head.replace('implementation = "curl"', 'implementation = "chromium-headless-shell"')
    return campaign(ends, f"{head}[workload]\n{page}")


@pytest.mark.parametrize(
    ("metric", "median"),
    [
        ("page_load_time", Bounded(600.0, ">")),
        ("network_page_load_time", Bounded(600.0, ">")),
        ("onload_time", Bounded(600.0, ">")),
        ("first_contentful_paint", Bounded(600.0, ">")),
        ("page_throughput", Bounded((80_000 + 633 + 9 * 1000) / 600, "<")),
        ("speed_index", None),
        ("largest_contentful_paint", None),
        ("page_bytes", None),
        ("browser_cpu", None),
    ],
)
def test_on_which_side_a_load_that_timed_out_lies(metric: str, median: Bounded | None) -> None:
    """Of what only the end tells it is left out, and counted; throughput is in byte/s."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        del levels
        return Ending({metric: 1e6}) if block <= 2 else Ending({}, "timed out", "still busy")

    results = loads(ends)
    found = row(find(results, metric), http_version="2", loss="0 %")
    assert found.estimate is not None
    assert found.tally.outcomes["timed out"] == 3
    if median is None:
        assert (found.sample.n, found.estimate.median) == (2, Bounded(1e6))
        assert any("left out" in note for note in reports.notes(results, find(results, metric)))
    else:
        assert found.sample.n == 5
        assert found.estimate.median.beyond == median.beyond
        assert found.estimate.median.value == pytest.approx(median.value, rel=0.01)


def test_a_load_event_before_the_time_out_counts() -> None:
    """It came when it came, though the page went on asking."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        del levels
        return Ending({"onload_time": float(block)}, "timed out" if block > 2 else "completed")

    found = row(find(loads(ends), "onload_time"), http_version="2", loss="0 %")
    assert found.estimate is not None
    assert found.estimate.median == Bounded(3.0)


@pytest.mark.parametrize(
    ("metric", "n"),
    [
        ("rtt", 5),
        ("handshake_time", 5),
        ("time_to_first_byte", 5),
        ("client_connect_time", 5),
        ("client_handshake_time", 5),
        ("wire_overhead", 2),
        ("retransmitted_share", 2),
        ("utilisation", 2),
        ("queue_delay_p50", 2),
    ],
)
def test_a_transfer_cut_off_has_no_figure_of_the_whole(metric: str, n: int) -> None:
    """Half a body has half the overhead, which says nothing."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        del levels
        late = block > 2
        return Ending({metric: 0.01 if late else 0.04}, "timed out" if late else "completed")

    found = row(find(campaign(ends), metric), http_version="2", loss="0 %")
    assert (found.sample.n, len(found.sample.censored)) == (n, 0)
    assert found.estimate is not None
    assert found.estimate.median == Bounded(0.01 if n == 5 else 0.04)


def test_only_the_last_attempt_counts() -> None:
    """An invalid attempt is listed, and its figures are nowhere."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        spoilt = ("emulator lateness",) if block == 2 and levels["loss"] == "0 %" else ()
        return Ending({"request_time": steady(levels, block)}, invalid_first=spoilt)

    found = find(campaign(ends))
    assert row(found, http_version="2", loss="0 %").sample.n == 5
    assert [(attempt.block, attempt.attempt, attempt.retried) for attempt in found.invalid] == [
        (2, 1, True)
    ] * 3
    assert found.tally.outcomes["invalid"] == 0
    assert {check.passed for check in found.checks} == {30}


def test_trials_without_a_valid_attempt_are_counted_apart() -> None:
    """They are no outcome of the subject."""

    def ends(levels: Mapping[str, str], block: int) -> Ending:
        if block == 1:
            return Ending({}, "invalid", "emulator lateness", invalid_first=["x", "y"])
        return timed(steady(levels, block))

    found = find(campaign(ends))
    assert (found.tally.outcomes["invalid"], found.tally.recorded) == (6, 24)
    assert sum(not attempt.retried for attempt in found.invalid) == 6


def test_a_campaign_under_way_has_findings() -> None:
    """What was not run yet is missing, not failed."""
    found = find(campaign(lambda levels, block: steady(levels, block) if block < 3 else None))
    assert (found.tally.planned, sum(found.tally.outcomes.values())) == (30, 12)
    assert row(found, http_version="3", loss="0 %").sample.n == 2
    assert find(campaign(lambda *_: None)).tally.completed == 0


def test_an_experiment_without_factors_has_one_treatment() -> None:
    """There is no comparison."""
    text = VERSIONS.replace('{ factor = "loss" }', '"0 %"').replace(
        '{ factor = "http_version" }', '"2"'
    )
    cut = text[: text.index("[factors]")] + text[text.index("[topology]") :]
    results = campaign(lambda _levels, block: 1.0 + block, cut)
    (only,) = samples(results, "request_time").values()
    assert only.n == 5
    assert [row.is_base for _, row in find(results).rows()] == [True]


def test_unknown_metric_and_base_are_refused_together() -> None:
    """All mistakes at once, each with what is known."""
    with pytest.raises(ConfigError) as caught:
        find(campaign(steady), "speed", {"http": "2", "loss": "3 %"})
    text = str(caught.value)
    assert "unknown metric 'speed'" in text
    assert "unknown factor 'http'; known: http_version, loss" in text
    assert "'3 %' is not a level of loss; known: 0 %, 2 %" in text


def test_of_many_figures_the_one_that_measured_most_is_shown() -> None:
    """Few figures are all shown, also those that measure nothing."""
    lateness, losses, protocol = find(campaign(steady)).checks
    assert (lateness.figure, lateness.measured, lateness.unit) == ("p99 85 us", 85e-6, "s")
    assert (losses.figure, losses.measured) == ("12 of 731 packets", 12)
    assert (protocol.figure, protocol.measured) == ("HTTP/1.1; HTTP/2; HTTP/3", None)


def test_the_ceiling_of_a_trace_is_what_the_trials_know_of_it() -> None:
    """The experiment only names the file; the trials' documents have its mean rate."""
    text = VERSIONS.replace('rate = "10 Mbit/s"', 'rate = { trace = "cell.trace" }')
    assert {row.ceiling_bit_s for _, row in find(campaign(steady, text)).rows()} == {None}
    experiment = tomllib.loads(text)
    documents: dict[tuple[str, ...], dict[str, Any]] = {}
    for http_version, loss in itertools.product(*experiment["factors"].values()):
        levels = {"http_version": http_version, "loss": loss}
        document = scenario_document(experiment, levels)
        document["topology"]["links"][0]["rate"]["mean"] = "6016000 bit/s"
        documents[http_version, loss] = document
    found = find(campaign(steady, text, scenarios=documents))
    assert {row.ceiling_bit_s for _, row in found.rows()} == {6_016_000}


@pytest.mark.parametrize(
    ("change", "ceiling", "changes"),
    [
        ('schedule = [{ at = "1 s", rate = "2 Mbit/s" }]', 10_000_000, True),
        ('schedule = [{ at = "1 s", rate = "50 Mbit/s" }]', 50_000_000, True),
        ('schedule = [{ at = "1 s", rate = "50 Mbit/s", direction = "up" }]', 10_000_000, False),
        ('schedule = [{ at = "1 s", loss = "1 %" }]', 10_000_000, False),
    ],
)
def test_the_ceiling_of_a_link_that_changes_is_its_highest_rate(
    change: str, ceiling: int, changes: bool
) -> None:
    """Towards the client, by turns; a goodput above its ceiling would be absurd."""
    text = VERSIONS.replace('delay = "25 ms"', f'delay = "25 ms"\n{change}')
    first = row(find(campaign(steady, text)), http_version="2", loss="0 %")
    assert (first.ceiling_bit_s, first.ceiling_changes) == (ceiling, changes)
