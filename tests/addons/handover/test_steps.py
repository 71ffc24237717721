"""The steps of a hand-over: which, on which link, in which order, and when."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from httpbed.addons.handover import handover_steps as handover
from httpbed.addons.handover.handover_addition import ADDITION
from httpbed.addons.handover.handover_model import Handover
from httpbed.addons.handover.handover_plan import HandoverPlan
from httpbed.addons.handover.handover_steps import Step
from httpbed.experiment.scenario import Scenario
from httpbed.trial import plan as bed
from recorded import CATALOG, HANDED_OVER, planned, trial

ONCE = {"delivered": "1 MB"}
REPEATED = {"every": "2 s"}


def described(kind: str, *, links: int = 2, when: Any = ONCE, **more: Any) -> Handover:
    """Describe hand-overs between links a, b, c."""
    said = {"links": list("abc"[:links]), "kind": kind, "when": when, **more}
    return Handover.model_validate(said)


def told(found: Handover, number: int = 1) -> list[str]:
    """Write steps in a few words."""
    return [f"{step.after_s:g} {step.what} {step.link}" for step in handover.steps(found, number)]


def test_sockets_are_destroyed_with_a_deleted_address() -> None:
    """The next link needs no step."""
    assert told(described("address deleted")) == ["0 detach a"]
    destroyed = described("address deleted", sockets="destroyed")
    assert told(destroyed) == ["0 detach a", "0 destroy a"]


def test_a_gap_delays_the_next_address() -> None:
    """Each time."""
    gap = described("address deleted", gap="200 ms", when=REPEATED)
    assert told(gap) == ["0 detach a", "0.2 attach b"]
    assert told(gap, 2) == ["0 detach b", "0.2 attach a"]


def test_a_link_gets_its_address_back_before_it_is_needed() -> None:
    """The address is back early, and not preferred until the hand-over."""
    repeated = described("address deleted", when=REPEATED)
    assert told(repeated, 1) == ["0 detach a", "0 prefer b", "1 attach a"]
    assert told(repeated, 2) == ["0 detach b", "0 prefer a", "1 attach b"]


def test_of_three_links_only_the_next_one_gets_its_address_back() -> None:
    """The third had its address all along."""
    three = described("address deleted", links=3, when=REPEATED)
    assert told(three, 1) == ["0 detach a", "0 prefer b"]
    assert told(three, 2) == ["0 detach b", "0 prefer c", "1 attach a"]
    assert told(three, 3) == ["0 detach c", "0 prefer a", "1 attach b"]


@pytest.mark.parametrize(("number", "old", "new"), [(1, "a", "b"), (2, "b", "a")])
def test_make_before_break_adds_before_it_deletes(number: int, old: str, new: str) -> None:
    """Both addresses exist during the overlap."""
    both = described("make before break", overlap="1 s", sockets="destroyed", when=REPEATED)
    steps = [f"0 attach {new}", f"0 prefer {new}", f"1 detach {old}", f"1 destroy {old}"]
    assert told(both, number) == steps


def test_a_route_change_only_prefers_the_next_link() -> None:
    """Nothing else changes."""
    assert told(described("route", when=REPEATED), 2) == ["0 prefer a"]


def test_a_blackhole_ends_when_the_next_begins() -> None:
    """A link that never went down needs no step up."""
    hole = described("blackhole", when=REPEATED)
    assert told(hole, 1) == ["0 down a"]
    assert told(hole, 2) == ["0 up a", "0 down b"]
    three = described("blackhole", links=3, when=REPEATED)
    assert [told(three, number) for number in (2, 3)] == [["0 down b"], ["0 up a", "0 down c"]]


def test_a_nat_rebinding_stays_on_the_first_link() -> None:
    """However many links the client has."""
    assert told(described("NAT rebinding", links=2, when=REPEATED), 2) == ["0 rebind a"]


@pytest.mark.parametrize("kind", sorted(handover.DECISIVE))
@pytest.mark.parametrize("number", [1, 2, 5])
def test_every_hand_over_has_one_change_and_ascending_times(kind: str, number: int) -> None:
    """No step is due after the next hand-over."""
    overlap = "1 s" if kind == "make before break" else None
    repeated = described(kind, when=REPEATED, overlap=overlap)
    steps = handover.steps(repeated, number)
    assert [step.what for step in steps].count(handover.DECISIVE[repeated.kind]) == 1
    times = [step.after_s for step in steps]
    assert times == sorted(times)
    assert times[-1] < 2.0


def test_a_hand_over_is_due_by_time_period_or_bytes() -> None:
    """Each way gives its due time."""
    every, at = described("route", when=REPEATED), described("route", when={"at": "3 s"})
    assert [handover.after_last_s(every, number) for number in (1, 7)] == [2.0, 2.0]
    assert [handover.after_last_s(at, number) for number in (1, 2)] == [3.0, None]
    assert handover.after_last_s(described("route"), 1) is None


def test_the_emulators_trigger_counts_deliveries_on_the_first_link() -> None:
    """The experiment's topology stays unchanged."""
    scenario = trial(HANDED_OVER).scenario()
    watched = handover.with_trigger(scenario, scenario.topology)
    assert [link.events for link in scenario.topology.links] == [[], [], []]
    assert [len(link.events) for link in watched.links] == [1, 0, 0]
    (trigger,) = planned(HANDED_OVER).network.emulator_config["links"][0]["triggers"]
    assert trigger == {
        "name": "hand-over",
        "when": {"delivered_bytes": 120_000, "direction": 1},
        "after_ns": 0,
        "direction": None,
        "change": None,
    }


def test_only_a_nat_rebinding_has_a_nat() -> None:
    """The NAT is on the first link."""
    assert ADDITION.nat(trial(HANDED_OVER).scenario()) == ()
    assert ADDITION.nat(scenario(kind="NAT rebinding")) == (0,)


def scenario(**changes: Any) -> Scenario:
    """Change the hand-over of a recorded attempt."""
    said = copy.deepcopy(trial(HANDED_OVER).document)
    said["handover"] = {**said["handover"], "sockets": "kept", **changes}
    return Scenario.model_validate(said)


def test_addresses_of_later_links_are_removed_at_first() -> None:
    """The addresses stay if the client has them from start to end."""
    whole, part = trial(HANDED_OVER), trial(HANDED_OVER)
    part.document["handover"]["gap"] = "100 ms"
    plans = [bed.plan(one, CATALOG).attempt.addition(HandoverPlan) for one in (whole, part)]
    assert [len(plan.without_addresses()) for plan in plans if plan] == [0, 1]


def test_a_step_runs_on_the_clients_host_or_in_the_emulator() -> None:
    """Its output file has the number of the hand-over."""
    plan = planned(HANDED_OVER).attempt.addition(HandoverPlan)
    assert plan is not None
    destroy = Step(0.0, "destroy", "wifi")
    spec = plan.carried_out_by(destroy, 3)
    assert spec is not None
    assert (spec.host, spec.stdout) == ("client", "sockets-destroyed-3.txt")
    assert [look.stdout for look in plan.verified_by(destroy, 3)] == ["sockets-left-3.txt"]
    assert plan.carried_out_by(Step(0.0, "down", "wifi"), 1) is None
    assert plan.verified_by(Step(0.0, "detach", "wifi"), 1) == ()


def test_packets_are_logged() -> None:
    assert planned(HANDED_OVER).network.emulator_config["log"] == "/trial/packets.tsv"
