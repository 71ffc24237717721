"""The responses on a load's critical path are divided by the packets of their connections."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
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
from httpbed.addons.explain.transfer import Protocol, Sent, Transfer
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


PAUSE = 900 * MS
PAUSED = WindowSender(100, lambda _: 60, available={50: PAUSE}).transfer()
HEARD = int(PAUSED.content.sent[50])
"""When the server hears the request that packet 50 answers, after a pause of the connection."""
ASKED = HEARD - DELAY


def asked_by(
    requests: Collection[tuple[int, int]],
    acknowledged: Collection[int] = (),
    *,
    protocol: Protocol = "tcp",
    payload: int = 300,
) -> Transfer:
    """Return the transfer with requests in its pause.

    Args:
        requests: When each left the browser, and when it reached the server; -1: it was lost.
        acknowledged: When the server sent acknowledgements alone.
        protocol: The transport protocol.
        payload: Of each request.
    """
    answers = _with(PAUSED.answers, [(*one, payload) for one in requests])
    data = _with(PAUSED.data, [(at, at + DELAY, 0) for at in acknowledged])
    return replace(PAUSED, answers=answers, data=data, protocol=protocol)


def _with(packets: Sent, added: Collection[tuple[int, int, int]]) -> Sent:
    """Return packets with others that left in the pause, each with its arrival and payload."""
    place = int(np.searchsorted(packets.sent, HEARD - PAUSE // 2))
    sent, arrived, payload = np.array([*added], dtype=np.int64).reshape(-1, 3).T
    last = packets.where(np.full(len(sent), place - 1))
    new = replace(
        last, sent=sent, entered=sent, begun=sent, done=sent, arrived=arrived, payload=payload,
    )  # fmt: skip
    columns = {
        name: np.insert(getattr(packets, name), np.full(len(sent), place), getattr(new, name))
        for name in packets.__annotations__
    }
    return type(packets)(**columns)


@pytest.mark.parametrize(("protocol", "payload"), [("tcp", 300), ("quic", 90)])
@pytest.mark.parametrize(
    ("arrives", "acknowledged", "cause"),
    [(HEARD - PAUSE // 3, [], ""), (-1, [], "timeout"), (-1, [ASKED - DELAY], "recovery")],
)
def test_a_request_is_sent_again_after_a_timer_or_an_acknowledgement(
    arrives: int, acknowledged: list[int], cause: str, protocol: Protocol, payload: int
) -> None:
    """It costs a timeout or a recovery, and not the server's time. Chromium's have 90 B in QUIC."""
    first = HEARD - PAUSE // 3 - DELAY
    requests = [(first, arrives), (ASKED, HEARD)]
    found = costs(divided(asked_by(requests, acknowledged, protocol=protocol, payload=payload)))
    waits = {name: found.get(name, 0) for name in ("timeout", "recovery")}
    assert waits == {"timeout": 0, "recovery": 0} | ({cause: ASKED - first} if cause else {})
    assert found["client"] + sum(waits.values()) == PAUSE - 50 * MS
    assert "server" not in found


@pytest.mark.parametrize(
    ("protocol", "in_flight", "cost"),
    [
        ("tcp", 9, 0),
        ("tcp", 10, ROUND_TRIP),
        ("tcp", 20, ROUND_TRIP),
        ("quic", 39, 0),
        ("quic", 40, ROUND_TRIP),
    ],
)
def test_a_request_waits_for_the_clients_congestion_window(
    protocol: Protocol, in_flight: int, cost: int
) -> None:
    """The initial window has ten packets, however small, or 12 kB of QUIC."""
    first = ASKED - ROUND_TRIP
    requests = [*[(first, first + DELAY)] * in_flight, (ASKED, HEARD)]
    found = costs(divided(asked_by(requests, [first + DELAY], protocol=protocol)))
    assert found.get("client's congestion window", 0) == cost
    assert found["client"] + cost == PAUSE - 50 * MS


def test_a_request_that_waits_in_a_queue_on_its_way_is_no_wait_for_the_client() -> None:
    """A slow uplink carries other requests first."""
    queued = 100 * MS
    at_once, late = (costs(divided(asked_by([(ASKED - by, HEARD)]))) for by in (0, queued))
    assert at_once["client"] - late["client"] == queued
    assert late["path"] - at_once["path"] == queued


def test_a_request_that_was_lost_is_found_beside_another_of_the_same_moment() -> None:
    """Virtual time gives packets that a host sends at once the same time."""
    first = ASKED - ROUND_TRIP
    requests = [(first, -1), (ASKED, HEARD), (ASKED, HEARD)]
    transfer = asked_by(requests, [ASKED - DELAY])
    answers = transfer.answers
    numbers = np.zeros_like(answers.first)
    (lost,), (_, again) = (np.flatnonzero(answers.sent == at) for at in (first, ASKED))
    numbers[[lost, again]] = 1000
    found = costs(divided(replace(transfer, answers=replace(answers, first=numbers))))
    assert found["recovery"] == ROUND_TRIP
