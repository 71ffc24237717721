"""The clock is part of what a trial executes, and trials by the real clock are as before."""

from __future__ import annotations

import json
import tomllib

import pytest

from httpbed.base.clock import Clock
from httpbed.experiment import parser
from httpbed.experiment.design import Version, design, differences
from httpbed.experiment.document import SCENARIO_PARTS
from httpbed.experiment.experiment import experiment_model
from httpbed.experiment.trial import Trial
from recorded import DEMO


def trials(clock: Clock | None = None) -> list[Trial]:
    document = tomllib.loads(DEMO)
    header = {key: value for key, value in document.items() if key not in SCENARIO_PARTS}
    return design(experiment_model().model_validate(header).with_clock(clock), document)


def test_a_trial_by_the_real_clock_is_written_without_a_clock() -> None:
    """So its id is that of trials before there was a choice."""
    (trial, *_) = trials()
    assert "clock" not in json.loads(trial.model_dump_json())
    assert trial.id == trials("real")[0].id


def test_a_trial_in_virtual_time_is_another_trial() -> None:
    """Nothing measured by one clock counts as measured by the other."""
    (trial, *_) = trials("virtual")
    assert trial.id != trials()[0].id
    assert trial.model_copy(update={"clock": "real"}).id == trials()[0].id


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_a_trial_is_read_as_it_was_written(clock: Clock) -> None:
    """A campaign's design and its attempts keep the clock."""
    (trial, *_) = trials(clock)
    assert Trial.model_validate_json(trial.model_dump_json()) == trial


def test_another_clock_is_a_difference_of_experiments() -> None:
    """A run in virtual time cannot resume a campaign in real time, whatever the file says."""
    document = tomllib.loads(DEMO)
    real, virtual = (Version(document, trials(clock)) for clock in ("real", "virtual"))
    (found,) = differences(real, virtual, ran=())
    assert str(found) == 'clock was "real" and is now "virtual"'


def test_the_file_may_name_the_clock() -> None:
    """The key stands at the top of the file."""
    read = parser.read(DEMO.replace("schema = 1\n", 'schema = 1\nclock = "virtual"\n', 1))
    assert read.experiment is not None
    assert read.experiment.clock == "virtual"
