"""What the link carries before a response's turn is a cause, if the page did not wait for that."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import computed_loads
from computed_loads import CONNECTION, scenario
from httpbed.addons.explain.page_division import ExplainedLoad
from httpbed.addons.explain.page_turns import AS_URGENT, LESS_URGENT, ON_THE_WAY
from httpbed.addons.explain.transfer import Transfer
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from window_sender import (
    MS,
    PAYLOAD,
    REQUEST,
    ROUND_TRIP,
    TRANSMISSION,
    WindowSender,
)

NS = 1_000_000_000
SCENARIO = scenario("64k")
HERO, OTHER = "hero", "other"


def full_link(packets: int) -> Transfer:
    """Return a connection whose packets follow each other without a gap."""
    return WindowSender(packets, lambda _: 60, "quic").transfer()


def load(
    transfer: Transfer,
    owners: str,
    *,
    urgencies: tuple[int, int] = (1, 3),
    asked: int = REQUEST,
    has_parts: bool = True,
) -> BrowserLoad:
    """Return a load of two responses: ``h`` and ``o`` say which one each packet is of.

    ``asked`` is when the request of ``h`` left.
    """
    came, requests = transfer.content.arrived.tolist(), list[PageRequest]()
    for name, urgency, sent in ((HERO, urgencies[0], asked), (OTHER, urgencies[1], REQUEST)):
        own = [at for at, owner in zip(came, owners, strict=True) if owner == name[0]]
        requests.append(
            PageRequest(
                id=name,
                url=f"https://server/{name}.svg",
                status=200,
                kind="Image",
                connection=CONNECTION,
                wire_bytes=len(own) * PAYLOAD,
                request_headers=(("priority", f"u={urgency}, i"),),
                parts=tuple((at / NS, PAYLOAD) for at in own) if has_parts else (),
                queued_s=sent / NS,
                send_start_s=sent / NS,
                send_end_s=sent / NS,
                headers_start_s=own[0] / NS,
                headers_end_s=own[0] / NS,
                ended_s=own[-1] / NS,
            )
        )
    ended_s, begun_s = requests[0].ended_s, requests[0].send_start_s
    assert ended_s is not None
    assert begun_s is not None
    return BrowserLoad(
        "https://server/",
        "loaded",
        requests=tuple(requests),
        largest_contentful_paint_s=ended_s,
        largest_image_s=(begun_s, ended_s),
    )


def divided(
    transfer: Transfer, loaded: BrowserLoad, metric: str = "largest_contentful_paint"
) -> ExplainedLoad:
    return computed_loads.divided({CONNECTION: transfer}, loaded, SCENARIO, metric)


def test_the_link_carries_a_less_urgent_response_first() -> None:
    transfer = full_link(100)
    one = divided(transfer, load(transfer, "o" * 90 + "h" * 10))
    costs = one.responses.division.costs()
    # The first packet had arrived when the response's time begins.
    assert costs["other responses"] == 90 * TRANSMISSION
    assert costs["link"] == 10 * TRANSMISSION
    (each,) = one.values_of_responses()["each"]
    assert each["behind"]["bytes"] == {LESS_URGENT: 90 * PAYLOAD}
    assert each["behind"]["connection_share"] == 0.9
    assert each["behind"]["of"] == [
        {"url": "https://server/other.svg", "urgency": 3, "bytes": 90 * PAYLOAD}
    ]
    text = ". ".join(one.sentences())
    assert "Other responses cost most" in text
    assert "all of it is less urgent (u=3 before u=1), and the server sent it first" in text
    assert "Only a faster link" not in text


def test_responses_that_alternate_share_the_link() -> None:
    transfer = full_link(100)
    costs = divided(transfer, load(transfer, "oh" * 50)).responses.division.costs()
    assert costs["other responses"] == costs["link"] == 50 * TRANSMISSION


def test_a_response_that_the_page_waits_for_as_well_costs_nothing_extra() -> None:
    transfer = full_link(100)
    loaded = load(transfer, "o" * 90 + "h" * 10)
    costs = divided(transfer, loaded, "page_load_time").responses.division.costs()
    assert "other responses" not in costs
    assert costs["link"] == 100 * TRANSMISSION


@pytest.mark.parametrize(
    ("urgencies", "delayed", "kinds"),
    [
        ((3, 3), 0, {AS_URGENT}),
        ((3, 1), 0, {AS_URGENT}),
        ((1, 3), 0, {LESS_URGENT}),
        # The link has a queue, so much of what comes later had left the server before.
        ((1, 3), 40 * MS, {ON_THE_WAY, LESS_URGENT}),
    ],
)
def test_what_a_server_could_not_hold_back_is_told_from_its_choice(
    urgencies: tuple[int, int], delayed: int, kinds: set[str]
) -> None:
    transfer = full_link(200)
    loaded = load(transfer, "o" * 190 + "h" * 10, urgencies=urgencies, asked=REQUEST + delayed)
    one = divided(transfer, loaded)
    (each,) = one.values_of_responses()["each"]
    assert set(each["behind"]["bytes"]) == kinds
    text = ". ".join(one.sentences())
    assert ("the browser did not ask for hero.svg first" in text) == (AS_URGENT in kinds)


def test_a_browser_that_reports_a_body_at_its_end_shows_no_turns() -> None:
    transfer = full_link(100)
    one = divided(transfer, load(transfer, "o" * 90 + "h" * 10, has_parts=False))
    assert "other responses" not in one.responses.division.costs()
    assert one.values_of_responses()["each"][0]["behind"] is None


@settings(max_examples=40, deadline=None)
@given(
    owners=st.text("oh", min_size=2, max_size=80).filter(lambda text: len({*text}) == 2),
    window=st.integers(1, 60),
    lost=st.sets(st.integers(0, 80), max_size=5),
    asked=st.integers(0, 60),
)
def test_the_causes_add_up_whoever_has_the_packets(
    owners: str, window: int, lost: set[int], asked: int
) -> None:
    sender = WindowSender(len(owners), lambda _: window, "quic", lost=lost)
    transfer = sender.transfer()
    data = transfer.content
    owners += "h" * (len(data) - len(owners))
    last = max(at for at, owner in zip(data.arrived.tolist(), owners, strict=True) if owner == "h")
    assume(last > REQUEST + asked * MS + ROUND_TRIP)
    one = divided(transfer, load(transfer, owners, asked=REQUEST + asked * MS))
    for periods in (one.division.periods, one.division.in_force):
        assert periods[0].begin == 0
        assert abs(periods[-1].end / NS - one.path.path.whole_s) < 1e-6
        assert all(a.end == b.begin for a, b in itertools.pairwise(periods))
    assert sum(one.division.costs().values()) == one.division.whole
