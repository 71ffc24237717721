"""Where a download is watched: at the client, at its sender, and where the queue is."""

from __future__ import annotations

from typing import Any

from httpbed.experiment import bodies_path
from httpbed.experiment.bodies_path import VantagePoints
from httpbed.experiment.scenario import Scenario


def points(hosts: list[str], links: list[dict[str, Any]], **more: Any) -> VantagePoints:
    document = {
        "topology": {"hosts": hosts, "links": links},
        "roles": {
            "client": {"implementation": "curl", "http_version": "2"},
            "server": {"implementation": "nginx"},
        },
        "workload": {"kind": "download", "size": "1 MB"},
        **more,
    }
    return bodies_path.vantage_points(Scenario.model_validate(document))


def test_one_link_has_all_points() -> None:
    """In the direction towards the client, however the link is written."""
    for ends, towards in ((["client", "server"], 1), (["server", "client"], 0)):
        found = points(["client", "server"], [{"between": ends, "delay": "25 ms"}])
        assert found == VantagePoints(((0, towards),), ((0, towards),), 0, 0)
        assert found.records() == {(0, towards): 0}


def dumbbell(**rates: str) -> VantagePoints:
    """Return the points of a download over three links; 100 Mbit/s but for some."""
    pairs = {"middle": ("left", "right"), "near": ("client", "left"), "far": ("server", "right")}
    delays = {"middle": "10 ms", "near": "2 ms", "far": "5 ms"}
    links = [
        {"between": pair, "rate": rates.get(name, "100 Mbit/s"), "delay": delays[name]}
        for name, pair in pairs.items()
    ]
    found = points(["client", "left", "right", "server"], links)
    delays_s = round(found.beyond_s, 9), round(found.before_s, 9)
    return VantagePoints(found.receiver, found.narrow, *delays_s)


def test_the_queue_is_on_the_narrowest_of_several_links() -> None:
    """An answer needs the delays beyond it; the sender is as far away as those before it."""
    assert dumbbell(middle="10 Mbit/s") == VantagePoints(((1, 1),), ((0, 1),), 0.004, 0.01)
    assert dumbbell(near="10 Mbit/s") == VantagePoints(((1, 1),), ((1, 1),), 0, 0.03)


def test_of_equal_links_the_queue_is_on_the_senders() -> None:
    """The others get no more than it lets through."""
    assert dumbbell() == VantagePoints(((1, 1),), ((2, 0),), 0.024, 0)
    assert dumbbell().records() == {(1, 1): 0, (2, 0): 0.024}


def test_a_client_that_changes_links_receives_on_each() -> None:
    """Also on the one that it does not use yet."""
    links: list[dict[str, Any]] = [
        {"name": "wifi", "between": ["client", "router"], "rate": "10 Mbit/s"},
        {"name": "cellular", "between": ["router", "client"], "rate": "10 Mbit/s"},
        {"between": ["router", "server"]},
    ]
    handover = {"links": ["wifi", "cellular"], "kind": "address deleted", "when": {"at": "1 s"}}
    found = points(["client", "router", "server"], links, handover=handover)
    assert found.receiver == found.narrow == ((0, 1), (1, 0))


def test_an_upload_is_watched_towards_the_server() -> None:
    """Its receiver is the server; of equal links the client's own is the narrow one."""
    pairs = (("client", "left"), ("left", "right"), ("right", "server"))
    links: list[dict[str, Any]] = [
        {"between": pair, "rate": "100 Mbit/s", "delay": delay}
        for pair, delay in zip(pairs, ("2 ms", "10 ms", "5 ms"), strict=True)
    ]
    upload = {"workload": {"kind": "upload", "size": "1 MB"}}
    found = points(["client", "left", "right", "server"], links, **upload)
    assert (found.receiver, found.narrow) == (((2, 0),), ((0, 0),))
    assert (round(found.beyond_s, 9), found.before_s) == (0.03, 0)


def test_bounds_of_an_upload_are_those_of_the_way_up() -> None:
    """Ceiling, bottleneck, least time and buckets; a competitor that downloads shares nothing."""
    rates = {"up": {"rate": "2 Mbit/s"}, "down": {"rate": "20 Mbit/s"}}
    document = {
        "topology": {
            "hosts": ["client", "rival", "middle", "server", "rivalserver"],
            "links": [
                {"between": ["client", "middle"]},
                {"between": ["rival", "middle"]},
                {"between": ["middle", "server"], **rates},
                {"between": ["middle", "rivalserver"]},
            ],
        },
        "roles": {
            "client": {"implementation": "curl", "http_version": "2"},
            "server": {"implementation": "nginx"},
        },
        "workload": {"kind": "upload", "size": "1 MB"},
        "competitors": [
            {
                "client": {"implementation": "curl", "http_version": "2", "host": "rival"},
                "server": {"implementation": "nginx", "host": "rivalserver"},
                "workload": {"kind": "download", "size": "1 MB"},
            }
        ],
    }
    scenario = Scenario.model_validate(document)
    assert scenario.bottleneck() == (2, 0)
    assert scenario.ceiling_bit_s() == {2_000_000}
    assert scenario.ideal_s() == 4.0
    senders = [part for _, part in scenario.senders_of_bodies()]
    assert senders == ["client", "competitor-1-server"]
