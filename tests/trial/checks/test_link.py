"""Checks of the link: draws and changes are compared, and each deviation is caught."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from httpbed.bed.network import fates, network_plan
from httpbed.experiment.topology import Topology
from httpbed.experiment.trial import Check
from httpbed.trial.checks import link as link_checks

COUNT = 2000
LASTED_S = 10.0
Result = dict[str, Any]


def planned(**link: Any) -> dict[str, Any]:
    """Return the emulator's configuration for a link."""
    return configured({"between": ["client", "server"], **link})


def configured(*links: dict[str, Any]) -> dict[str, Any]:
    """Return the emulator's configuration for several links."""
    hosts = list(dict.fromkeys(host for link in links for host in link["between"]))
    said = {"hosts": hosts, "links": list(links)}
    return dict(network_plan.plan(Topology.model_validate(said), {}, 1, 1).emulator_config)


def happened(
    config: dict[str, Any], down: tuple[int, ...] = (), nat: tuple[int, ...] = ()
) -> Result:
    """Return the result of links on which ``COUNT`` packets arrived in each direction."""
    results = [_of_link(link, down, nat) for link in config["links"]]
    return {
        "directions": [way for directions, _ in results for way in directions],
        "changes": [change for _, changes in results for change in changes],
    }


def _of_link(
    link: dict[str, Any], down: tuple[int, ...], nat: tuple[int, ...]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    changes = [
        {**entry, "direction": way, "link": link["name"], "by": "schedule", "next_number": number}
        for number, entry in enumerate(link["schedule"], 700)
        for way in ((0, 1) if entry["direction"] is None else (entry["direction"],))
    ]
    directions = [
        _direction(way, hosts, (down, nat), loss_changes(changes, index))
        for index, (way, hosts) in enumerate(
            zip(link["directions"], (link["hosts"], link["hosts"][::-1]), strict=True)
        )
    ]
    return directions, changes


def loss_changes(changes: list[dict[str, Any]], direction: int) -> list[tuple[int, float]]:
    """Return the loss probabilities of a direction, each with the first packet it applies to."""
    return [
        (change["next_number"] or 0, change["change"]["loss"])
        for change in changes
        if "loss" in change["change"] and change["direction"] == direction
    ]


def _direction(
    way: dict[str, Any],
    hosts: list[str],
    undrawn: tuple[tuple[int, ...], tuple[int, ...]],
    changes: list[tuple[int, float]],
) -> dict[str, Any]:
    down, nat = undrawn
    lost = [n for n in fates.lost(way["loss"], COUNT, changes) if n not in down and n not in nat]
    gone = {*lost, *down, *nat}
    copies = [n for n in fates.chosen(way["duplication"], COUNT, 1) if n not in gone]
    damaged = [n for n in fates.chosen(way["corruption"], COUNT, 2) if n not in gone]
    delivered = COUNT - len(gone) + len(copies)
    nothing = {"queue_dropped": 0, "aqm_dropped": 0, "in_flight": 0}
    packets = {"in": COUNT, "duplicated": len(copies), "delivered": delivered, "lost": len(lost)}
    return {
        "from": hosts[0],
        "to": hosts[1],
        "packets": {**packets, "down_dropped": len(down), "nat_dropped": len(nat), **nothing},
        "lost_numbers": lost,
        "duplicated_numbers": copies,
        "corrupted_numbers": damaged,
        "down_dropped_numbers": list(down),
        "nat_dropped_numbers": list(nat),
    }


def broken(config: dict[str, Any], result: Result) -> list[str]:
    return [check.name for check in found(config, result) if check.passed is False]


def found(config: dict[str, Any], result: Result) -> list[Check]:
    return list(link_checks.checks(config, result, LASTED_S))


BURSTS = {"to_bad": "2 %", "to_good": "30 %"}
EVERYTHING: dict[str, Any] = {
    "loss": BURSTS,
    "duplication": "3 %",
    "corruption": "4 %",
    "rate": {"steps": [["0 s", "10 Mbit/s"], ["5 s", "2 Mbit/s"]]},
    "schedule": [
        {"at": "2 s", "delay": "40 ms"},
        {"at": "3 s", "state": "down", "direction": "up"},
        {"at": "60 s", "state": "up", "direction": "up"},
    ],
}


@pytest.mark.parametrize(
    "link",
    [
        {},
        {"loss": "2 %"},
        {"loss": BURSTS},
        {"loss": {"packets": [3, 17, 5000]}},
        {"loss": "1 %", "schedule": [{"at": "1 s", "loss": "5 %"}]},
        {"duplication": "100 %", "corruption": "100 %"},
        EVERYTHING,
    ],
    ids=str,
)
def test_a_result_that_follows_the_draws_passes(link: dict[str, Any]) -> None:
    """Packets that met a link that was down, or a NAT without a mapping, met no draw."""
    config = planned(**link)
    assert broken(config, happened(config)) == []
    assert broken(config, happened(config, down=(7, 8, 9))) == []
    assert broken(config, happened(config, down=(7, 8), nat=(9, 1000))) == []


Fault = Callable[[Result], None]


def one_more(name: str) -> Fault:
    """Return the fault that one more packet met a fate."""

    def plant(result: Result) -> None:
        numbers = result["directions"][1][name]
        numbers.append(next(n for n in range(COUNT) if n not in numbers))
        numbers.sort()

    return plant


def one_less(name: str) -> Fault:
    """Return the fault that one packet fewer met a fate."""
    return lambda result: result["directions"][0][name].pop()


def uncounted(result: Result) -> None:
    """Lose a packet without counting it."""
    result["directions"][0]["packets"]["delivered"] -= 1


def late(result: Result) -> None:
    """Make the first change 2 ms late."""
    result["changes"][0]["at_ns"] += 2_000_000


def early(result: Result) -> None:
    """Make the first change 1 ns early."""
    result["changes"][0]["at_ns"] -= 1


def other(result: Result) -> None:
    """Make another change than the planned one."""
    result["changes"][-1]["change"] = {"down": True}


def one_way(result: Result) -> None:
    result["changes"].pop(0)


def one_too_many(result: Result) -> None:
    """Make a change that is not planned."""
    result["changes"].append(result["changes"][0] | {"change": {"delay_ns": 1}})


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (one_more("lost_numbers"), "losses as drawn, server->client"),
        (one_less("lost_numbers"), "losses as drawn, client->server"),
        (one_more("duplicated_numbers"), "copies as drawn, server->client"),
        (one_less("duplicated_numbers"), "copies as drawn, client->server"),
        (one_more("corrupted_numbers"), "damage as drawn, server->client"),
        (one_less("corrupted_numbers"), "damage as drawn, client->server"),
        (uncounted, "conservation of packets"),
        (late, "scheduled changes"),
        (early, "scheduled changes"),
        (one_too_many, "scheduled changes"),
        (other, "scheduled changes"),
        (one_way, "scheduled changes"),
        (lambda result: result["changes"].clear(), "scheduled changes"),
    ],
)
def test_each_deviation_is_caught_by_its_check(fault: Fault, check: str) -> None:
    """Only the check that is named for the deviation fails."""
    config = planned(**EVERYTHING)
    result = copy.deepcopy(happened(config))
    fault(result)
    assert check in broken(config, result)


def test_an_earlier_event_may_delay_a_scheduled_change() -> None:
    """The delay is shorter than one reading of the sockets."""
    config = planned(**EVERYTHING)
    result = happened(config)
    result["changes"][0]["at_ns"] += 40_000
    assert broken(config, result) == []


def test_a_change_after_the_clients_end_is_not_required() -> None:
    """The client ended long before the change was due."""
    config = planned(**EVERYTHING)
    result = happened(config)
    result["changes"].pop()
    assert broken(config, result) == []
    (check,) = (one for one in found(config, result) if one.name == "scheduled changes")
    assert check.limit == "5 of 6 were due, each at its time"


def test_changes_by_events_are_listed() -> None:
    """An event that does not happen is no fault; a change without its event is one."""
    event = {"name": "half", "when": {"delivered": "1 MB", "to": "client"}, "state": "down"}
    config = planned(events=[event])
    quiet = happened(config)
    change = {"at_ns": 10**9, "link": "client-server", "direction": None, "change": {"down": True}}
    fired = happened(config) | {"changes": [{**change, "by": "trigger", "trigger": "half"}]}
    strange = happened(config) | {"changes": [{**change, "by": "trigger", "trigger": "other"}]}
    figures = [found(config, result)[-1].figure for result in (quiet, fired)]
    assert figures == ["none happened", "half: link down at 1.000 s"]
    assert broken(config, quiet) == broken(config, fired) == []
    assert broken(config, strange) == ["changes by events"]


def test_a_nat_rebinding_is_described() -> None:
    """Commands have no check; a change by an event is described like any other."""
    config = planned()
    change = {"at_ns": 10**9, "link": "client-server", "direction": 0, "change": {"rebind": True}}
    fired = happened(config) | {"changes": [{**change, "by": "trigger", "trigger": "half"}]}
    assert found(config, fired)[-1].figure == "half: NAT rebinding at 1.000 s"
    assert broken(config, happened(config) | {"changes": [{**change, "by": "command"}]}) == []


CHANGING = {"loss": "1 %", "schedule": [{"at": "1 s", "loss": "50 %", "direction": "down"}]}


@pytest.mark.parametrize("shift", [-1, 1, 300])
def test_a_loss_change_is_checked_packet_by_packet(shift: int) -> None:
    """A loss that changes a few packets too early or too late belongs to another link."""
    config = planned(**CHANGING)
    way = config["links"][0]["directions"][1]["loss"]
    result = happened(config)
    assert broken(config, result) == []
    first = next(n for n in range(500, COUNT) if n in fates.lost(way, COUNT, [(0, 0.5)]))
    first += shift < 0
    for number in (first, first + shift):
        result["changes"][0]["next_number"] = number
        right = fates.lost(way, COUNT, [(first, 0.5)])
        result["directions"][1]["lost_numbers"] = right
        result["directions"][1]["packets"]["delivered"] = COUNT - len(right)
        result["directions"][1]["packets"]["lost"] = len(right)
        assert (broken(config, result) == []) == (number == first)


def test_a_loss_change_before_the_first_packet_applies_to_all() -> None:
    """A direction without packets has no packet number yet."""
    config = planned(**CHANGING)
    result = happened(config)
    result["changes"][0]["next_number"] = None
    key = config["links"][0]["directions"][1]["loss"]["key"]
    lost = fates.lost({"model": "bernoulli", "key": key, "probability": 0.5}, COUNT)
    result["directions"][1]["lost_numbers"] = lost
    result["directions"][1]["packets"] |= {"lost": len(lost), "delivered": COUNT - len(lost)}
    assert broken(config, result) == []
    (check,) = (one for one in found(config, result) if one.name.endswith("server->client"))
    assert check.limit.endswith("at 0.01, at 0.5 from packet 0 on")


TWO = (
    {"between": ["client", "proxy"], **EVERYTHING},
    {"between": ["proxy", "server"], **EVERYTHING, "loss": "3 %"},
)
OF_LINKS = ("client-proxy", "proxy-server")


def test_every_link_is_checked_by_its_own_draws_and_changes() -> None:
    """Each check names its direction or link."""
    config = configured(*TWO)
    checks = found(config, happened(config))
    assert [check.name for check in checks if check.passed is False] == []
    names = [check.name for check in checks]
    assert len(set(names)) == len(names) == 1 + 2 * (2 * 3 + 1)
    assert {f"scheduled changes, on {name}" for name in OF_LINKS} <= set(names)


@pytest.mark.parametrize("link", [0, 1])
def test_a_deviation_is_reported_for_its_own_link_only(link: int) -> None:
    """An extra loss, and a missing change."""
    config = configured(*TWO)
    one, other = config["links"][link]["hosts"]
    result = copy.deepcopy(happened(config))
    lost = result["directions"][2 * link]["lost_numbers"]
    lost.append(max(lost) + 1)
    assert broken(config, result) == [f"losses as drawn, {one}->{other}"]
    result = happened(config)
    own = [change for change in result["changes"] if change["link"] == OF_LINKS[link]]
    result["changes"].remove(own[0])
    assert broken(config, result) == [f"scheduled changes, on {OF_LINKS[link]}"]


def test_a_change_on_the_wrong_link_is_caught_on_both() -> None:
    """It is missing on one link and unplanned on the other."""
    config = configured(*TWO, {"between": ["server", "far"]})
    result = happened(config)
    result["changes"][0]["link"] = "server-far"
    assert broken(config, result) == [
        "scheduled changes, on client-proxy",
        "scheduled changes, on server-far",
    ]
