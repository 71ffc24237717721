"""Networks known by name: each has a source, and fills in what its link does not say."""

from __future__ import annotations

from typing import Any

import pytest

from httpbed.experiment import profiles
from httpbed.experiment.impairments.queue import QueueLimit
from httpbed.experiment.impairments.rate import TokenBucket
from httpbed.experiment.topology import Link

BETWEEN = {"between": ["client", "server"]}
NAMES = list(profiles.all_profiles())


def link(name: str, **said: Any) -> Link:
    """Return the link of a profile, with more said."""
    return Link.model_validate(profiles.expanded({**BETWEEN, "profile": name, **said}))


@pytest.mark.parametrize("name", NAMES)
def test_each_profile_is_a_link_with_a_source(name: str) -> None:
    """Who says so, and what was made of it where the source is silent."""
    profile = profiles.all_profiles()[name]
    assert all((profile.title, profile.source, profile.taken))
    assert any(way.rate is not None for way in link(name).directions())


def test_the_networks_of_the_papers_are_there_as_published() -> None:
    """A delay that is not called one-way is a round-trip time; both halves make it up."""
    rtts = {name: round(link(name).rtt_s() * 1e3, 6) for name in NAMES}
    biswal = {"2g-india": 334, "3g-india": 153, "3g-us": 94, "4g-us": 32, "campus-wire": 31}
    assert biswal.items() <= rtts.items()
    assert link("3g-us").loss == 0.00048
    assert link("liu2024-severe").loss == 0.04
    assert rtts["liu2024-severe"] == 100
    assert rtts["ranjan2019-2m-far"] == 215


ZHANG = [name for name in NAMES if name.startswith("zhang2023")]


@pytest.mark.parametrize("name", ZHANG)
def test_zhang_and_songs_buckets_follow_the_stated_rule(name: str) -> None:
    """On the server's egress alone; the larger of 32 KiB and what the rate fills in 4 ms."""
    up, down = link(name).directions()
    assert up.rate is None
    assert isinstance(down.rate, TokenBucket)
    assert down.rate.burst == max(32 * 1024, down.rate.bucket / 8 * 0.004)
    # tc's own: the latency's bytes and the bucket's, a whole number of them.
    limit = int(down.rate.bucket / 8 * 0.07 + down.rate.burst)
    assert down.queue.limit == QueueLimit(limit, "bytes")
    assert f"x 0.07 s + {down.rate.burst} B = {limit} B" in profiles.all_profiles()[name].taken
    assert down.counted == "ethernet"


def test_the_published_bucket_has_the_limit_that_tc_prints() -> None:
    """Of ``rate 0.5mbit burst 32kb latency 70ms``: ``tc -r qdisc show`` says 37143b."""
    assert link("zhang2023-500k").directions()[1].queue.limit == QueueLimit(37143, "bytes")


def test_all_seven_of_zhang_and_songs_rates_are_there() -> None:
    """As they list them."""
    rates = [link(name).directions()[1].mean_bit_s() for name in ZHANG]
    assert rates == [50_000, 100_000, 500_000, 10**6, 10**9, 5 * 10**9, 10**10]


def test_what_the_link_says_is_stronger_than_its_profile() -> None:
    """For one direction, or for both, even where the profile tells the directions apart."""
    up, down = link("dsl", up={"rate": "1 Mbit/s"}).directions()
    assert (up.rate, down.rate) == (10**6, 1_500_000)
    assert {way.rate for way in link("dsl", rate="9 Mbit/s").directions()} == {9 * 10**6}
    assert link("dsl", delay="1 ms").rtt_s() == 0.002
    assert link("dsl", loss="1 %").loss == 0.01


def test_filling_in_twice_changes_nothing() -> None:
    """A trial's document says the figures, and still the name."""
    once = profiles.expanded({**BETWEEN, "profile": "dsl", "up": {"delay": "1 ms"}})
    assert profiles.expanded(once) == once
    assert once["up"] == {"rate": "384 kbit/s", "delay": "1 ms"}
    assert once["profile"] == "dsl"


@pytest.mark.parametrize(
    "broken", [None, 3, [], {"profile": []}, {"profile": {}}, {"profile": "x"}]
)
def test_what_is_no_profile_is_left_for_the_model_to_tell(broken: Any) -> None:
    """Filling in happens before anything is checked."""
    assert profiles.expanded(broken) == broken
    assert profiles.expanded_topology(broken) == broken
