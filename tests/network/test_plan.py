"""The plan of a network: every address, command and setting, before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from httpbed.implementations import catalog
from httpbed.model.scenario import Scenario
from httpbed.network import plan as network
from httpbed.trial import bed
from recorded import H2_LOSS, trial

GOLDEN = Path(__file__).parents[1] / "golden/plan-direct.txt"


def written(planned: bed.TrialPlan) -> str:
    """Write a trial's plan as text: files, then the command, for each process in order."""
    lines = []
    for spec in planned.specs():
        lines += [f"write /trial/{name}\n{text}" for name, text in spec.files.items()]
        lines.append(f"{spec.shell()}\n")
    return "".join(lines)


def test_the_plan_of_a_direct_path_is_as_reviewed() -> None:
    """Any change of what is executed shows up as a change of this file.

    After a change that is meant, write the file again from ``written``.
    """
    assert written(bed.plan(trial(H2_LOSS), catalog.load())) == GOLDEN.read_text()


def test_a_trial_has_one_plan() -> None:
    """Same value, same plan."""
    assert bed.plan(trial(H2_LOSS), catalog.load()) == bed.plan(trial(H2_LOSS), catalog.load())


def planned(scenario: Scenario, *, capture: bool = False) -> network.NetworkPlan:
    """Plan a scenario's network in the first block of seed 1."""
    return network.plan(scenario.topology, scenario.roles.senders(), 1, 1, capture=capture)


def configured(**link: Any) -> list[dict[str, Any]]:
    """Return both directions as the emulator is told of them."""
    document = trial(H2_LOSS).document
    described = {"between": ["client", "server"], **link}
    said = document | {"topology": {"hosts": ["client", "server"], "links": [described]}}
    config = planned(Scenario.model_validate(said)).emulator_config
    directions: list[dict[str, Any]] = config["links"][0]["directions"]
    return directions


@pytest.mark.parametrize(
    ("link", "up", "down"),
    [
        ({"rate": "10 Mbit/s"}, {"rate_bit_s": 10**7}, {"rate_bit_s": 10**7}),
        ({}, {"rate_bit_s": None, "delay_ns": 0, "loss": None}, {"queue": {"packets": 1000}}),
        ({"delay": "25 ms"}, {"delay_ns": 25_000_000}, {"delay_ns": 25_000_000}),
        ({"delay": "25 ms", "up": {"delay": "0 ms"}}, {"delay_ns": 0}, {"delay_ns": 25_000_000}),
        (
            {"rate": "10 Mbit/s", "down": {"rate": "50 Mbit/s"}},
            {"rate_bit_s": 10**7},
            {"rate_bit_s": 5 * 10**7},
        ),
        ({"loss": "2 %", "up": {"loss": "0 %"}}, {"loss": None}, {}),
        ({"queue": {"limit": "64 KiB"}}, {"queue": {"bytes": 65536}}, {"queue": {"bytes": 65536}}),
        (
            {"rate": "10 Mbit/s", "delay": "25 ms", "queue": {"limit": "1 BDP"}},
            {"queue": {"packets": 42}},
            {"queue": {"packets": 42}},
        ),
        (
            {"rate": "1 Mbit/s", "delay": "1 ms", "queue": {"limit": "1 BDP"}},
            {"queue": {"packets": 10}},
            {"queue": {"packets": 10}},
        ),
    ],
)
def test_each_direction_is_what_the_link_says(
    link: dict[str, Any], up: dict[str, Any], down: dict[str, Any]
) -> None:
    """For both, unless ``up`` or ``down`` differs; in integers; a BDP queue is resolved."""
    first, second = configured(**link)
    assert up.items() <= first.items()
    assert down.items() <= second.items()


def test_the_loss_probability_keeps_every_bit() -> None:
    """The emulator and the check draw against the same float."""
    first, second = configured(loss="4 %")
    assert first["loss"]["probability"] == second["loss"]["probability"] == 0.04
    assert first["loss"]["key"] != second["loss"]["key"]


def test_every_sender_has_its_congestion_control_by_route() -> None:
    """The client's default is cubic, and neither needs a sysctl of the machine."""
    document = trial(H2_LOSS).document
    roles = document["roles"] | {"server": {"implementation": "nginx", "congestion_control": "bbr"}}
    scenario = Scenario.model_validate(document | {"roles": roles})
    routes = {
        spec.host: line.rpartition(" ")[2]
        for spec in planned(scenario).hosts
        for line in (spec.input or "").splitlines()
        if line.startswith("route")
    }
    assert routes == {"client": "cubic", "server": "bbr"}


def test_packets_are_kept_on_request_only() -> None:
    """A capture of every trial would fill the disk."""
    scenario = trial(H2_LOSS).scenario()
    assert planned(scenario).emulator_config["pcapng"] is None
    captured = planned(scenario, capture=True).emulator_config["pcapng"]
    assert captured == "/trial/link.pcapng"


def test_a_topology_is_planned_whoever_uses_it() -> None:
    """Without roles every host sends with cubic, and only what is asked for is logged."""
    topology = trial(H2_LOSS).scenario().topology
    bare = network.plan(topology, {}, 1, 1)
    assert all("congctl cubic" in (spec.input or "congctl cubic") for spec in bare.hosts)
    assert "log" not in bare.emulator_config
    assert network.plan(topology, {}, 1, 1, log="/trial/l").emulator_config["log"] == "/trial/l"
