"""Ways to plant a fault in a trial of real programs: in its plan, its recipe or its evidence."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import process_tree
from families import until
from httpbed.experiment.trial import Record
from httpbed.trial import evidence, plan
from httpbed.trial.attempt_plan import TrialPlan

Caught = Callable[[Iterable[Record]], bool]
"""Whether the check that a test's marker names is broken in every attempt."""


def only(records: list[Record], outcome: str) -> Record:
    """Return the one record that counts, which must have this outcome.

    A busy machine may have made attempts before it invalid.
    """
    spoilt = {"invalid"} - {outcome}
    (record,) = [one for one in records if one.attempt.outcome.kind not in spoilt]
    assert record.attempt.outcome.kind == outcome, record.attempt.outcome.reason
    return record


def replan(monkeypatch: pytest.MonkeyPatch, change: Callable[[TrialPlan], TrialPlan]) -> None:
    """Change what the runner is about to start."""
    honest = plan.by_setup
    monkeypatch.setattr(plan, "by_setup", lambda trial, setup: change(honest(trial, setup)))


def recipe(folder: Path, name: str, old: str, new: str) -> Path:
    """Write a folder with a shipped recipe in which something was changed."""
    text = (resources.files("httpbed.programs") / "recipes" / f"{name}.toml").read_text()
    assert old in text
    folder.mkdir()
    (folder / f"{name}.toml").write_text(text.replace(old, new))
    return folder


def forge(monkeypatch: pytest.MonkeyPatch, change: Callable[[str, int], int]) -> None:
    """Change integers of the emulator's result, by their keys, before they are read."""

    def changed(said: Any) -> Any:
        if isinstance(said, list):
            return [changed(one) for one in said]
        if not isinstance(said, dict):
            return said
        return {
            key: change(key, value) if isinstance(value, int) else changed(value)
            for key, value in said.items()
        }

    honest = evidence.read

    def read(
        planned: Any, catalog: Any, artifacts: Path, additions: Any = ()
    ) -> evidence.AttemptEvidence:
        result = artifacts / "link-result.json"
        result.write_text(json.dumps(changed(json.loads(result.read_text()))))
        return honest(planned, catalog, artifacts, additions)

    monkeypatch.setattr(evidence, "read", read)


def attempted(planned: TrialPlan, **changes: Any) -> TrialPlan:
    """Return a plan with other fields of its attempt."""
    attempt = dataclasses.replace(planned.attempt, **changes)
    return dataclasses.replace(planned, attempt=attempt)


def renetworked(planned: TrialPlan, **changes: Any) -> TrialPlan:
    """Return a plan with other processes that make its network."""
    return attempted(planned, network=dataclasses.replace(planned.attempt.network, **changes))


def otherwise_emulated(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], None]
) -> None:
    """Configure the emulator otherwise than the experiment says, one direction after the other."""

    def mistell(planned: TrialPlan) -> TrialPlan:
        config = copy.deepcopy(dict(planned.network.emulator_config))
        for link in config["links"]:
            for direction in link["directions"]:
                change(direction)
        emulator = planned.attempt.network.emulator
        files = {**emulator.files, "link.json": json.dumps(config)}
        return renetworked(planned, emulator=dataclasses.replace(emulator, files=files))

    replan(monkeypatch, mistell)


def to_emulators(count: int, act: Callable[[int], None]) -> None:
    """Do something to so many emulators, each while its client fetches."""
    met = set[int]()
    while len(met) < count:
        until(lambda: len(emulators() - met) > 0)
        for pid in emulators() - met:
            time.sleep(0.05)
            act(pid)
            met.add(pid)


def emulators() -> set[int]:
    """Find the emulators of this process's trials while clients fetch."""
    family = process_tree.descendants(os.getpid())
    running = {process.name for process in family}
    names = {"httpbed-link"} if "curl" in running else set()
    return {process.pid for process in family if process.name in names}
