"""What of a recorded wait was the server's time."""

from __future__ import annotations

import pytest

from hars import CDN, MAIN, STATS, Said, read
from httpbed.addons.pages.sites.replay import bodies, selection
from httpbed.addons.pages.sites.replay.server_times import ServerTimes, server_times

RTT_MS = 50
CONNECTED = {"timings": {"connect": 2 * RTT_MS, "ssl": RTT_MS, "wait": RTT_MS + 30}}


def times(*entries: Said) -> ServerTimes:
    requests = selection.choose(read(entries), "site.har").requests
    return server_times(requests, [bodies.body_size(request.entry) for request in requests])


def page(**more: object) -> Said:
    """Make the document, whose server took 30 ms."""
    told = {"kind": "document", "mime": "text/html", "size": 3000, "more": CONNECTED, **more}
    return Said(f"{MAIN}/", 0, **told)  # type: ignore[arg-type]


def image(
    number: int, start_ms: float, wait_ms: float, receive_ms: float = 0, **more: object
) -> Said:
    timings = {"timings": {"wait": wait_ms, "receive": receive_ms}, **more}
    return Said(f"{MAIN}/{number}.png", start_ms, size=20_000, more=timings)


def test_a_wait_alone_is_a_round_trip_and_the_servers_time() -> None:
    """The round trip is the connect time without TLS, and over QUIC the connect time."""
    quic = {"timings": {"connect": 30, "ssl": 30, "wait": 40}}
    late = Said(f"{CDN}/b", 1000, size=10, more=quic, response={"httpVersion": "h3"})
    assert times(page(), late).delays_s == pytest.approx((0.03, 0.01))


def test_the_rest_of_a_set_up_is_no_round_trip() -> None:
    """Chrome reports it of a request that got another one's connection."""
    rest = {"timings": {"dns": 0, "connect": 70, "ssl": 30, "wait": RTT_MS + 7}}
    late = Said(f"{MAIN}/b.png", 1000, size=10, more=rest)
    assert times(page(), late).delays_s == pytest.approx((0.03, 0.007))


def test_what_queued_behind_others_gets_the_shortest_time_of_its_origin() -> None:
    """Ten responses over one connection arrive one after the other."""
    images = [image(n, 300, RTT_MS + 15 + 16 * n, 3) for n in range(10)]
    found = times(page(), *images)
    assert found.delays_s[0] == pytest.approx(0.03, abs=0.005)
    assert found.delays_s[1:] == pytest.approx([0.0] * 10, abs=0.0051)
    assert found.capped >= 8


def test_an_origin_without_a_wait_longer_than_queueing_shows_no_server_time() -> None:
    """A record of 16 KiB exceeds the first window, and what follows queues behind the document."""
    times_ms = {**CONNECTED["timings"], "wait": 2 * RTT_MS + 8, "receive": 80}
    document = page(size=60_000, more={"timings": times_ms})
    behind = [image(n, 210, RTT_MS + 30 + 15 * n, 14) for n in range(8)]
    assert times(document, *behind).delays_s == (0.0,) * 9
    slow = image(9, 3000, RTT_MS + 150, 14)
    assert times(document, *behind, slow).delays_s[-1] > 0.09


def test_a_pause_for_the_congestion_window_is_queueing() -> None:
    """A first window carries ten segments, so the second response comes a round trip later."""
    paused = image(2, 300, 2 * RTT_MS + 5)
    assert times(page(), image(1, 300, RTT_MS + 5), paused).delays_s[2] == pytest.approx(0.005)
    slow = image(2, 300, 4 * RTT_MS + 10)
    assert times(page(), image(1, 300, RTT_MS + 5), slow).delays_s[2] == pytest.approx(0.16)


def small(number: int, start_ms: float, wait_ms: float, size: int) -> Said:
    """An image that arrived whole with its head, in one TLS record."""
    return Said(f"{MAIN}/{number}.png", start_ms, size=size, more={"timings": {"wait": wait_ms}})


def test_the_transmission_of_small_responses_is_no_server_time() -> None:
    """12 kB take 10 ms at 10 Mbit/s, and no body that follows its head tells the rate."""
    sizes = (12_000, 9000, 6000, 12_000)
    images = [small(n, 300 * (n + 1), RTT_MS + s / 1200, s) for n, s in enumerate(sizes)]
    slow = small(9, 3000, RTT_MS + 10 + 70, 12_000)
    assert times(page(), *images, slow).delays_s == pytest.approx((0.0275, 0, 0, 0, 0, 0.07))


def test_server_times_that_differ_give_no_rate() -> None:
    """Two records are alike, which may be chance."""
    waits = {1: 20, 2: 24, 3: 60}
    images = [small(n, 300 * n, RTT_MS + wait, 12_000) for n, wait in waits.items()]
    assert times(page(), *images).delays_s == pytest.approx((0.03, 0.02, 0.024, 0.06))


def test_another_connection_uses_up_no_window() -> None:
    """Its bytes only take time on the link, of which too few came to know it."""
    other = Said(f"{CDN}/a", 300, size=9000, more={**CONNECTED, "connection": "9"})
    alone = {"timings": {"wait": RTT_MS + 40}, "connection": "1"}
    apart = Said(f"{MAIN}/1.png", 300, size=2000, more=alone)
    assert times(page(), other, apart).delays_s[2] == pytest.approx(0.04)


def test_a_host_without_a_connect_counts_its_shortest_wait_as_the_round_trip() -> None:
    """So a static file on it is not delayed."""
    found = times(page(), Said(f"{STATS}/a", 1000, wait=70), Said(f"{STATS}/b", 2000, wait=90))
    assert found.delays_s[1:] == pytest.approx((0.0, 0.02))
    assert found.unconnected == ("stats.example.test",)


def test_a_response_without_a_wait_is_counted() -> None:
    """It is not delayed."""
    found = times(page(), image(1, 1000, -1))
    assert (found.delays_s[1], found.unknown) == (0.0, 1)
