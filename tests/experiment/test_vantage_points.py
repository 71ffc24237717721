"""Where a download is watched: at the client, at its sender, and where the queue is."""

from __future__ import annotations

from typing import Any

from httpbed.experiment import vantage_points
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.vantage_points import VantagePoints


def points(hosts: list[str], links: list[dict[str, Any]], **more: Any) -> VantagePoints:
    """Return the vantage points of a download over links."""
    document = {
        "topology": {"hosts": hosts, "links": links},
        "roles": {
            "client": {"implementation": "curl", "http_version": "2"},
            "server": {"implementation": "nginx"},
        },
        "workload": {"kind": "download", "size": "1 MB"},
        **more,
    }
    return vantage_points.of(Scenario.model_validate(document))


def test_one_link_has_all_points() -> None:
    """In the direction towards the client, however the link is written."""
    for ends, towards in ((["client", "server"], 1), (["server", "client"], 0)):
        found = points(["client", "server"], [{"between": ends}])
        assert found == VantagePoints(((0, towards),), (0, towards), (0, towards))
        assert found.places() == {(0, towards)}


def test_the_queue_is_on_the_narrowest_of_several_links() -> None:
    """The client's link is first, the server's last, whatever the order in the file."""
    pairs = [("left", "right"), ("client", "left"), ("server", "right")]
    links: list[dict[str, Any]] = [{"between": pair, "rate": "100 Mbit/s"} for pair in pairs]
    links[0]["rate"] = "10 Mbit/s"
    found = points(["client", "left", "right", "server"], links)
    assert found == VantagePoints(receiver=((1, 1),), queue=(0, 1), sender=(2, 0))


def test_a_client_that_changes_links_receives_on_each() -> None:
    """Also on the one that it does not use yet."""
    links: list[dict[str, Any]] = [
        {"name": "wifi", "between": ["client", "router"], "rate": "10 Mbit/s"},
        {"name": "cellular", "between": ["router", "client"], "rate": "10 Mbit/s"},
        {"between": ["router", "server"]},
    ]
    handover = {"links": ["wifi", "cellular"], "kind": "address deleted", "when": {"at": "1 s"}}
    found = points(["client", "router", "server"], links, handover=handover)
    assert found.receiver == ((0, 1), (1, 0))
    assert found.sender == (2, 1)
