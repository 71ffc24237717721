"""A goodput above the rate that stands beside it is never printed without a note."""

from __future__ import annotations

import pytest

import reports
from campaigns import VERSIONS, campaign
from httpbed.results.findings import find

ABOVE = "goodput above"


def noted(rate: str, seconds: float) -> list[str]:
    """Return the notes on rates of a campaign in which 1 MB takes so long at a rate."""
    results = campaign(lambda *_: seconds, VERSIONS.replace('"10 Mbit/s"', rate))
    found = reports.notes(results, find(results))
    return [one for one in found if "burst" in one or "goodput of" in one or ABOVE in one]


def bucket(burst: str) -> str:
    """Write a token bucket of 10 Mbit/s."""
    return f'{{ bucket = "10 Mbit/s", burst = "{burst}" }}'


@pytest.mark.parametrize("seconds", [0.07, 2.0])
def test_a_bucket_that_holds_a_whole_transfer_is_noted_once(seconds: float) -> None:
    """Of six treatments, and also where something else was slower than the rate."""
    (note,) = noted(bucket("1.25 MB"), seconds)
    assert note == (
        "client-server from server: the bucket of 1.25 MB holds the whole transfer of 1 MB, so the"
        " rate of 10 Mbit/s never limits it; set burst to far less than 1 MB"
    )


def test_a_bucket_that_holds_much_is_noted_at_its_goodput() -> None:
    """One note names two treatments and counts the others."""
    (note,) = noted(bucket("900 kB"), 0.1)
    assert "and 4 more treatments with a goodput above the rate: goodput of 80 Mbit/s" in note
    assert note.endswith(
        "goodput of 80 Mbit/s at 10 Mbit/s, because the bucket of 900 kB passes that much of 1 MB"
        " at line speed; lower burst, or fetch more"
    )
    assert noted(bucket("900 kB"), 1.0) == []


def test_a_rate_that_varies_is_a_mean() -> None:
    """A short transfer may meet its fast part."""
    first, *_ = noted('{ cellular = { mean = "10 Mbit/s" } }', 0.5)
    assert "goodput of 16 Mbit/s at 10 Mbit/s, which is the mean of a rate that varies" in first


def test_a_goodput_within_its_rate_needs_no_note() -> None:
    """A goodput that rounds to the rate needs no note either."""
    assert noted('"10 Mbit/s"', 0.9) == []
    assert noted('"10 Mbit/s"', 0.7999) == []
