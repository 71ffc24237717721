"""Throughput, round trips, bytes in flight and queue: from the emulator's timelines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import recorded_series
from campaigns import VERSIONS, campaign
from handover_campaigns import TrialCourse, handover_campaign
from httpbed.addons.timeline import time_series
from httpbed.addons.timeline.time_series import TimeSeries
from httpbed.experiment.kept import LINK_RESULT
from httpbed.results import attempts
from httpbed.store.results import Results
from recorded_series import one_link, result, steady


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Make a campaign over one link, without artifacts yet."""
    return campaign(lambda _levels, block: 1 + block / 100, directory=tmp_path)


def read(results: Results, text: str) -> TimeSeries | None:
    """Read the first trial of a campaign whose trials left this result."""
    recorded_series.keep(results, text)
    return time_series.read(results, attempts.valid(results)[0])


def known(results: Results, text: str) -> TimeSeries:
    """Read a trial that has a record."""
    found = read(results, text)
    assert found is not None
    return found


def test_each_quantity_is_that_of_its_bin(results: Results) -> None:
    """10 kB in 8 ms are 10 Mbit/s; the clock of the request time begins 5 ms later."""
    found = known(results, one_link())
    assert found.throughput_bit_s.values[:5].tolist() == pytest.approx([1e7, 1e7, 1e7, 5e6, 1e7])
    assert found.throughput_bit_s.times_s[:2].tolist() == pytest.approx([-0.001, 0.007])
    assert found.rtt_s.median == pytest.approx(0.05)
    assert np.isnan(found.rtt_s.values[:5]).all()
    assert found.queue_s.largest == pytest.approx(0.002)
    assert found.drops_s.tolist() == pytest.approx([0.023])


def test_bytes_are_in_flight_until_they_are_answered(results: Results) -> None:
    """The curve has the value at the end of each bin."""
    found = known(results, one_link()).in_flight_bytes
    assert found.values.tolist() == [10e3, 20e3, 30e3, 40e3, *[50e3] * 16]
    assert found.times_s[0] == pytest.approx(0.003)


def test_a_long_trial_has_few_bins_of_throughput_and_loses_no_byte(results: Results) -> None:
    """The last bin may be longer than the record."""
    found = known(results, one_link(bins=250)).throughput_bit_s
    width = float(found.times_s[1] - found.times_s[0])
    assert found.values.size <= time_series.MAX_THROUGHPUT_BINS
    assert (found.values * width / 8).sum() == pytest.approx(250 * 10_000 - 5000)


def test_a_client_with_two_links_receives_over_both(tmp_path: Path) -> None:
    """Their bins may differ in length, and a bin has the mean over the bytes of both."""
    course = handover_campaign(lambda *_: TrialCourse(), tmp_path)
    fine, coarse = steady(bins=40, bin_ns=4_000_000), steady(bins=20)
    fine["rtt_us"] = [40_000] * 20 + [None] * 20
    found = known(course, result([None, fine, None, coarse, None, None]))
    total = (40 + 20) * 10_000 - 2 * 5000
    assert (found.throughput_bit_s.values * 0.008 / 8).sum() == pytest.approx(total)
    assert found.rtt_s.values[4:11].tolist() == pytest.approx([0.04] + [0.13 / 3] * 5 + [0.05])
    assert found.in_flight_bytes.values.size == 0
    assert found.drops_s.size == 2


def test_the_delays_before_the_narrowest_link_belong_to_the_round_trip(tmp_path: Path) -> None:
    """It is seen at that link, and the sender is farther away."""
    link = '[[topology.links]]\nbetween = ["client", "server"]'
    far = '[[topology.links]]\nbetween = ["router", "server"]\ndelay = "15 ms"\n\n'
    text = VERSIONS.replace(link, far + link.replace("server", "router"))
    text = text.replace('hosts = ["client", "server"]', 'hosts = ["client", "router", "server"]')
    two = campaign(lambda _levels, block: 1 + block / 100, text, tmp_path)
    assert known(two, result([None, None, None, steady()])).rtt_s.median == pytest.approx(0.08)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        "[]",
        result([]),
        result([steady(), None]),
        json.dumps({"directions": [{"timeline": 1}]}),
        one_link().replace('"rtt_us"', '"rtt"'),
        one_link().replace("[null, 2000", '["soon", 2000'),
        one_link().replace("[null, 2000", "[2000"),
    ],
)
def test_a_trial_without_a_record_has_no_series(results: Results, text: str) -> None:
    """Of an earlier version, of a link that the kernel carries, or not what the emulator writes."""
    assert read(results, text) is None


def test_a_long_pause_interrupts_a_line(results: Results) -> None:
    """A short one does not: between flights of packets there are bins without any."""
    values = [*range(5), *[None] * 3, *range(5), *[None] * 20, *range(5)]
    answered = [10_000] * len(values)
    series = {**steady(bins=len(values)), "rtt_us": values, "answered_bytes": answered}
    joined = known(results, result([None, series])).rtt_s.joined()
    assert joined.values.size == 16
    assert np.flatnonzero(np.isnan(joined.values)).tolist() == [10]


def test_an_empty_record_has_no_series(results: Results) -> None:
    """Nothing crossed a link: the client sent nothing, or every packet was lost."""
    assert read(results, one_link(bins=0)) is None


def test_a_link_in_place_of_the_result_is_not_followed(results: Results, tmp_path: Path) -> None:
    """As with any other artifact."""
    recorded_series.keep(results, one_link())
    row = attempts.valid(results)[0]
    file = recorded_series.artifacts_of(results, row) / LINK_RESULT
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert time_series.read(results, row) is None
