"""When each request is made again."""

from __future__ import annotations

import pytest

from hars import CDN, MAIN, MIXED, STATS, Said, read
from httpbed.web.sites.replay import order, selection, sizes, skeleton
from httpbed.web.sites.replay.order import Trigger

PAGE = Said(f"{MAIN}/", 0, 100, wait=40, kind="document", mime="text/html", size=3000)


def triggers(*entries: Said) -> list[Trigger]:
    """Find what led to each of some entries."""
    return order.triggers(selection.choose(read(entries), "site.har"))


def test_an_initiator_that_had_ended_leads_by_its_end() -> None:
    """And one that still came by its head."""
    style = Said(f"{MAIN}/a.css", 60, 20, initiator=PAGE.url)
    font = Said(f"{MAIN}/f.woff", 95, 10, initiator=style.url)
    assert triggers(PAGE, style, font)[1:] == [
        Trigger(0, "head", 0.02),
        Trigger(1, "end", 0.015),
    ]


def test_without_an_initiator_it_is_what_had_ended_last() -> None:
    """Where nothing had, it is the document's head."""
    entries = (PAGE, Said(f"{MAIN}/a", 50, 30), Said(f"{MAIN}/b", 55, 20), Said(f"{MAIN}/c", 85, 5))
    assert triggers(*entries)[1:] == [
        Trigger(0, "head", 0.01),
        Trigger(0, "head", 0.015),
        Trigger(1, "end", 0.005),
    ]


def test_causes_come_before_their_effects_whatever_the_recording_says() -> None:
    """Entries at one time, of no length, that name each other."""
    alike = [
        Said(f"{MAIN}/{n}", 10, 0, wait=0, initiator=f"{MAIN}/{(n + 1) % 50}") for n in range(50)
    ]
    found = triggers(PAGE, *alike)
    assert all(
        one.after is not None and one.after < number for number, one in enumerate(found) if number
    )


def test_what_a_redirect_leads_to_comes_with_it() -> None:
    """It is asked for by the browser; what waits for it waits for the chain's end."""
    found = triggers(*MIXED)
    assert found[5] == Trigger(4, "end", 0.0)
    text = skeleton.script(selection.choose(read(MIXED), "x"), found)
    assert "/new.png" not in text
    assert text.count("/t?e=1") == 2
    assert "</" not in text


def test_round_trips_and_delays() -> None:
    """The connect's time without TLS is a round trip; less is a server's own time."""
    tcp = {"timings": {"connect": 60, "ssl": 35, "wait": 50}}
    quic = {"timings": {"connect": 30, "ssl": 30, "wait": 20}}
    entries = read([
        PAGE,
        Said(f"{CDN}/a", 1, more=tcp),
        Said(f"{CDN}/b", 2, more=quic),
        Said(f"{STATS}/c", 3, wait=70),
    ])  # fmt: skip
    asked = selection.choose(entries, "x").requests
    found = sizes.round_trips_s(asked)
    assert found == pytest.approx({"cdn.page.test": 0.025})
    assert sizes.delay_s(asked[1].entry, 0.025) == 0.025
    assert sizes.delay_s(asked[2].entry, 0.025) == 0.0
    assert sizes.delay_s(asked[3].entry, 0.0) == 0.07


def test_lengths_as_sent() -> None:
    """By the best that a recording tells."""
    told = [
        Said("https://a.test/1", size=700),
        Said("https://a.test/2", size=None, headers={"content-length": "800"}),
        Said("https://a.test/3", size=None, response={"_transferSize": 1000, "headersSize": 100}),
        Said("https://a.test/4", size=None, response={"_transferSize": 1000}),
        Said("https://a.test/5", size=None, status=204, headers={"content-length": "9"}),
        Said("https://a.test/6", size=0, response={"content": {"size": 5, "mimeType": ""}}),
    ]
    found = [sizes.body_size(one) for one in read(told).entries]
    assert [one.bytes for one in found][:3] == [700, 800, 900]
    assert 950 < found[3].bytes < 1000
    assert not found[3].is_exact
    assert [one.bytes for one in found][4:] == [0, 5]
