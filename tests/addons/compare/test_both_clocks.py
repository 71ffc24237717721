"""A comparison by both clocks: pairs, verdicts within 2 %, and what has no pair."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from httpbed.addons.compare import both_clocks
from httpbed.experiment.factorial import treatment_key
from httpbed.report import terminal
from httpbed.results.sample import Sample, Tally

LEVELS = {"client": "curl:h3"}
KEY = treatment_key(LEVELS)


def sample(times: Mapping[int, float]) -> Sample:
    return Sample("request_time", LEVELS, dict(times), {}, ">", Tally(planned=len(times)))


def row(real: Mapping[int, float], virtual: Mapping[int, float]) -> both_clocks.TreatmentByClocks:
    (found,) = both_clocks.rows({KEY: sample(real)}, {KEY: sample(virtual)})
    return found


def times(factor: float, blocks: int = 8) -> dict[int, float]:
    return {block: factor * (1 + 0.001 * (block % 3)) for block in range(1, blocks + 1)}


def test_the_verdict_has_a_margin_of_two_percent() -> None:
    verdicts = {factor: row(times(1), times(factor)).found.verdict for factor in (0.99, 0.96, 1.04)}
    assert verdicts == {0.99: "same", 0.96: "different", 1.04: "different"}


def test_one_pair_settles_nothing() -> None:
    assert row(times(1, 1), times(1, 1)).found.verdict == "open"


def test_trials_without_a_pair_are_counted_by_their_clock() -> None:
    found = row({1: 1.0, 2: 1.0}, {2: 1.1, 3: 1.1, 4: 1.1})
    assert (found.found.n, found.only) == (1, {"real": 1, "virtual": 2})
    assert (found.real_s, found.virtual_s) == (1.0, 1.1)


def test_a_single_treatment_is_not_called_all(capsys: pytest.CaptureFixture[str]) -> None:
    """It has no factor, and so no level to be named by."""
    alone = Sample("request_time", {}, times(1), {}, ">", Tally(planned=8))
    key = treatment_key({})
    both_clocks.show(both_clocks.rows({key: alone}, {key: alone}), terminal.console())
    shown = capsys.readouterr().out
    assert re.search(r"^the only treatment +8 ", shown, re.MULTILINE)
    assert "all" not in shown.split()


def test_a_treatment_that_never_completed_has_no_ratio() -> None:
    found = row({}, {1: 1.0})
    assert (found.real_s, found.found.n, found.found.verdict) == (None, 0, "open")
    values = both_clocks.values([found], {})["treatments"]
    assert isinstance(values, list)
    assert values[0]["ratio"] is None
