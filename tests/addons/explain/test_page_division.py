"""The responses on a load's critical path are divided by the packets of their connections."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import computed_loads
from computed_loads import CONNECTION, scenario
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.page_division import ExplainedLoad
from httpbed.addons.explain.transfer import Transfer
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.load.critical_path import RESPONSE
from httpbed.experiment.scenario import Scenario
from window_sender import DELAY, MS, PAYLOAD, REQUEST, ROUND_TRIP, WindowSender

NS = 1_000_000_000
ZERO = 3 * MS
"""The navigation begins after the client's first packet: another one was early."""


def load(transfer: Transfer, bodies: int = 1, *, connection: str = CONNECTION) -> BrowserLoad:
    """Return a load whose documents came side by side as parts of a transfer."""
    data = transfer.content
    begin, end = (int(at) - ZERO for at in (data.arrived[~data.lost][0], data.arrived.max()))
    parts = [
        PageRequest(
            id=str(number),
            url=f"https://server/{number}.jpg",
            status=200,
            kind="Image" if number else "Document",
            connection=connection,
            wire_bytes=transfer.body_bytes // bodies,
            queued_s=0.0,
            send_start_s=(REQUEST - ZERO) / NS,
            send_end_s=(REQUEST - ZERO) / NS,
            headers_start_s=begin / NS,
            headers_end_s=begin / NS,
            ended_s=end / NS,
        )
        for number in range(bodies)
    ]
    return BrowserLoad("https://server/", "loaded", requests=tuple(parts))


def divided(
    transfer: Transfer,
    loaded: BrowserLoad | None = None,
    described: Scenario | None = None,
    *,
    known: str = CONNECTION,
) -> ExplainedLoad:
    described, loaded = described or scenario(), loaded or load(transfer)
    return computed_loads.divided({known: transfer}, loaded, described, zero=ZERO)


def response_s(one: ExplainedLoad) -> float:
    """Return the seconds of responses on the path, by the path alone."""
    return sum(step.lasts_s for step in one.path.path.steps if step.what in RESPONSE)


def costs(one: ExplainedLoad) -> Mapping[str, int]:
    return one.responses.division.costs()


SENDERS: dict[str, tuple[Callable[[], WindowSender], str]] = {
    "a stream buffer": (lambda: WindowSender(400, lambda _: 10, "quic"), "fixed window"),
    "a full link": (lambda: WindowSender(400, lambda _: 60), "link"),
    "slow start": (lambda: WindowSender(60, lambda acked: 4 + acked), "slow start"),
    "the loss of the last packet": (lambda: WindowSender(40, lambda _: 10, lost=[39]), "timeout"),
    "a server's pauses": (
        lambda: WindowSender(100, lambda _: 60, available={50: 900 * MS}), "server",
    ),
    "the receiver's window": (
        lambda: WindowSender(200, lambda _: 10, advertised=10 * PAYLOAD), "receiver's window",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SENDERS)
def test_what_a_response_waits_for_is_named(name: str) -> None:
    sender, cause = SENDERS[name]
    one = divided(sender().transfer())
    found = costs(one)
    assert max(found, key=lambda name: found[name]) == cause, found
    assert one.responses.seconds == pytest.approx(response_s(one), abs=1e-6)
    assert sum(found.values()) == one.responses.division.whole
    assert one.division.whole / NS == pytest.approx(one.path.path.whole_s, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    packets=st.integers(1, 60),
    window=st.integers(1, 40),
    lost=st.sets(st.integers(0, 60), max_size=6),
    pause=st.integers(0, 300),
    cut=st.integers(-50, 50),
)
def test_the_causes_add_up_to_the_path_whatever_the_packets_say(
    packets: int, window: int, lost: set[int], pause: int, cut: int
) -> None:
    sender = WindowSender(
        packets, lambda _: window, lost=lost, available={packets // 2: pause * MS}
    )
    transfer = sender.transfer()
    loaded = load(transfer)
    (request,) = loaded.requests
    end_s = max((request.headers_end_s or 0.0), (request.ended_s or 0.0) + cut / 1000)
    loaded = replace(loaded, requests=(replace(request, ended_s=end_s),))
    one = divided(transfer, loaded)
    assert abs(one.responses.division.whole / NS - response_s(one)) < 1e-6
    for periods in (one.division.periods, one.division.in_force):
        assert periods[0].begin == 0
        assert abs(periods[-1].end / NS - one.path.path.whole_s) < 1e-6
        assert all(a.end == b.begin for a, b in itertools.pairwise(periods))


@pytest.mark.parametrize("bodies", [1, 3])
def test_a_window_of_streams_is_named_by_the_bodies_that_share_a_connection(bodies: int) -> None:
    transfer = WindowSender(400 * bodies, lambda _: 10 * bodies, "quic").transfer()
    one = divided(transfer, load(transfer, bodies))
    assert one.held is not None
    assert str(one.held.of) == "nginx's http3_stream_buffer_size = 14k"
    assert one.held.bodies == bodies
    text = ". ".join(one.sentences())
    assert "Responses on the path took" in text
    assert "The window is nginx's http3_stream_buffer_size = 14k (sender's buffer)" in text
    values: dict[str, Any] = one.values()["responses"]
    assert values["held"]["knob"] == "http3_stream_buffer_size"
    assert sum(cause["cost_s"] for cause in values["causes"]) == pytest.approx(values["seconds"])
    assert sum(values["each"][0]["costs_s"].values()) == pytest.approx(values["seconds"])


@pytest.mark.parametrize(("buffer", "holds"), [("14k", True), ("1m", False)])
def test_bodies_that_end_before_a_plateau_are_held_if_their_window_is_known(
    buffer: str, holds: bool
) -> None:
    """Two bodies for two round trips, then one for three: no number stands for long."""
    transfer = WindowSender(70, lambda acked: 20 if acked < 40 else 10, "quic").transfer()
    loaded = load(transfer, bodies=2)
    ended = int(transfer.content.arrived[39]) - ZERO
    first = replace(loaded.requests[1], ended_s=ended / NS)
    loaded = replace(loaded, requests=(loaded.requests[0], first))
    one = divided(transfer, loaded, scenario(buffer))
    fixed, congestion = (costs(one).get(name, 0) for name in ("fixed window", "congestion window"))
    # In the third round a body has ended, and its bytes are still in flight.
    assert (fixed > 2 * congestion) if holds else not fixed
    assert fixed + congestion == (21 + 21 + 31 + 31) * MS
    knob = one.responses.division_values()["held"]
    assert (knob["knob"] if knob else None) == ("http3_stream_buffer_size" if holds else None)


def test_a_window_of_no_known_size_has_no_name() -> None:
    transfer = WindowSender(400, lambda _: 16, "quic").transfer()
    one = divided(transfer)
    assert one.held is not None
    assert one.held.of is None
    assert "No recipe names a knob of this window" in ". ".join(one.sentences())


def test_a_response_of_an_unknown_connection_is_unknown() -> None:
    transfer = WindowSender(100, lambda _: 10).transfer()
    first = load(transfer).requests[0]
    second = replace(
        first,
        id="1",
        url="https://server/1.js",
        kind="Script",
        connection="8",
        queued_s=first.ended_s,
        send_start_s=first.ended_s,
        send_end_s=first.ended_s,
        headers_start_s=(first.ended_s or 0.0) + 0.1,
        headers_end_s=(first.ended_s or 0.0) + 0.1,
        ended_s=(first.ended_s or 0.0) + 0.5,
    )
    one = divided(transfer, replace(load(transfer), requests=(first, second)))
    assert one.each[1].costs() == {"unknown": round((0.5 - ROUND_TRIP / NS) * NS)}
    assert set(one.each[0].costs()) > {"link"}


def test_a_load_whose_connections_are_not_known_is_not_divided() -> None:
    with pytest.raises(NoTransferError, match="no connection of a response"):
        divided(WindowSender(100, lambda _: 10).transfer(), known="8")


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_lost_request_waits_for_a_timer_and_not_for_the_server(is_lost: bool) -> None:
    """Packet 50 answers a request that the browser sent again, in a pause of the connection."""
    pause = 900 * MS
    transfer = WindowSender(100, lambda _: 60, available={50: pause}).transfer()
    heard = int(transfer.content.sent[50])
    first, again = heard - 500 * MS, heard - DELAY
    answers = transfer.answers
    place = int(np.searchsorted(answers.sent, first))
    last = answers.where(np.array([place - 1, place - 1]))
    asked = np.array([first, again])
    arrived = np.array([-1 if is_lost else first + DELAY, heard])
    new = replace(
        last, sent=asked, entered=asked, begun=asked, done=asked, arrived=arrived,
        payload=np.array([300, 300]),
    )  # fmt: skip
    whole = {
        name: np.insert(getattr(answers, name), [place, place], getattr(new, name))
        for name in answers.__annotations__
    }
    found = costs(divided(replace(transfer, answers=replace(answers, **whole))))
    waited = 500 * MS - DELAY
    assert found.get("timeout", 0) == (waited if is_lost else 0)
    assert found["client"] + found.get("timeout", 0) == pause - ROUND_TRIP + DELAY - 50 * MS
