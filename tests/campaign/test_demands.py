"""What attempts are taken to need, and beside how much they may start."""

from __future__ import annotations

import math

import pytest

from admitted_attempts import CPUS, LIGHT, OTHER, OTHER_NETWORK, record
from httpbed.campaign import demands
from httpbed.campaign.demands import (
    FIRST_RANGE,
    LEAST_TOLERANCE,
    LOWER,
    RAISE,
    UNKNOWN_DEMAND,
    Demands,
)
from httpbed.experiment.trial import Attempt, Trial

pytestmark = pytest.mark.usefixtures("four_idle_cpus")


def attempt(trial: Trial, share: float, cpus: float | None = None) -> Attempt:
    """Return an attempt with this share of the limit of CPU pressure."""
    return record(trial, share, cpus).attempt


def test_a_treatment_of_unknown_demand_is_taken_for_one_of_its_kind() -> None:
    """Another network is of the same kind; another client is not."""
    learnt = Demands(CPUS)
    assert learnt.of(LIGHT) == UNKNOWN_DEMAND
    learnt.learn(attempt(LIGHT, 0.0, 1.5))
    learnt.learn(attempt(LIGHT, 0.0, None))
    assert learnt.of(OTHER_NETWORK) == pytest.approx(1.5)
    assert learnt.of(OTHER) == UNKNOWN_DEMAND


def test_each_treatment_has_its_own_demand_once_an_attempt_has_ended() -> None:
    """A slow network takes the same page's CPU time over a longer time."""
    learnt = Demands(CPUS)
    learnt.learn(attempt(LIGHT, 0.0, 1.5))
    learnt.learn(attempt(OTHER_NETWORK, 0.0, 0.1))
    assert learnt.of(LIGHT) == pytest.approx(1.5)
    assert learnt.of(OTHER_NETWORK) == pytest.approx(0.1)


def test_the_shorter_an_attempt_the_more_its_start_and_end_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An attempt of 1 s and one of 10 s have the same client and the same set-up."""
    monkeypatch.setattr(demands, "OVERHEAD_S", 0.15)

    def demand(client_s: float, cpus: float) -> float:
        learnt, made = Demands(CPUS), attempt(LIGHT, 0.0, cpus)
        phases_s = {"network": 0.2, "client": client_s, "tear-down": 0.3}
        learnt.learn(made.model_copy(update={"phases_s": phases_s}))
        return learnt.of(LIGHT)

    assert demand(0.5, 0.05) == pytest.approx(0.175)
    assert demand(9.5, 0.05) == pytest.approx(0.0625)
    assert demand(0.5, 1.0) == pytest.approx(1.0), "while its client runs, it needs a whole CPU"


def test_the_set_up_is_no_part_of_what_a_client_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs much for the length of a short attempt."""
    monkeypatch.setattr(demands, "OVERHEAD_S", 1.0)
    learnt = Demands(CPUS)
    learnt.learn(attempt(LIGHT, 0.0, 0.1))
    assert learnt.of(LIGHT) > learnt.of_client(LIGHT) == pytest.approx(0.1)


def test_a_strained_attempt_lowers_no_demand() -> None:
    """It had less of the CPUs than it needed."""
    learnt = Demands(CPUS)
    learnt.learn(attempt(LIGHT, 0.0, 1.0))
    learnt.learn(attempt(LIGHT, 2.0, 0.5))
    assert learnt.of(LIGHT) == pytest.approx(1.0)
    learnt.learn(attempt(LIGHT, 2.0, 1.5))
    assert learnt.of(LIGHT) == pytest.approx(1.5)


def of_another_client() -> Trial:
    """Return LIGHT with another client."""
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
    assert learnt.of(of_another_size()) == pytest.approx(1.5)
    assert learnt.of_client(of_another_size()) == pytest.approx(1.5)
    assert learnt.of(of_another_client()) == UNKNOWN_DEMAND


def test_strained_attempts_lower_what_their_client_tolerates() -> None:
    """Other clients are not affected."""
    learnt = Demands(CPUS)
    learnt.learn_tolerance(attempt(LIGHT, 1.0, 1.0), beside=CPUS)
    assert learnt.tolerance(LIGHT, 1.0) == CPUS, "more than all CPUs makes no difference"
    learnt.learn_tolerance(attempt(LIGHT, 1.1, 1.0), beside=1.0)
    assert learnt.tolerance(of_another_size(), 1.0) == pytest.approx(LOWER * CPUS)
    assert learnt.tolerance(of_another_client(), 1.0) == CPUS
    for _ in range(100):
        learnt.learn_tolerance(attempt(LIGHT, 1.1, 1.0), beside=1.0)
    assert learnt.tolerance(LIGHT, 1.0) == LEAST_TOLERANCE


def test_a_tolerance_belongs_to_a_range_of_demand() -> None:
    """A page load of a minute tolerates more than one of a second."""
    learnt = Demands(CPUS)
    learnt.learn_tolerance(attempt(LIGHT, 1.1, 3.9 * FIRST_RANGE), beside=1.0)
    learnt.learn_tolerance(attempt(LIGHT, 1.1, 0.0), beside=1.0)
    learnt.learn_tolerance(attempt(LIGHT, 1.1, FIRST_RANGE), beside=1.0)
    ends = (0.0, 1.0, 1.1, 2.0, 2.1, 4.0, 4.1)
    tolerances = [learnt.tolerance(LIGHT, end * FIRST_RANGE) / CPUS for end in ends]
    assert tolerances == pytest.approx([LOWER**2, LOWER**2, 1, 1, LOWER, LOWER, 1])


@pytest.mark.parametrize(
    ("share", "cpus", "beside"),
    [(1.1, 1.0, 0.0), (0.0, 1.0, 0.1)],
    ids=["was alone", "went well beside little"],
)
def test_an_attempt_that_tells_nothing_leaves_the_tolerance(
    share: float, cpus: float, beside: float
) -> None:
    """It was strained for another reason, or would have gone well in any case."""
    learnt = Demands(CPUS)
    learnt.learn_tolerance(attempt(LIGHT, 1.1, 1.0), beside=1.0)
    learnt.learn_tolerance(attempt(LIGHT, share, cpus), beside=beside)
    assert learnt.tolerance(LIGHT, 1.0) == pytest.approx(LOWER * CPUS)


def test_attempts_that_went_well_beside_enough_raise_the_tolerance() -> None:
    """Slowly."""
    learnt = Demands(CPUS)
    learnt.learn_tolerance(attempt(LIGHT, 1.1, 1.0), beside=1.0)
    learnt.learn_tolerance(attempt(LIGHT, 1.0, 1.0), beside=LOWER * CPUS / 2)
    assert learnt.tolerance(LIGHT, 1.0) == pytest.approx(LOWER * CPUS * RAISE)


def test_in_equilibrium_one_attempt_in_ten_is_strained() -> None:
    """The tolerance then stays the same."""
    assert 0.1 * math.log(LOWER) + 0.9 * math.log(RAISE) == pytest.approx(0, abs=5e-4)
