"""Advice: distances of conditions, groups of treatments, and the order of programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import campaigns
from campaigns import Ending
from httpbed.addons.advise import advice_words_report as advice_words
from httpbed.addons.advise import answers, conditions, question, ranking
from httpbed.addons.advise.question import AdviceConditions, PageFacts
from httpbed.addons.claims.quantity import MetricValue
from httpbed.experiment.treatment import TreatmentKey
from httpbed.results.sample import Sample, Tally

WANTED = AdviceConditions(10**7, 0.025, 0.02, 10**6)


class Planted:
    """Samples with chosen values by block."""

    def __init__(
        self, values: Mapping[Any, Sequence[float]], late: Sequence[TreatmentKey] = ()
    ) -> None:
        self._values, self._late = values, late

    def sample(self, leaf: MetricValue, treatment: TreatmentKey) -> Sample:
        """Return one treatment's sample; all values of late treatments lie beyond 600 s."""
        blocks = dict(enumerate(self._values[treatment], start=1))
        is_late = treatment in self._late
        return Sample(
            leaf.metric,
            {},
            observed={} if is_late else blocks,
            censored=dict.fromkeys(blocks, 600.0) if is_late else {},
            side=">",
            tally=Tally(len(blocks)),
        )

    def items(self, *_: Any) -> dict[int, dict[str, float]]:
        """Return no items: trials have one value here."""
        return {}


def standings(values: Mapping[Any, Sequence[float]], **late: Any) -> tuple[str, list[str]]:
    """Return the verdict on planted values, and each treatment's standing, the best first."""
    found = ranking.rank(Planted(values, **late), "request_time", list(values))
    return found.verdict, [f"{one.key[0]} {one.standing}" for one in found.treatments]


def spread(centre: float, n: int, step: float = 0.001) -> list[float]:
    """Return values around a centre, all different."""
    return [centre * (1 + step * block) for block in range(n)]


def test_the_best_is_settled_against_every_other() -> None:
    """Six blocks that agree are enough."""
    values = {("a",): spread(2.0, 6), ("b",): spread(1.0, 6), ("c",): spread(3.0, 6, 0.002)}
    assert standings(values) == ("best", ["b best", "a worse", "c worse"])


def test_a_difference_within_noise_is_not_settled() -> None:
    """One interval that includes 1 leaves the answer open; the clearly worse stays worse."""
    noisy = [0.9, 1.2, 0.95, 1.3, 0.8, 1.1, 1.05, 1.0]
    values = {("a",): spread(1.0, 8), ("b",): noisy, ("c",): spread(9.0, 8)}
    assert standings(values) == ("not settled", ["a best", "b open", "c worse"])


def test_a_difference_below_one_per_cent_is_equal() -> None:
    """Both are named as the best."""
    values = {("a",): spread(1.0, 8), ("b",): [1.001 * one for one in spread(1.0, 8)]}
    assert standings(values) == ("best", ["a best", "b equal"])


def test_few_blocks_settle_nothing() -> None:
    """Four blocks never do; six cannot separate six treatments unless one beats all."""
    assert standings({("a",): spread(1.0, 4), ("b",): spread(9.0, 4)})[0] == "not settled"
    many = {(str(n),): spread(n, 6, 0.001 * n) for n in range(1, 6)}
    assert standings(many)[0] == "best"
    found = ranking.rank(
        Planted(many | {("6",): [1.2, 0.9, 1.3, 0.8, 1.1, 1.2]}), "request_time", [*many, ("6",)]
    )
    assert found.verdict == "not settled"
    assert found.treatments[-1].ratio.reason == "6 blocks are too few for 15 comparisons"


def test_a_treatment_that_always_times_out_is_worse() -> None:
    """Its values lie beyond the limit, so its ratio is at least the limit's."""
    values = {("a",): spread(1.0, 6), ("b",): spread(1.0, 6)}
    assert standings(values, late=[("b",)]) == ("best", ["a best", "b worse"])


def test_without_values_there_is_no_order() -> None:
    """One treatment alone is not compared; none has no value."""
    assert standings({("a",): spread(1.0, 6), ("b",): []}) == (
        "not compared",
        ["a best", "b no value"],
    )
    assert standings({("a",): []}) == ("no value", ["a no value"])


def test_of_a_share_the_largest_is_the_best() -> None:
    """The metric's own direction decides."""
    source = Planted({("a",): spread(0.5, 6), ("b",): spread(0.9, 6)})
    found = ranking.rank(source, "utilisation", [("a",), ("b",)])
    assert [one.key for one in found.treatments] == [("b",), ("a",)]
    assert found.verdict == "best"
    with pytest.raises(ValueError, match="neither better when lower"):
        ranking.rank(source, "rtt", [("a",), ("b",)])


@pytest.mark.parametrize(("treatments", "blocks"), [(2, 5), (2, 10), (4, 6), (6, 9)])
def test_equal_treatments_are_rarely_called_different(treatments: int, blocks: int) -> None:
    """Of 200 campaigns without any difference, at most 8 % get a wrong verdict or standing."""
    rng = np.random.default_rng(20261122)
    wrong = 0
    for _ in range(200):
        drift = rng.normal(0, 0.2, blocks)
        values = {
            (str(one),): np.exp(drift + rng.normal(0, 0.1, blocks)).tolist()
            for one in range(treatments)
        }
        verdict, order = standings(values)
        wrong += verdict == "best" or any(one.endswith("worse") for one in order)
    assert wrong <= 16


NUMBERS = st.floats(1e6, 1e9)


@given(wanted=NUMBERS, factor=st.floats(1.01, 1e3))
def test_half_and_double_are_equally_far(wanted: float, factor: float) -> None:
    """The distance is symmetric on the scale of logarithms, and grows with the factor."""

    def at(rate: float) -> float:
        measured = AdviceConditions(round(rate), 0.025, 0.02, 10**6)
        reference = AdviceConditions(round(wanted), 0.025, 0.02, 10**6)
        return question.distance(question.differences(reference, measured))

    assert at(wanted * factor) == pytest.approx(math.log2(factor), abs=0.01)
    assert at(wanted / factor) == pytest.approx(at(wanted * factor), abs=0.01)
    assert at(wanted) == 0


@given(
    st.builds(
        AdviceConditions,
        st.integers(200, 10**11),
        st.floats(0, 60),
        st.floats(0, 1),
        st.integers(0, 10**10),
    ),
    st.builds(
        AdviceConditions,
        st.integers(200, 10**11),
        st.floats(0, 60),
        st.floats(0, 1),
        st.integers(0, 10**10),
    ),
)
def test_every_two_files_have_a_finite_distance(
    one: AdviceConditions, other: AdviceConditions
) -> None:
    """Zero delay, no loss and empty files too; the distance is a metric's: zero, symmetric."""
    there = question.distance(question.differences(one, other))
    back = question.distance(question.differences(other, one))
    assert math.isfinite(there)
    assert there == pytest.approx(back)
    assert question.distance(question.differences(one, one)) == 0


def test_pages_are_compared_by_name_then_by_weight_and_requests() -> None:
    """The same page is at distance zero, another one as far as its weight."""
    wanted = PageFacts("one", 10**6, 50)
    network = (10**7, 0.025, 0.02)

    def doublings(page: PageFacts) -> dict[str, float]:
        found = question.differences(
            AdviceConditions(*network, wanted), AdviceConditions(*network, page)
        )
        return {one.factor: one.doublings for one in found if one.doublings}

    assert doublings(PageFacts("one", 5, 5)) == {}
    assert doublings(PageFacts("two", 2 * 10**6, 50)) == {"page weight": 1.0}
    assert doublings(PageFacts("two", 0, 100))["page weight"] == math.inf


def test_conditions_group_the_treatments_of_one_network() -> None:
    """Two losses make two conditions with three HTTP versions each."""
    found = conditions.of_campaign(campaigns.campaign(lambda *_: 1.0))
    assert [one.conditions for one in found.measured] == [
        AdviceConditions(10**7, 0.025, 0.0, 10**6),
        AdviceConditions(10**7, 0.025, 0.02, 10**6),
    ]
    assert [len(one.treatments) for one in found.measured] == [3, 3]
    assert found.measured[0].beside == ("queue of 1000 packets",)
    assert not found.left_out


def test_properties_that_no_question_names_are_left_out_and_counted() -> None:
    """Such as jitter, several files or a trace; the treatments without them stay."""
    text = campaigns.VERSIONS.replace('loss = ["0 %", "2 %"]', 'jitter = ["0 ms", "5 ms"]')
    text = text.replace('loss = { factor = "loss" }', 'jitter = { factor = "jitter" }')
    found = conditions.of_campaign(campaigns.campaign(lambda *_: 1.0, text))
    assert dict(found.left_out) == {"jitter": 6}
    several = campaigns.VERSIONS.replace('size = "1 MB"', 'size = "1 MB"\nfiles = 4')
    found = conditions.of_campaign(campaigns.campaign(lambda *_: 1.0, several))
    assert dict(found.left_out) == {"several files": 6}
    assert found.measured == ()


def test_a_token_bucket_is_another_condition_than_a_constant_rate() -> None:
    """Both answer for their rate, but their treatments are not compared."""
    bucket = '{ bucket = "10 Mbit/s", burst = "32 KiB" }'
    text = campaigns.VERSIONS.replace(
        'loss = ["0 %", "2 %"]', f'rate = {{ a = "10 Mbit/s", b = {bucket} }}'
    )
    text = text.replace('loss = { factor = "loss" }\n', "")
    text = text.replace('rate = "10 Mbit/s"', 'rate = { factor = "rate" }')
    constant, burst = conditions.of_campaign(campaigns.campaign(lambda *_: 1.0, text)).measured
    assert constant.conditions == burst.conditions
    assert constant.beside == ("queue of 1000 packets",)
    assert burst.beside == ("token bucket of 32.768 kB", "queue of 1000 packets")


def test_treatments_without_a_trial_do_not_count() -> None:
    """A run of some claims, or an unfinished one, lacks treatments of its design."""
    results = campaigns.campaign(lambda levels, _: 1.0 if levels["loss"] == "0 %" else None)
    found = conditions.of_campaign(results)
    assert [one.conditions.loss for one in found.measured] == [0.0]


def advised(ends: campaigns.Ends, wanted: AdviceConditions = WANTED) -> answers.Advice:
    """Return the advice of the planted campaign."""
    results = campaigns.campaign(ends, directory=Path("planted"))
    return answers.advise([conditions.of_campaign(results)], wanted, "request_time")


SECONDS = {"1.1": 3.0, "2": 2.0, "3": 1.0}


def timed(levels: Mapping[str, str], block: int) -> float:
    """Make HTTP/3 the fastest at 2 % loss, and HTTP/1.1 without loss."""
    seconds = SECONDS[levels["http_version"]]
    return (seconds if levels["loss"] == "2 %" else 4 - seconds) * (1 + block / 1000)


def test_the_nearest_conditions_answer() -> None:
    """Conditions that differ in one factor by more than a doubling do not."""
    found = advised(timed)
    (near,) = found.near
    assert near.at.doublings == 0
    assert near.ranking.treatments[0].sample.levels["http_version"] == "3"
    (far,) = found.far
    assert [one.factor for one in far.differences if not one.is_near] == ["loss"]


def test_no_near_conditions_give_no_answer() -> None:
    """A tenfold rate is too far, and the words say so."""
    found = advised(timed, AdviceConditions(10**8, 0.025, 0.02, 10**6))
    assert found.near == ()
    words = advice_words.differences(found.far[0])
    assert words == (
        "3.3 doublings: rate 10 Mbit/s instead of 100 Mbit/s (0.1 times, too far);"
        " delay, loss and size as in the question"
    )


def test_treatments_with_equal_programs_are_told_apart_by_their_levels() -> None:
    """Every name is unique."""
    text = campaigns.VERSIONS.replace('http_version = ["1.1", "2", "3"]', 'place = ["a", "b"]')
    text = text.replace('http_version = { factor = "http_version" }', 'http_version = "2"')
    text = text.replace("[roles.server]", '[roles.server]\nhost = { factor = "place" }')
    text = text.replace('hosts = ["client", "server"]', 'hosts = ["client", "router", "a", "b"]')
    link = text[text.index("[[topology.links]]") : text.index("[roles.client]")]
    rest = link.replace('"client", "server"', '"router", "a"')
    ends = [link.replace('"server"', '"router"'), rest, rest.replace('"a"', '"b"')]
    text = text.replace(link, "".join(ends))
    found = conditions.of_campaign(campaigns.campaign(lambda *_: 1.0, text))
    names = advice_words.names(found.measured[0])
    assert len(names) == 2
    assert [name.rpartition(" [")[2] for name in names.values()] == ["a, loss 0 %]", "b, loss 0 %]"]


def test_a_best_that_often_fails_is_named_with_its_failures() -> None:
    """A time of three completed trials says nothing about the other two."""

    def ends(levels: Mapping[str, str], block: int) -> Ending | float:
        if levels["http_version"] == "3" and block > 3:
            return Ending(outcome="failed", reason="no route")
        return timed(levels, block)

    (near,) = advised(ends).near
    assert near.ranking.verdict == "not settled"
    assert near.ranking.treatments[0].sample.tally.completed == 3
    assert "a verdict needs at least 5" in near.ranking.treatments[1].ratio.reason


def test_a_proxy_is_compared_with_its_absence() -> None:
    """The path has equal sums, because the proxy's host is a router without it."""
    text = campaigns.VERSIONS.replace('loss = ["0 %", "2 %"]', PROXIES)
    text = text.replace('loss = { factor = "loss" }\n', "")
    text = text.replace(
        "[roles.client]", '[roles]\nproxies = { factor = "proxies" }\n[roles.client]'
    )
    text = text.replace('hosts = ["client", "server"]', 'hosts = ["client", "proxy", "server"]')
    text = text.replace(
        'between = ["client", "server"]',
        'between = ["client", "proxy"]\n[[topology.links]]\nbetween = ["proxy", "server"]',
    )
    found = conditions.of_campaign(
        campaigns.campaign(lambda levels, _: 1.0 + (levels["proxies"] == "none"), text)
    )
    (together,) = found.measured
    assert together.conditions == AdviceConditions(10**7, 0.025, 0.0, 10**6)
    assert len(together.treatments) == 6
    names = advice_words.names(together)
    assert names["1.1", "none"] == "HTTP/1.1, cubic, no proxy (curl from nginx)"
    assert names["1.1", "envoy"] == "HTTP/1.1, cubic, by envoy (curl from nginx)"
    advice = answers.advise([found], together.conditions, "request_time")
    best = [one for one in advice.near[0].ranking.treatments if one.standing != "worse"]
    assert {one.sample.levels["proxies"] for one in best} == {"envoy"}


PROXIES = 'proxies = { none = [], envoy = [{ implementation = "envoy" }] }'
PAGE = """[workload]
kind = "page"
page = { objects = 4, size = "10 kB" }
"""


def test_a_page_is_measured_by_its_name_and_weight() -> None:
    """A synthetic page is named by its images."""
    text = campaigns.VERSIONS[: campaigns.VERSIONS.index("[workload]")] + PAGE
    text = text.replace('"curl"', '"chromium"')
    found = conditions.of_campaign(campaigns.campaign(lambda *_: 1.0, text))
    page = found.measured[0].conditions.fetched
    assert page == PageFacts("4 images of 10 kB", 4 * 10_100, 5)
    assert not question.is_comparable(WANTED, found.measured[0].conditions)
