"""Profiles: each has a source, and fills in what its link leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from httpbed.experiment import profiles
from httpbed.experiment.impairments.queue import QueueLimit
from httpbed.experiment.impairments.rate import TokenBucket
from httpbed.experiment.topology import Link

BETWEEN = {"between": ["client", "server"]}
NAMES = list(profiles.all_profiles())


def link(name: str, **more: Any) -> Link:
    """Return a link with a profile and further keys."""
    return Link.model_validate(profiles.expanded({**BETWEEN, "profile": name, **more}))


@pytest.mark.parametrize("name", NAMES)
def test_each_profile_is_a_link_with_a_source(name: str) -> None:
    """``taken`` explains how the figures follow from the source."""
    profile = profiles.all_profiles()[name]
    assert all((profile.title, profile.source, profile.taken))
    assert any(way.rate is not None for way in link(name).directions())


def test_profiles_of_papers_have_the_published_figures() -> None:
    """A delay that is not called one-way is a round-trip time, of which each direction has half."""
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
    """Only the server's egress has a bucket: the larger of 32 KiB and 4 ms at the rate."""
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
    """For ``rate 0.5mbit burst 32kb latency 70ms``, ``tc -r qdisc show`` prints 37143b."""
    assert link("zhang2023-500k").directions()[1].queue.limit == QueueLimit(37143, "bytes")


def test_all_seven_rates_of_zhang_and_song_have_profiles() -> None:
    """The rates are those of the paper."""
    rates = [link(name).directions()[1].mean_bit_s() for name in ZHANG]
    assert rates == [50_000, 100_000, 500_000, 10**6, 10**9, 5 * 10**9, 10**10]


def test_values_of_a_link_take_precedence_over_its_profile() -> None:
    """This holds for one direction and for both, even if the profile differs by direction."""
    up, down = link("dsl", up={"rate": "1 Mbit/s"}).directions()
    assert (up.rate, down.rate) == (10**6, 1_500_000)
    assert {way.rate for way in link("dsl", rate="9 Mbit/s").directions()} == {9 * 10**6}
    assert link("dsl", delay="1 ms").rtt_s() == 0.002
    assert link("dsl", loss="1 %").loss == 0.01


def test_filling_in_a_profile_twice_changes_nothing() -> None:
    """A trial's document contains both the figures and the profile's name."""
    once = profiles.expanded({**BETWEEN, "profile": "dsl", "up": {"delay": "1 ms"}})
    assert profiles.expanded(once) == once
    assert once["up"] == {"rate": "384 kbit/s", "delay": "1 ms"}
    assert once["profile"] == "dsl"


@pytest.mark.parametrize(
    "broken", [None, 3, [], {"profile": []}, {"profile": {}}, {"profile": "x"}]
)
def test_a_malformed_profile_is_left_for_the_model_to_report(broken: Any) -> None:
    """Profiles are filled in before validation."""
    assert profiles.expanded(broken) == broken
    assert profiles.expanded_topology(broken) == broken
