"""A body that comes at one window per round trip is held, and the load says by what."""

from __future__ import annotations

from typing import Any

import pytest

from computed_loads import CATALOG, scenario
from httpbed.addons.explain import page_windows
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.page_windows import HeldLoad
from httpbed.addons.explain.transfer import Transfer
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.experiment.scenario import Scenario
from window_sender import MS, ORIGIN, PAYLOAD, ROUND_TRIP, WindowSender, result

NS = 1_000_000_000


def load(transfer: Transfer, bodies: int = 1) -> BrowserLoad:
    """Return the load of a page whose bodies came side by side as parts of a transfer."""
    data = transfer.content
    begin, end = (int(at) / NS for at in (data.arrived[2], data.arrived.max()))
    parts = [
        PageRequest(
            id=str(number),
            url=f"https://server/{number}.jpg",
            status=200,
            wire_bytes=transfer.body_bytes // bodies,
            headers_end_s=begin,
            ended_s=end,
        )
        for number in range(bodies)
    ]
    return BrowserLoad("https://server/", "loaded", requests=tuple(parts), navigation_ns=ORIGIN)


def held(transfer: Transfer, bodies: int = 1, described: Scenario | None = None) -> HeldLoad | None:
    loaded, described = load(transfer, bodies), described or scenario()
    return page_windows.of_load(result(transfer), loaded, described, CATALOG)


@pytest.mark.parametrize("bodies", [1, 2])
def test_bodies_at_a_window_per_round_trip_are_held_by_it(bodies: int) -> None:
    packets = 400 * bodies
    transfer = WindowSender(packets, lambda _: 10 * bodies, "quic").transfer()
    found = held(transfer, bodies)
    assert found is not None
    assert str(found.of) == "nginx's http3_stream_buffer_size = 14k"
    assert len(found.bodies) == bodies
    rounds = packets // (10 * bodies)
    assert found.bodies[0].rounds == pytest.approx(rounds, abs=2)
    assert found.bodies[0].bytes == pytest.approx(10 * PAYLOAD, rel=0.05)
    idle = rounds * (ROUND_TRIP + MS - 10 * bodies * MS)
    assert found.idle_ns == pytest.approx(idle, rel=0.1)
    assert found.values()["knob"] == "http3_stream_buffer_size"
    assert "0.jpg" in found.sentence()
    share = 100 * found.idle_ns / found.whole_ns
    assert f"({share:.0f} % of the page load time)" in found.sentence()


@pytest.mark.parametrize(
    ("transfer", "described"),
    [
        pytest.param(WindowSender(400, lambda _: 16).transfer(), scenario(), id="another pace"),
        pytest.param(WindowSender(400, lambda _: 60).transfer(), scenario("58k"), id="full link"),
        pytest.param(WindowSender(50, lambda _: 10).transfer(), scenario(), id="a small body"),
        pytest.param(WindowSender(400, lambda _: 10).transfer(), scenario("1m"), id="a large one"),
        pytest.param(WindowSender(400, lambda _: 10).transfer(), scenario(version="2"), id="h2"),
        pytest.param(
            WindowSender(400, lambda _: 10, lost=range(100, 110)).transfer(), scenario(), id="loss"
        ),
    ],
)
def test_other_bodies_are_not(transfer: Transfer, described: Scenario) -> None:
    assert held(transfer, described=described) is None


@pytest.mark.parametrize(("buffer", "can"), [("14k", True), ("1m", False)])
def test_only_a_window_below_what_the_path_holds_can_hold_a_body(buffer: str, can: bool) -> None:
    assert page_windows.can_hold(scenario(buffer), CATALOG) == can


@pytest.mark.parametrize(
    "damage",
    [{"origin_ns": None}, {"origin_ns": "soon"}, {"directions": []}, {"connections": []}],
)
def test_a_damaged_result_says_nothing(damage: dict[str, Any]) -> None:
    transfer = WindowSender(400, lambda _: 10).transfer()
    with pytest.raises(NoTransferError):
        page_windows.of_load(result(transfer) | damage, load(transfer), scenario(), CATALOG)
