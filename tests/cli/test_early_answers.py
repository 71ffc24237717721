"""In virtual time a comparison answers each condition of the network before the run has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import stored_campaigns
from httpbed.base.clock import Clock
from httpbed.campaign import preparation
from httpbed.campaign.executor import AttemptProgress
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import DesignOptions
from httpbed.cli import early_answers
from httpbed.cli.progress import Reporter
from httpbed.programs import catalog
from httpbed.report.answer import answer
from httpbed.results.findings import find
from httpbed.store import query
from recorded import DEMO

SIX_BLOCKS = DEMO.replace("replicates = 5", "replicates = 6")
CONDITIONS = ["loss 0 %", "loss 2 %"]
OF_VERSION = {"1.1": 0.1, "2": 0.1, "3": 0.0}
"""Seconds beside the block's."""


def loaded(clock: Clock, text: str = SIX_BLOCKS) -> LoadedExperiment:
    return preparation.load(text, catalog.load(), options=DesignOptions(clock=clock))


def test_conditions_run_one_after_the_other_and_each_block_by_block() -> None:
    experiment = loaded("virtual")
    work, parts = early_answers.by_condition([(one, 1) for one in experiment.trials], experiment)
    assert parts.sizes == dict.fromkeys(CONDITIONS, 18)
    assert [parts.name(trial) for trial, _ in work] == [
        *[CONDITIONS[0]] * 18,
        *[CONDITIONS[1]] * 18,
    ]
    assert [trial.block for trial, _ in work] == [*sorted([1, 2, 3, 4, 5, 6] * 3)] * 2
    assert {trial.id for trial, _ in work} == {trial.id for trial in experiment.trials}


def test_only_virtual_time_and_several_conditions_permit_it() -> None:
    """In real time a block's trials run close together, because the machine drifts."""
    one_network = SIX_BLOCKS.replace('["0 %", "2 %"]', '["0 %"]')
    assert early_answers.apply_to(loaded("virtual"))
    assert not early_answers.apply_to(loaded("real"))
    assert not early_answers.apply_to(loaded("virtual", one_network))


def test_an_early_answer_is_the_one_that_the_report_has_at_the_end(tmp_path: Path) -> None:
    trials = sorted(loaded("real").trials, key=lambda trial: trial.levels["loss"])

    def early(count: int) -> list[str]:
        records = [
            stored_campaigns.record(
                trial, seconds=1 + trial.block / 100 + OF_VERSION[trial.levels["http_version"]]
            )
            for trial in trials[:count]
        ]
        stored_campaigns.make(tmp_path / str(count), records, SIX_BLOCKS)
        return list(early_answers.answer(tmp_path / str(count), CONDITIONS[0]))

    at_first = early(len(trials) // 2)
    assert len(at_first) == 2
    assert early(len(trials)) == at_first
    results = query.read(tmp_path / str(len(trials)))
    at_the_end = [str(sentence) for sentence in answer(find(results), results.document)]
    assert {line.removeprefix("answer: ") for line in at_first} < {*at_the_end}


def test_each_part_but_the_last_is_answered_during_the_run(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The report follows the last one."""
    experiment = loaded("virtual")
    work, parts = early_answers.by_condition([(one, 1) for one in experiment.trials], experiment)

    async def run(reporter: Reporter) -> None:
        for trial, _ in work:
            ended = stored_campaigns.record(trial).attempt
            reporter.report(AttemptProgress(ended, retried=False))

    with Reporter(len(work), parts, answer=lambda part: [f"answer of {part}"]) as reporter:
        asyncio.run(run(reporter))
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("answer")] == [f"answer of {CONDITIONS[0]}"]
    assert sum(" done, " in line for line in lines) == 2
