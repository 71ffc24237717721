from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from httpbed.addons.explain import lifts
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.explanation import Explained, Held
from httpbed.addons.explain.lifts import Lift
from httpbed.addons.explain.rounds import Plateau
from httpbed.addons.explain.windows import NamedWindow
from httpbed.programs import catalog as catalogs
from window_sender import PAYLOAD, WindowSender

CATALOG = catalogs.load()
LINK: dict[str, Any] = {
    "between": ["client", "server"],
    "loss": "4 %",
    "down": {"loss": "1 %", "rate": "1 Mbit/s"},
    "queue": {"discipline": "droptail", "limit": "10 packets"},
}
DOCUMENT: dict[str, Any] = {
    "topology": {"hosts": ["client", "server"], "links": [LINK]},
    "roles": {
        "client": {"implementation": "curl", "http_version": "3"},
        "server": {"implementation": "nginx"},
    },
    "workload": {"kind": "download", "size": "1 MB"},
}
CONTROL = "congestion control"


def explained(held: Held | None = None, *, lost: tuple[int, ...] = (50,)) -> Explained:
    transfer = WindowSender(300, lambda _: 10, lost=lost).transfer()
    return Explained(1, "a", {}, 1, "completed", divide(transfer), held, transfer)


def by_knob() -> Held:
    (window, _) = CATALOG.recipes["nginx"].windows
    named = NamedWindow("server", "nginx", 65536, "64k", window)
    return Held(Plateau(0, 1, 10 * PAYLOAD, 9), named, None)


def lifted(
    cause: str, document: dict[str, Any] = DOCUMENT, held: Held | None = None
) -> Iterator[Lift]:
    return lifts.lifts(explained(held), cause, document, CATALOG)


def with_roles(**roles: Any) -> dict[str, Any]:
    return {**DOCUMENT, "roles": {**DOCUMENT["roles"], **roles}}


def test_a_stated_buffer_is_left_to_the_kernel() -> None:
    small = {"implementation": "curl", "http_version": "2", "tcp_receive_buffer": "64 kB"}
    first = next(lifted("receiver's window", with_roles(client=small)))
    assert first.document == with_roles(client={"implementation": "curl", "http_version": "2"})


def test_a_window_is_lifted_by_its_knob_and_nothing_else_changes() -> None:
    (lift,) = lifted("fixed window", held=by_knob())
    assert lift.document["roles"]["server"] == {
        "implementation": "nginx",
        "knobs": {"http3_stream_buffer_size": "16m"},
    }
    assert lift.document["topology"] == DOCUMENT["topology"]
    assert "knobs" not in DOCUMENT["roles"]["server"]


def test_a_window_of_no_knob_is_not_lifted() -> None:
    assert not [*lifted("fixed window")]


def test_all_windows_of_a_client_are_lifted_if_none_fits() -> None:
    knobs = {"max_data": "65536", "max_stream_data": "65536"}
    client = {"implementation": "gtlsclient", "http_version": "3", "knobs": knobs}
    (lift,) = lifted("receiver's window", with_roles(client=client))
    assert lift.document["roles"]["client"]["knobs"] == {
        "max_stream_data": "16M",
        "max_data": "24M",
    }


@pytest.mark.parametrize(
    ("cause", "part"), [("client's congestion window", "client"), ("slow start", "server")]
)
def test_an_initial_window_is_lifted_where_it_is_full(cause: str, part: str) -> None:
    over_tcp = with_roles(client={"implementation": "curl", "http_version": "2"})
    first, both = (
        {name for name, role in lift.document["roles"].items() if role.get("tcp_initial_window")}
        for lift in lifted(cause, over_tcp)
    )
    assert first == {part}
    assert both == {"client", "server"}
    assert not [*lifted(cause)], "QUIC's is the program's own"


@pytest.mark.parametrize(("window", "lifts_it"), [("32", True), ("200", False)])
def test_an_initial_window_that_is_a_factors_level_is_lifted_if_it_is_small(
    window: str, lifts_it: bool
) -> None:
    """Levels are texts."""
    client = {"implementation": "curl", "http_version": "2", "tcp_initial_window": window}
    found = [*lifted("client's congestion window", with_roles(client=client))]
    assert bool(found) is lifts_it


def test_losses_are_lifted_by_no_loss_and_then_by_a_queue_without_an_end() -> None:
    loss, queue = lifted("recovery")
    (link,) = loss.document["topology"]["links"]
    assert "loss" not in link
    assert link["down"] == {"rate": "1 Mbit/s"}
    (longer,) = queue.document["topology"]["links"]
    assert longer["queue"] == lifts.LONGER_QUEUE
    assert longer["loss"] == "4 %"
    assert LINK["loss"] == "4 %"


def test_without_a_loss_neither_losses_nor_the_queue_are_lifted() -> None:
    found = lifts.lifts(explained(lost=()), "congestion window", DOCUMENT, CATALOG)
    assert not [*found]


def test_a_queue_that_no_file_mentions_is_lifted_where_there_is_a_rate() -> None:
    link = {"between": ["client", "server"], "rate": "1 Mbit/s"}
    document = {**DOCUMENT, "topology": {"hosts": ["client", "server"], "links": [link]}}
    (queue,) = lifted("recovery", document)
    assert queue.document["topology"]["links"][0]["queue"] == lifts.LONGER_QUEUE


def test_a_slow_way_back_gets_the_rate_of_the_link() -> None:
    link = {"between": ["server", "client"], "rate": "9 Mbit/s", "down": {"rate": "50 kbit/s"}}
    document = {**DOCUMENT, "topology": {"hosts": ["client", "server"], "links": [link]}}
    (lift,) = lifted("late acknowledgements", document)
    assert lift.document["topology"]["links"] == [{**link, "down": {}}]


def test_the_congestion_control_of_the_sender_is_lifted_where_it_is_a_choice() -> None:
    over_tcp = with_roles(client={"implementation": "curl", "http_version": "2"})
    assert not any(CONTROL in lift.what for lift in lifted("recovery"))  # nginx has cubic over QUIC
    (other,) = (lift for lift in lifted("recovery", over_tcp) if CONTROL in lift.what)
    assert other.document["roles"]["server"]["congestion_control"] == "bbr"
    bbr = with_roles(
        client={"implementation": "curl", "http_version": "2"},
        server={"implementation": "nginx", "congestion_control": "bbr"},
    )
    assert not any(CONTROL in lift.what for lift in lifted("recovery", bbr))
    (unpaced,) = lifted("pacing", bbr)
    assert unpaced.document["roles"]["server"]["congestion_control"] == "cubic"


def test_the_congestion_control_of_a_proxy_is_lifted_not_that_of_the_server() -> None:
    (other,) = (lift for lift in lifted("recovery", behind("nginx")) if CONTROL in lift.what)
    assert other.document["roles"]["proxies"][0]["congestion_control"] == "bbr"
    assert other.document["roles"]["server"] == DOCUMENT["roles"]["server"]


def behind(server: str) -> dict[str, Any]:
    hosts = ["client", "proxy", "server"]
    links = [{"between": hosts[:2]}, {"between": hosts[1:]}]
    roles = with_roles(
        client={"implementation": "curl", "http_version": "3"},
        proxies=[{"implementation": "haproxy"}],
        server={"implementation": server},
    )
    return {**roles, "topology": {"hosts": hosts, "links": links}}


def test_a_server_that_waits_is_asked_without_its_proxy() -> None:
    (lift,) = lifted("server", behind("nginx"))
    assert "proxies" not in lift.document["roles"]
    assert not [*lifted("server")]


def test_no_lift_makes_an_impossible_scenario() -> None:
    """A client of HTTP/2 cannot do without the proxy before a server that has only HTTP/3."""
    document = behind("gtlsserver")
    roles = document["roles"]
    roles["client"] = {"implementation": "curl", "http_version": "2"}
    roles["proxies"] = [{"implementation": "envoy", "http_version": "3"}]
    assert not [*lifted("server", document)]
    roles["server"] = {"implementation": "nginx"}
    assert [*lifted("server", document)]


def test_a_lift_that_changes_nothing_is_not_tried_again() -> None:
    queue = [*lifted("recovery")][1]
    again = [lift.what for lift in lifted("recovery", queue.document)]
    assert queue.what not in again
