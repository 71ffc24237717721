from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpbed.addons.explain.division import divide
from httpbed.addons.explain.periods import Division
from httpbed.addons.explain.receiver import Receiver
from httpbed.addons.explain.transfer import Protocol, Sent, Transfer
from window_sender import (
    DELAY,
    MS,
    PAYLOAD,
    REQUEST,
    ROUND_TRIP,
    TRANSMISSION,
    WindowSender,
    as_upload,
)

PROTOCOLS: tuple[Protocol, ...] = ("tcp", "quic")


def require_whole(found: Division, ended: int) -> None:
    for periods in (found.periods, found.in_force):
        assert periods[0].begin == 0
        assert periods[-1].end == ended
        assert all(before.end == after.begin for before, after in pairwise(periods))
        assert all(period.lasts > 0 for period in periods)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_window_below_the_pipe_costs_what_the_link_is_idle(protocol: Protocol) -> None:
    window, packets = 10, 400
    transfer = WindowSender(packets, lambda _: window, protocol).transfer()
    found = divide(transfer)
    require_whole(found, transfer.ended)
    rounds = packets // window - 1
    idle = ROUND_TRIP + TRANSMISSION - window * TRANSMISSION
    assert found.costs()["fixed window"] == pytest.approx(rounds * idle, rel=0.03)
    assert found.costs()["link"] == packets * TRANSMISSION
    assert found.rounds is not None
    (plateau,) = found.rounds.plateaus
    assert plateau.payload == window * PAYLOAD
    # All of the time between first and last packet, and not only what the window costs.
    assert found.forces()["fixed window"] > 0.9 * (found.whole - 3 * ROUND_TRIP)


def test_a_window_that_stands_in_steps_of_two_packets_is_fixed() -> None:
    """So does one at a receiver that acknowledges every second packet."""
    transfer = WindowSender(600, lambda acked: 10 + 2 * (acked // 30 % 2)).transfer()
    found = divide(transfer)
    assert found.forces()["fixed window"] > 0.9 * (found.whole - 3 * ROUND_TRIP)
    assert found.rounds is not None
    (plateau,) = found.rounds.plateaus
    assert 10 * PAYLOAD <= plateau.payload <= 12 * PAYLOAD


@pytest.mark.parametrize(("before", "is_fixed"), [(20, False), (10, True)])
def test_a_window_after_a_loss_is_fixed_only_if_none_exceeded_it(
    before: int, is_fixed: bool
) -> None:
    """CUBIC after a loss stands for as long as a fixed window does, below what it has had."""
    transfer = WindowSender(300, lambda acked: before if acked < 60 else 10, lost=[50]).transfer()
    found = divide(transfer).costs()
    assert (found.get("fixed window", 0) > found.get("congestion window", 0)) == is_fixed


def test_an_advertised_window_is_the_receivers_and_is_seen() -> None:
    transfer = WindowSender(400, lambda _: 10, advertised=10 * PAYLOAD).transfer()
    found = divide(transfer)
    assert "fixed window" not in found.costs()
    assert found.seen("receiver's window") == found.costs()["receiver's window"] > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_window_that_grows_with_each_acknowledgement_is_slow_start(protocol: Protocol) -> None:
    transfer = WindowSender(120, lambda acked: 10 + acked, protocol).transfer()
    found = divide(transfer)
    require_whole(found, transfer.ended)
    # Ten packets are under way in the first round, twenty in the second, and then all of the pipe.
    assert found.costs()["slow start"] == pytest.approx(2 * ROUND_TRIP - 28 * TRANSMISSION, abs=MS)
    assert set(found.costs()) <= {"set-up", "path", "server", "client", "slow start", "link"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_full_link_is_the_links(protocol: Protocol) -> None:
    found = divide(WindowSender(500, lambda _: 100, protocol).transfer())
    assert found.costs()["link"] == 500 * TRANSMISSION
    assert found.forces()["link"] == 500 * TRANSMISSION


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pause_with_nothing_in_flight_is_the_servers(protocol: Protocol) -> None:
    pause = 700 * MS
    transfer = WindowSender(60, lambda _: 100, protocol, available={30: pause}).transfer()
    found = divide(transfer)
    require_whole(found, transfer.ended)
    assert found.costs()["server"] == pause - 30 * TRANSMISSION
    assert found.seen("server") == found.costs()["server"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_slow_answer_is_the_servers(protocol: Protocol) -> None:
    think = 300 * MS
    transfer = WindowSender(60, lambda _: 100, protocol, available={0: think}).transfer()
    assert divide(transfer).costs()["server"] == think


def test_the_way_of_an_answer_of_one_small_packet_is_the_paths() -> None:
    pause = 30 * MS
    transfer = WindowSender(1, lambda _: 1, available={0: pause}).transfer()
    payload = transfer.data.payload.copy()
    payload[1], payload[-1] = PAYLOAD, 60  # a certificate in the handshake, and the answer
    costs = divide(replace(transfer, data=replace(transfer.data, payload=payload))).costs()
    assert costs["server"] == pause
    assert costs["path"] == ROUND_TRIP + TRANSMISSION
    assert costs["client"] == transfer.ended - transfer.data.arrived[-1]


def small(*packets: tuple[int, int, int]) -> Sent:
    """Return packets that take one way, or are lost: when each is sent, its first byte, its end."""
    sent, first, end = np.array([(abs(at), first, end) for at, first, end in packets]).T
    arrived = np.where([at >= 0 for at, _, _ in packets], sent + DELAY, -1)
    none = np.zeros_like(sent)
    return Sent(sent, sent, sent, sent, arrived, end - first, first, none, none, end)


def exchanged(answers: Sent, requests: Sent) -> Counter[str]:
    """Return the costs of small answers, of which a certificate is the only large packet."""
    template = WindowSender(1, lambda _: 1).transfer()
    certificate = small((ROUND_TRIP + DELAY, 1, 1 + PAYLOAD))
    pairs = zip(columns(certificate), columns(answers), strict=True)
    data = Sent(*(np.concatenate(pair) for pair in pairs))
    ended = int(data.arrived.max()) + MS
    transfer = replace(template, data=data, answers=requests, ended=ended, request=REQUEST)
    division = divide(transfer)
    assert division.whole == ended
    return division.costs()


def columns(flow: Sent) -> list[np.ndarray]:
    return [getattr(flow, name) for name in Sent.__annotations__]


def test_each_of_several_small_answers_is_the_way_there_and_back() -> None:
    """HTTP/1.1 asks for one file after the other, and the server answers each after 3 ms."""
    turns = [REQUEST + index * (ROUND_TRIP + 5 * MS) for index in range(4)]
    requests = small(*((at, 100 * n, 100 * n + 100) for n, at in enumerate(turns)))
    heard = [at + DELAY + 3 * MS for at in turns]
    answers = small(*((at, 2000 + 300 * n, 2300 + 300 * n) for n, at in enumerate(heard)))
    costs = exchanged(answers, requests)
    assert costs["path"] == 4 * ROUND_TRIP
    assert costs["server"] == 4 * 3 * MS
    assert costs["client"] == 3 * 2 * MS + MS


def test_a_small_answer_that_is_lost_costs_the_timer_and_not_the_server() -> None:
    heard, again = REQUEST + DELAY, REQUEST + DELAY + 200 * MS
    answers = small((-heard - 3 * MS, 2000, 2300), (again, 2000, 2300))
    costs = exchanged(answers, small((REQUEST, 1, 101)))
    assert costs["server"] == 3 * MS
    assert costs["timeout"] == again - heard - 3 * MS
    assert costs["path"] == ROUND_TRIP


def test_a_small_request_that_is_lost_costs_the_timer() -> None:
    again = REQUEST + 200 * MS
    heard = again + DELAY
    requests = small((REQUEST, 1, 81), (-REQUEST, 81, 181), (again, 81, 181))
    costs = exchanged(small((heard, 2000, 2300)), requests)
    assert costs["timeout"] == 200 * MS - DELAY
    assert costs["path"] == ROUND_TRIP + DELAY
    assert costs["client"] == MS
    assert not costs["server"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_lost_tail_costs_the_timer(protocol: Protocol) -> None:
    transfer = WindowSender(30, lambda _: 100, protocol, lost={29}).transfer()
    found = divide(transfer)
    require_whole(found, transfer.ended)
    assert found.costs()["timeout"] == 300 * MS - 29 * TRANSMISSION
    assert found.seen("timeout") == found.costs()["timeout"]


def test_late_acknowledgements_are_apart_from_the_window_that_they_fill() -> None:
    late = 15 * MS
    usual = divide(WindowSender(400, lambda _: 10).transfer())
    found = divide(WindowSender(400, lambda _: 10, ack_delay=late).transfer())
    rounds = 400 // 10 - 1
    # Packets follow each other within the delay, so that only the first of a window waits for all.
    assert found.costs()["late acknowledgements"] >= 0.05 * rounds * late
    assert found.whole > usual.whole


def test_acknowledgements_that_queue_on_their_way_are_late() -> None:
    late = 15 * MS
    held = WindowSender(400, lambda _: 10, ack_delay=late).transfer()
    answers = held.answers
    earlier = np.where(answers.acknowledged > 0, answers.sent - late, answers.sent)
    queued = replace(held, answers=replace(answers, sent=earlier))
    rounds = 400 // 10 - 1
    assert divide(queued).costs()["late acknowledgements"] >= 0.9 * rounds * late


def test_flights_that_end_where_the_senders_data_ends_wait_for_its_program() -> None:
    grows = WindowSender(600, lambda acked: 10 + acked // 20).transfer()
    by_window = divide(grows).costs()
    data = grows.data
    waits = np.append(data.entered[1:] - data.done[:-1] > MS, [False]) & (data.payload > 0)
    partial = np.where(waits, data.payload // 2, data.payload)
    by_program = divide(replace(grows, data=replace(data, payload=partial))).costs()
    assert by_window["congestion window"] > 5 * ROUND_TRIP
    assert by_program["server"] > 0.9 * by_window["congestion window"]
    assert by_program.get("congestion window", 0) < 0.1 * by_window["congestion window"]


def test_packets_that_nothing_prompts_are_paced() -> None:
    gap = 5 * MS
    found = divide(WindowSender(300, lambda _: 200, gap=gap + 300_000).transfer())
    assert found.costs()["pacing"] > 0.9 * 300 * (gap - TRANSMISSION)
    assert found.rounds is not None
    assert not found.rounds.plateaus  # although bytes in flight stand still


@settings(max_examples=60, deadline=None)
@given(
    packets=st.integers(1, 120),
    window=st.integers(1, 60),
    growth=st.integers(0, 3),
    lost=st.sets(st.integers(0, 150), max_size=12),
    ack_delay=st.integers(0, 50),
    pauses=st.dictionaries(st.integers(0, 119), st.integers(0, 900), max_size=4),
    protocol=st.sampled_from(PROTOCOLS),
)
def test_every_division_adds_up_to_the_whole(  # noqa: PLR0913
    *,
    packets: int,
    window: int,
    growth: int,
    lost: set[int],
    ack_delay: int,
    pauses: dict[int, int],
    protocol: Protocol,
) -> None:
    transfer = WindowSender(
        packets,
        lambda acked: window + growth * acked,
        protocol,
        lost=lost,
        ack_delay=ack_delay * MS,
        available={packet: pause * MS for packet, pause in pauses.items()},
    ).transfer()
    found = divide(transfer)
    require_whole(found, transfer.ended)
    assert sum(found.costs().values()) == sum(found.forces().values()) == transfer.ended


def test_a_handshake_that_never_ends_has_no_answer() -> None:
    transfer = replace(WindowSender(10, lambda _: 10).transfer(), request=None)
    found = divide(transfer)
    require_whole(found, transfer.ended)
    assert found.rounds is None
    assert "link" not in found.costs()


def test_a_lost_first_packet_costs_the_set_up_a_timer() -> None:
    transfer = WindowSender(10, lambda _: 10).transfer()
    answers = transfer.answers
    second = 1000 * MS
    later = {
        name: np.where(np.arange(len(answers)) == 0, -1, getattr(answers, name) + second)
        for name in ("begun", "done", "arrived")
    }
    sent = np.where(np.arange(len(answers)) == 0, 0, answers.sent + second)
    moved = replace(answers, sent=sent, entered=sent, **later)
    data = transfer.data
    shifted = {name: getattr(data, name) + second for name in ("sent", "entered", "begun", "done")}
    found = divide(
        replace(
            transfer,
            answers=moved,
            data=replace(data, arrived=data.arrived + second, **shifted),
            request=2 * ROUND_TRIP + second,
            ended=transfer.ended + second,
        )
    )
    assert found.costs()["timeout"] >= second - DELAY


def test_an_unfinished_transfer_blames_nobody_for_its_end() -> None:
    transfer = WindowSender(20, lambda _: 100).transfer()
    cut = replace(transfer, ended=transfer.ended + 5_000 * MS, is_over=False)
    found = divide(cut)
    require_whole(found, cut.ended)
    assert found.costs()["unknown"] > 4_900 * MS
    assert "client" not in found.costs()


def with_answer(transfer: Transfer, at: int, payload: int) -> Transfer:
    """Add an answer that acknowledges nothing new, and reaches the server at a time."""
    answers = transfer.answers
    place = int(np.searchsorted(answers.sent, at - DELAY))
    columns = {
        name: np.insert(values, place, values[place - 1])
        for name in answers.__annotations__
        for values in [getattr(answers, name)]
    }
    made = replace(answers, **columns)
    for name in ("sent", "entered", "begun", "done"):
        getattr(made, name)[place] = at - DELAY
    made.arrived[place], made.payload[place] = at, payload
    return replace(transfer, answers=made)


PAUSE = 700 * MS


def test_a_request_within_a_connection_ends_the_time_of_its_client() -> None:
    transfer = WindowSender(60, lambda _: 100, available={30: PAUSE}).transfer()
    resumes = int(transfer.content.sent[30])
    found = divide(with_answer(transfer, resumes, 80))
    require_whole(found, transfer.ended)
    assert found.costs()["client"] > 0.8 * PAUSE
    assert "late acknowledgements" not in found.costs()


def test_an_update_of_a_window_over_quic_is_no_late_acknowledgement() -> None:
    transfer = WindowSender(60, lambda _: 100, "quic", available={30: PAUSE}).transfer()
    resumes = int(transfer.content.sent[30])
    found = divide(with_answer(transfer, resumes, 40))
    assert found.costs()["receiver's window"] > 0.8 * PAUSE
    assert "late acknowledgements" not in found.costs()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_window_costs_an_upload_what_it_costs_a_download(protocol: Protocol) -> None:
    download = WindowSender(400, lambda _: 10, protocol).transfer()
    upload = as_upload(download)
    found, expected = divide(upload), divide(download)
    require_whole(found, upload.ended)
    for cause in ("fixed window", "link"):
        assert found.costs()[cause] == expected.costs()[cause] > 0
    assert found.costs()["path"] == 2 * DELAY
    assert "server" not in found.costs()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pause_of_a_client_that_sends_is_the_clients(protocol: Protocol) -> None:
    pause = 700 * MS
    download = WindowSender(60, lambda _: 100, protocol, available={30: pause}).transfer()
    found = divide(as_upload(download))
    assert found.costs()["client"] == pause - 30 * TRANSMISSION + MS
    assert "server" not in found.costs()


def test_a_server_that_thinks_after_an_upload_is_the_servers() -> None:
    think = 300 * MS
    upload = as_upload(WindowSender(60, lambda _: 100).transfer(), think)
    found = divide(upload)
    require_whole(found, upload.ended)
    assert found.costs()["server"] == think


def test_a_client_that_waits_for_leave_to_send_has_a_round_trip_and_the_server() -> None:
    think = 30 * MS
    wait = ROUND_TRIP + think
    download = WindowSender(60, lambda _: 100, available={0: wait}).transfer()
    upload = as_upload(download)
    continues = replies(upload, upload.request or 0, DELAY + think)
    found = divide(continues)
    require_whole(found, upload.ended)
    assert found.costs()["server"] == think
    assert found.costs()["path"] == ROUND_TRIP + 2 * DELAY


@pytest.mark.parametrize(("after", "opens"), [(DELAY, False), (2 * ROUND_TRIP, True)])
def test_only_what_a_server_sends_after_it_has_data_opens_a_window(after: int, opens: bool) -> None:
    """A session ticket comes before, and acknowledges nothing new, too."""
    upload = as_upload(WindowSender(120, lambda acked: 10 + acked).transfer())
    known = np.maximum(upload.answers.acknowledged, 1)
    upload = replace(upload, answers=replace(upload.answers, acknowledged=known))
    ticket = replies(upload, upload.request or 0, after)
    place = int(np.flatnonzero(ticket.answers.payload == 80)[0])
    assert Receiver(ticket).opens_window(place) == opens


def replies(upload: Transfer, request: int, after: int) -> Transfer:
    """Return an upload with one more packet of the server, so long after the request."""
    answers, left = upload.answers, request + after
    place = int(np.searchsorted(answers.sent, left))
    values = {name: np.insert(getattr(answers, name), place, 0) for name in answers.__annotations__}
    for name in ("sent", "entered", "begun", "done"):
        values[name][place] = left
    values["arrived"][place], values["payload"][place] = left + DELAY, 80
    return replace(upload, answers=type(answers)(**values))
