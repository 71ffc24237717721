"""The plan of a network: every address, command and setting, before anything is started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import fates, network_plan
from httpbed.bed.network.emulator import PacketRecords
from httpbed.bed.network.link_file import Facts, LossRecord
from httpbed.experiment.impairments.rate import CellularModel
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog
from httpbed.trial import plan
from httpbed.trial.attempt_plan import TrialPlan
from recorded import CATALOG, H2_LOSS, trial

GOLDEN = Path(__file__).parents[2] / "golden/plan-direct.txt"
NOTHING = re.compile(r'^ *"\w+": null,\n', re.MULTILINE)


def written(planned: TrialPlan) -> str:
    """Write a trial's plan as text: files, then the command, for each process in order.

    What the emulator is told to leave out is left out, so a further impairment changes nothing.
    """
    lines = []
    for spec in planned.attempt.specs():
        files = {name: NOTHING.sub("", text) for name, text in spec.files.items()}
        lines += [f"write /trial/{name}\n{text}" for name, text in files.items()]
        lines.append(f"{spec.shell()}\n")
    return "".join(lines)


def test_the_plan_of_a_direct_path_is_as_reviewed() -> None:
    """Any change of what is executed shows up as a change of this file.

    After a change that is meant, write the file again from ``written``.
    """
    assert written(plan.plan(trial(H2_LOSS), catalog.load())) == GOLDEN.read_text()


def test_a_trial_has_one_plan() -> None:
    """Same value, same plan."""
    assert plan.plan(trial(H2_LOSS), catalog.load()) == plan.plan(trial(H2_LOSS), catalog.load())


def planned(
    scenario: Scenario,
    *,
    capture: bool = False,
    backend: Backend = "af_packet",
    files: Mapping[str, Facts] | None = None,
) -> network_plan.NetworkPlan:
    """Plan a scenario's network in the first block of seed 1."""
    return network_plan.plan(
        scenario.topology,
        scenario.senders(),
        1,
        1,
        records=PacketRecords(capture),
        backend=backend,
        files=files,
    )


def scenario(link: dict[str, Any]) -> Scenario:
    described = {"between": ["client", "server"], **link}
    topology = {"topology": {"hosts": ["client", "server"], "links": [described]}}
    return Scenario.model_validate(trial(H2_LOSS).document | topology)


def directions(link: dict[str, Any], files: Mapping[str, Facts]) -> list[dict[str, Any]]:
    """Return both directions of a link as the emulator is told of them."""
    config = planned(scenario(link), files=files).emulator_config
    told: list[dict[str, Any]] = config["links"][0]["directions"]
    return told


def configured(**link: Any) -> list[dict[str, Any]]:
    """Return both directions of a link that names no files."""
    return directions(link, {})


def constant(bit_s: int) -> dict[str, Any]:
    """Return a constant rate as the emulator is told of it."""
    return {"rate": {"model": "constant", "bit_s": bit_s}}


def droptail(**limit: int) -> dict[str, Any]:
    """Return a drop-tail queue as the emulator is told of it."""
    return {"queue": {"discipline": "droptail", "limit": limit}}


@pytest.mark.parametrize(
    ("link", "up", "down"),
    [
        ({"rate": "10 Mbit/s"}, constant(10**7), constant(10**7)),
        ({}, {"rate": None, "delay_ns": 0, "loss": None}, droptail(packets=1000)),
        ({"delay": "25 ms"}, {"delay_ns": 25_000_000}, {"delay_ns": 25_000_000}),
        ({"delay": "25 ms", "up": {"delay": "0 ms"}}, {"delay_ns": 0}, {"delay_ns": 25_000_000}),
        (
            {"rate": "10 Mbit/s", "down": {"rate": "50 Mbit/s"}},
            constant(10**7),
            constant(5 * 10**7),
        ),
        ({"loss": "2 %", "up": {"loss": "0 %"}}, {"loss": None}, {}),
        ({"queue": {"limit": "64 KiB"}}, droptail(bytes=65536), droptail(bytes=65536)),
        ({"queue": {"limit": "70 ms"}}, droptail(ns=70_000_000), droptail(ns=70_000_000)),
        (
            {"rate": "10 Mbit/s", "delay": "25 ms", "queue": {"limit": "1 BDP"}},
            droptail(packets=42),
            droptail(packets=42),
        ),
        (
            {"rate": "1 Mbit/s", "delay": "1 ms", "queue": {"limit": "1 BDP"}},
            droptail(packets=10),
            droptail(packets=10),
        ),
        (
            {"counted": "wire", "up": {"counted": "ip"}},
            {"overhead_bytes": 0},
            {"overhead_bytes": 38},
        ),
        (
            {"rate": {"bucket": "0.5 Mbit/s", "burst": "32 KiB"}},
            {"rate": {"model": "token_bucket", "bit_s": 500_000, "burst_bytes": 32768}},
            {},
        ),
        (
            {"rate": {"trace": "a.trace"}},
            {"rate": {"model": "trace", "path": "a.trace"}},
            {},
        ),
        (
            {"rate": {"trace": "a.trace", "sha256": "0" * 64}},
            {"rate": {"model": "trace", "path": "/links/" + "0" * 64}},
            {},
        ),
        (
            {"jitter": "0 ms", "reordering": {"share": "0 %", "hold": "1 ms"}},
            {"jitter": None},
            {"reordering": None},
        ),
    ],
)
def test_each_direction_has_the_values_of_its_link(
    link: dict[str, Any], up: dict[str, Any], down: dict[str, Any]
) -> None:
    """For both, unless ``up`` or ``down`` differs; in integers; a BDP queue is resolved."""
    first, second = configured(**link)
    assert first | up == first
    assert second | down == second


def without_key(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table without the key of its stream, which must be there."""
    assert int(table["key"]) < 2**64
    return {name: value for name, value in table.items() if name != "key"}


@pytest.mark.parametrize(
    ("link", "name", "told"),
    [
        ({"jitter": "5 ms"}, "jitter", {"distribution": "uniform", "spread_ns": 5_000_000}),
        (
            {"jitter": {"distribution": "pareto", "spread": "2 ms"}},
            "jitter",
            {"distribution": "pareto", "spread_ns": 2_000_000},
        ),
        (
            {"jitter": {"samples": ["1 ms", "-2 ms"]}},
            "jitter",
            {"distribution": "table", "samples_ns": [1_000_000, -2_000_000]},
        ),
        (
            {"reordering": {"share": "1 %", "hold": "10 ms"}},
            "reordering",
            {"probability": 0.01, "hold_ns": 10_000_000},
        ),
        ({"duplication": "0.1 %"}, "duplication", {"probability": 0.001}),
        ({"corruption": "0.01 %"}, "corruption", {"probability": 0.0001}),
        (
            {"loss": {"to_bad": "1 %", "to_good": "30 %"}},
            "loss",
            {
                "model": "gilbert_elliott",
                "to_bad": 0.01,
                "to_good": 0.3,
                "loss_good": 0.0,
                "loss_bad": 1.0,
            },
        ),
        (
            {"queue": {"discipline": "pie", "limit": "70 ms", "ecn": True}},
            "queue",
            {
                "discipline": "pie",
                "limit": {"ns": 70_000_000},
                "target_ns": 15_000_000,
                "update_ns": 15_000_000,
                "ecn": True,
            },
        ),
    ],
)
def test_every_impairment_has_a_stream_of_its_own(
    link: dict[str, Any], name: str, told: dict[str, Any]
) -> None:
    """In each direction another, so that switching one on shifts no other."""
    first, second = configured(**link)
    assert without_key(first[name]) == without_key(second[name]) == told
    assert first[name]["key"] != second[name]["key"]


def test_active_queues_have_their_own_parameters() -> None:
    """Those of the RFCs unless the link says others."""
    codel, _ = configured(queue={"discipline": "codel", "target": "13 ms"})
    assert codel["queue"] == {
        "discipline": "codel",
        "limit": {"packets": 1000},
        "target_ns": 13_000_000,
        "interval_ns": 100_000_000,
        "ecn": False,
    }
    fair, _ = configured(queue={"discipline": "fq_codel", "ecn": True})
    assert fair["queue"] | {"flows": 1024, "quantum_bytes": 1514, "ecn": True} == fair["queue"]


def test_listed_packets_are_sorted_and_need_no_stream() -> None:
    """The emulator searches among ascending numbers."""
    first, _ = configured(loss={"packets": [17, 3, 3]})
    assert first["loss"] == {"model": "listed", "numbers": [3, 17]}


def test_the_losses_of_a_record_are_those_of_each_direction() -> None:
    """A record that was not read is an error, not a record without losses."""
    link = {"loss": {"replay": "a.log", "sha256": "1" * 64}}
    files = {"1" * 64: LossRecord(([3, 17], [4]))}
    numbers = [way["loss"]["numbers"] for way in directions(link, files)]
    assert numbers == [[3, 17], [4]]
    with pytest.raises(ValueError, match="was not read"):
        directions(link, {})


def whole(**link: Any) -> dict[str, Any]:
    described: dict[str, Any] = planned(scenario(link)).emulator_config["links"][0]
    return described


def test_changes_are_listed_in_the_order_of_their_times() -> None:
    """Steps of a rate are changes; one of loss needs a stream although there is none at first."""
    told = whole(
        rate={"steps": [["0 s", "10 Mbit/s"], ["5 s", "2 Mbit/s"]]},
        schedule=[
            {"at": "7 s", "state": "down", "direction": "up"},
            {"at": "2 s", "loss": "3 %"},
            {"at": "3 s", "delay": "40 ms", "direction": "down"},
        ],
    )
    assert [
        (entry["at_ns"], entry["direction"], entry["change"]) for entry in told["schedule"]
    ] == [
        (2 * 10**9, None, {"loss": 0.03}),
        (3 * 10**9, 1, {"delay_ns": 40_000_000}),
        (5 * 10**9, 0, {"rate_bit_s": 2_000_000}),
        (5 * 10**9, 1, {"rate_bit_s": 2_000_000}),
        (7 * 10**9, 0, {"down": True}),
    ]
    for way in told["directions"]:
        assert without_key(way["loss"]) == {"model": "bernoulli", "probability": 0.0}
        assert way["rate"] == {"model": "constant", "bit_s": 10**7}


def test_events_name_the_packets_and_the_direction() -> None:
    """Delivered *to* the client is the second direction; sent *by* the server likewise."""
    told = whole(
        events=[
            {"name": "a", "when": {"delivered": "2 MB", "to": "client"}, "state": "down"},
            {"name": "b", "when": {"first_packet_of": "server"}, "after": "1 s", "state": "up"},
            {"name": "c", "when": {"handshake": True}},
        ]
    )["triggers"]
    assert [trigger["when"] for trigger in told] == [
        {"delivered_bytes": 2_000_000, "direction": 1},
        {"first_packet": True, "direction": 1},
        {"handshake": True},
    ]
    assert [trigger["change"] for trigger in told] == [{"down": True}, {"down": False}, None]
    assert [trigger["after_ns"] for trigger in told] == [0, 10**9, 0]


def test_a_cellular_trace_is_made_once_for_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each direction, whoever asks for its text or its gaps."""
    keys = []
    own = fates.cellular_trace

    def noted(model: CellularModel, key: int) -> npt.NDArray[np.int64]:
        keys.append(key)
        return own(model, key)

    monkeypatch.setattr(fates, "cellular_trace", noted)
    planned(scenario({"rate": {"cellular": {"mean": "1 Mbit/s", "duration": "3 s"}}}))
    assert len(keys) == len(set(keys)) == 2


def test_a_cellular_link_comes_with_its_trace() -> None:
    """Another in each direction and block, the same whenever it is planned again."""
    said = scenario({"rate": {"cellular": {"mean": "1 Mbit/s", "duration": "5 s"}}})
    emulator = planned(said).processes.emulator
    assert emulator == planned(said).processes.emulator
    up, down = (emulator.files[f"cellular-client-server-{way}.trace"] for way in ("up", "down"))
    assert up != down
    paths = [way["rate"]["path"] for way in planned(said).emulator_config["links"][0]["directions"]]
    assert paths == [f"/trial/cellular-client-server-{way}.trace" for way in ("up", "down")]
    assert 0 < sum(planned(said).waits_s) < 5


def test_a_tun_link_is_wired_when_the_emulator_is_ready() -> None:
    """It makes the devices; on their hosts they need what a veth's end has, and a longer queue."""
    made = planned(scenario({}), backend="tun")
    assert made.emulator_config["backend"] == "tun"
    assert (made.processes.wiring, made.processes.hosts) == (None, ())
    moves, *addresses = made.processes.after_ready
    assert moves.input == (
        "link set dev l0a netns client name eth0\nlink set dev l0b netns server name eth0\n"
    )
    assert [spec.host for spec in addresses] == ["client", "server"]
    wired = [spec for spec in planned(scenario({})).processes.hosts if spec.argv[0] == "ip"]
    for over_tun, over_veth in zip(addresses, wired, strict=True):
        first, _, rest = (over_tun.input or "").partition("\n")
        assert first.startswith("link set dev eth0 address 02:00:00:00:00:")
        assert first.endswith(" txqueuelen 8192")
        assert rest == over_veth.input
    assert made.processes.specs() == (made.processes.emulator, *made.processes.after_ready)


def test_the_loss_probability_keeps_every_bit() -> None:
    """The emulator and the check draw against the same float."""
    first, second = configured(loss="4 %")
    assert first["loss"]["probability"] == second["loss"]["probability"] == 0.04
    assert first["loss"]["key"] != second["loss"]["key"]


def controls_of_routes(plan: network_plan.NetworkPlan) -> dict[str | None, set[str]]:
    """Return the congestion controls of each host's routes."""
    controls: dict[str | None, set[str]] = {}
    for spec in plan.processes.hosts:
        for line in (spec.input or "").splitlines():
            if line.startswith("route"):
                controls.setdefault(spec.host, set()).add(line.partition(" congctl ")[2])
    return controls


def test_every_sender_has_its_congestion_control_by_route() -> None:
    """The client's default is cubic, and neither needs a sysctl of the machine."""
    document = trial(H2_LOSS).document
    roles = document["roles"] | {"server": {"implementation": "nginx", "congestion_control": "bbr"}}
    said = Scenario.model_validate(document | {"roles": roles})
    assert controls_of_routes(planned(said)) == {"client": {"cubic"}, "server": {"bbr"}}


def test_packets_are_kept_on_request_only() -> None:
    """A capture of every trial would fill the disk."""
    said = trial(H2_LOSS).scenario()
    assert planned(said).emulator_config["pcapng"] is None
    captured = planned(said, capture=True).emulator_config["pcapng"]
    assert captured == "/trial/link.pcapng"


def test_the_emulator_polls_by_the_real_clock_only() -> None:
    """On a virtual clock it sleeps: each poll would cost a system call, and timers are exact."""
    by_clock = {
        clock: plan.plan(trial(H2_LOSS).model_copy(update={"clock": clock}), CATALOG)
        for clock in ("real", "virtual")
    }
    spins = {clock: one.network.emulator_config["spin_us"] for clock, one in by_clock.items()}
    assert spins == {"real": 150, "virtual": 0}


def test_a_topology_is_planned_whoever_uses_it() -> None:
    """Without roles every host sends with cubic, and only what is asked for is logged."""
    topology = trial(H2_LOSS).scenario().topology
    bare = network_plan.plan(topology, {}, 1, 1)
    assert controls_of_routes(bare) == {"client": {"cubic"}, "server": {"cubic"}}
    assert bare.emulator_config["log"] is None
    logged = network_plan.plan(topology, {}, 1, 1, records=PacketRecords(log="/trial/l"))
    assert logged.emulator_config["log"] == "/trial/l"
