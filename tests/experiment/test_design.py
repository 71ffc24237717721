"""Randomised complete blocks: each block runs each treatment once, in an order from the seed."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpbed.experiment.design import Difference, design
from httpbed.experiment.document import SCENARIO_PARTS
from httpbed.experiment.experiment import experiment_model
from httpbed.experiment.trial import Trial
from recorded import DEMO


def trials(*, seed: int = 1, replicates: int = 5) -> list[Trial]:
    """Return the design of the demo with another seed and size."""
    document = tomllib.loads(DEMO) | {"seed": seed, "replicates": replicates}
    header = {key: value for key, value in document.items() if key not in SCENARIO_PARTS}
    return design(experiment_model().model_validate(header), document)


def orders(made: list[Trial]) -> list[list[tuple[str, ...]]]:
    """Return the treatments of each block in the order in which they run."""
    blocks = sorted({trial.block for trial in made})
    return [[tuple(t.levels.values()) for t in made if t.block == block] for block in blocks]


@settings(max_examples=20)
@given(st.integers(0, 2**63 - 1), st.integers(1, 6))
def test_each_treatment_runs_once_in_each_block(seed: int, replicates: int) -> None:
    """Blocks are complete and consecutive, and their positions count from 1."""
    made = trials(seed=seed, replicates=replicates)
    everything = sorted((version, loss) for version in "1.1 2 3".split() for loss in ("0 %", "2 %"))  # noqa: SIM905
    assert [sorted(block) for block in orders(made)] == [everything] * replicates
    assert [trial.position for trial in made] == [1, 2, 3, 4, 5, 6] * replicates
    assert [trial.block for trial in made] == sorted(trial.block for trial in made)


@settings(max_examples=20)
@given(st.integers(0, 2**63 - 1))
def test_the_order_is_a_function_of_the_seed(seed: int) -> None:
    """A design can be reproduced from its file; more blocks do not change earlier blocks."""
    assert trials(seed=seed) == trials(seed=seed)
    assert trials(seed=seed, replicates=2) == trials(seed=seed, replicates=5)[:12]


def test_orders_differ_between_blocks_and_seeds() -> None:
    """Drift within blocks cannot favour the same treatment in all of them."""
    one, other = orders(trials(seed=1)), orders(trials(seed=2))
    assert len({str(order) for order in one}) > 1
    assert one != other


def test_every_treatment_comes_first_in_at_least_one_block() -> None:
    """Over many blocks every treatment gets every position."""
    assert len({order[0] for order in orders(trials(replicates=50))}) == 6


def test_trial_ids_are_unique_and_independent_of_the_position() -> None:
    """The id depends on what is executed only."""
    made = trials()
    assert len({trial.id for trial in made}) == len(made)
    assert made[0].model_copy(update={"position": 6}).id == made[0].id
    assert made[0].model_copy(update={"seed": 2}).id != made[0].id


def test_a_trial_survives_the_round_trip_through_design_jsonl() -> None:
    """A line of ``design.jsonl`` reads back as an equal trial with the same id."""
    for trial in trials():
        again = Trial.model_validate_json(trial.model_dump_json())
        assert again == trial
        assert again.id == trial.id


def test_an_experiment_without_factors_has_one_treatment() -> None:
    """Each block then has one trial."""
    document = tomllib.loads(
        DEMO.replace('{ factor = "loss" }', '"0 %"').replace('{ factor = "http_version" }', '"2"')
    )
    header = {"schema": 1, "name": "one", "question": "?", "replicates": 3, "seed": 1}
    made = design(experiment_model().model_validate(header), document)
    assert [trial.levels for trial in made] == [{}, {}, {}]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("topology.links[0].rate.sha256", "restore the file that topology.links[0].rate names"),
        ("topology.links[0].rate.mean", "restore the file that topology.links[0].rate names"),
        ("topology.links[0].delay", "restore topology.links[0].delay"),
    ],
)
def test_a_key_that_no_user_writes_is_not_to_be_restored(key: str, remedy: str) -> None:
    """The digest and the mean rate of a trace come from its file."""
    assert Difference(key, '"1"', '"2"').remedy == remedy
