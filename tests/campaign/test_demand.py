"""What attempts are taken to need, and beside how much they may start."""

from __future__ import annotations

import pytest

from admitted_attempts import CPUS, LIGHT, OTHER, OTHER_NETWORK, record
from httpbed.campaign.demand import (
    FIRST_RANGE,
    INFORMATIVE_SHARE,
    LOWER,
    MIN_TOLERANCE,
    RAISE,
    UNKNOWN_DEMAND,
    Demands,
    Keys,
)
from httpbed.experiment.trial import Attempt, Trial

pytestmark = pytest.mark.usefixtures("four_idle_cpus")


def attempt(trial: Trial, share: float, cpus: float | None = None) -> Attempt:
    return record(trial, share, cpus).attempt


def test_a_treatment_of_unknown_demand_is_taken_for_one_of_its_kind() -> None:
    """The network does not belong to the kind; the client does."""
    learnt = Demands(CPUS)
    assert learnt.of(Keys.of(LIGHT)) == UNKNOWN_DEMAND
    learnt.learn(attempt(LIGHT, 0.0, 1.5))
    learnt.learn(attempt(LIGHT, 0.0, None))
    assert learnt.of(Keys.of(OTHER_NETWORK)) == pytest.approx(1.5)
    assert learnt.of(Keys.of(OTHER)) == UNKNOWN_DEMAND


def test_each_treatment_has_its_own_demand_once_an_attempt_has_ended() -> None:
    """A slow network takes the same page's CPU time over a longer time."""
    learnt = Demands(CPUS)
    learnt.learn(attempt(LIGHT, 0.0, 1.5))
    learnt.learn(attempt(OTHER_NETWORK, 0.0, 0.1))
    assert learnt.of(Keys.of(LIGHT)) == pytest.approx(1.5)
    assert learnt.of(Keys.of(OTHER_NETWORK)) == pytest.approx(0.1)


def test_the_shorter_an_attempt_the_more_its_start_and_end_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An attempt of 1 s and one of 10 s have the same client and the same set-up."""
    monkeypatch.setattr("httpbed.campaign.demand.OVERHEAD_S", 0.15)

    def demand(client_s: float, cpus: float) -> float:
        learnt, made = Demands(CPUS), attempt(LIGHT, 0.0, cpus)
        phases_s = {"network": 0.2, "client": client_s, "tear-down": 0.3}
        learnt.learn(made.model_copy(update={"phases_s": phases_s}))
        return learnt.of(Keys.of(LIGHT))

    assert demand(0.5, 0.05) == pytest.approx(0.175)
    assert demand(9.5, 0.05) == pytest.approx(0.0625)
    assert demand(0.5, 1.0) == pytest.approx(1.0), "while its client runs, it needs a whole CPU"


def test_the_set_up_is_no_part_of_what_a_client_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs much for the length of a short attempt."""
    monkeypatch.setattr("httpbed.campaign.demand.OVERHEAD_S", 1.0)
    learnt = Demands(CPUS)
    learnt.learn(attempt(LIGHT, 0.0, 0.1))
    assert learnt.of(Keys.of(LIGHT)) > learnt.of_client(Keys.of(LIGHT)) == pytest.approx(0.1)


def test_a_strained_attempt_lowers_no_demand() -> None:
    """It had less of the CPUs than it needed."""
    learnt = Demands(CPUS)
    learnt.learn(attempt(LIGHT, 0.0, 1.0))
    learnt.learn(attempt(LIGHT, 2.0, 0.5))
    assert learnt.of(Keys.of(LIGHT)) == pytest.approx(1.0)
    learnt.learn(attempt(LIGHT, 2.0, 1.5))
    assert learnt.of(Keys.of(LIGHT)) == pytest.approx(1.5)


def of_another_client() -> Trial:
    role = {**LIGHT.document["roles"]["client"], "implementation": "another"}
    roles = {**LIGHT.document["roles"], "client": role}
    document = {**LIGHT.document, "roles": roles}
    return LIGHT.model_copy(update={"document": document, "levels": {"client": "another"}})


def of_another_size() -> Trial:
    """Return LIGHT with another workload, so of another kind and treatment."""
    document = {**LIGHT.document, "workload": {"kind": "download", "size": "77 B"}}
    return LIGHT.model_copy(update={"document": document, "levels": {"size": "77 B"}})


def test_an_attempt_of_an_unknown_kind_is_taken_for_one_of_its_client() -> None:
    """A grid whose treatments run once has a kind for every size and path."""
    learnt = Demands(CPUS)
    learnt.learn(attempt(LIGHT, 0.0, 1.5))
    assert learnt.of(Keys.of(of_another_size())) == pytest.approx(1.5)
    assert learnt.of_client(Keys.of(of_another_size())) == pytest.approx(1.5)
    assert learnt.of(Keys.of(of_another_client())) == UNKNOWN_DEMAND


KEYS = Keys.of(LIGHT)


def test_strained_attempts_lower_the_tolerance_of_their_client() -> None:
    """The tolerances of other clients stay as they are."""
    learnt = Demands(CPUS)
    learnt.learn_tolerance(KEYS, 1.0, CPUS, strained=False)
    assert learnt.tolerance(KEYS, 1.0) == CPUS, "more than all CPUs makes no difference"
    learnt.learn_tolerance(KEYS, 1.0, CPUS, strained=True)
    assert learnt.tolerance(Keys.of(of_another_size()), 1.0) == pytest.approx(LOWER * CPUS)
    assert learnt.tolerance(Keys.of(of_another_client()), 1.0) == CPUS
    for _ in range(100):
        learnt.learn_tolerance(KEYS, 1.0, CPUS, strained=True)
    assert learnt.tolerance(KEYS, 1.0) == MIN_TOLERANCE


def test_a_tolerance_belongs_to_a_range_of_demand() -> None:
    """A page load of a minute tolerates more than one of a second."""
    learnt = Demands(CPUS)
    for demand in (3.9 * FIRST_RANGE, 0.0, FIRST_RANGE):
        learnt.learn_tolerance(KEYS, demand, CPUS, strained=True)
    ends = (0.0, 1.0, 1.1, 2.0, 2.1, 4.0, 4.1)
    tolerances = [learnt.tolerance(KEYS, end * FIRST_RANGE) / CPUS for end in ends]
    assert tolerances == pytest.approx([LOWER**2, LOWER**2, 1, 1, LOWER, LOWER, 1])


@pytest.mark.parametrize("strained", [True, False])
def test_an_attempt_beside_little_does_not_change_a_tolerance(*, strained: bool) -> None:
    """Something outside of the campaign strained it, or it was valid in any case."""
    learnt = Demands(CPUS)
    learnt.learn_tolerance(KEYS, 1.0, CPUS, strained=True)
    before = learnt.tolerance(KEYS, 1.0)
    learnt.learn_tolerance(KEYS, 1.0, 0.99 * INFORMATIVE_SHARE * before, strained=strained)
    assert learnt.tolerance(KEYS, 1.0) == before
    learnt.learn_tolerance(KEYS, 1.0, INFORMATIVE_SHARE * before, strained=strained)
    assert learnt.tolerance(KEYS, 1.0) == pytest.approx(before * (LOWER if strained else RAISE))


def test_in_equilibrium_one_attempt_in_ten_is_strained() -> None:
    """Simulate a client whose attempts are strained beside more than half a CPU."""
    learnt, strained = Demands(CPUS), 0
    for number in range(2000):
        beside = learnt.tolerance(KEYS, 1.0)
        learnt.learn_tolerance(KEYS, 1.0, beside, strained=beside > 0.5)
        strained += number >= 1000 and beside > 0.5
    assert 0.08 <= strained / 1000 <= 0.12
