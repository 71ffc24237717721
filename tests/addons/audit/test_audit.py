"""The verdict of an audit, by campaigns with chosen figures."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stored_campaigns
from campaigns import VERSIONS, Ending, Ends, campaign
from httpbed.addons.audit import audit_session
from httpbed.addons.audit.audit_session import Audit
from httpbed.campaign import executor
from httpbed.campaign import run as campaign_run
from httpbed.campaign.executor import Work
from httpbed.campaign.settings import ONE
from httpbed.experiment.factorial import TreatmentKey
from httpbed.report.terminal import console
from httpbed.results.log_ratio import EQUIVALENCE_MARGIN as MARGIN
from httpbed.results.sample import Floats, Sample, Tally
from httpbed.store.results import Results

TEXT = (
    VERSIONS.replace("replicates = 5", "replicates = 10")
    + """
[[claim]]
id = "control"
says = "HTTP/3 needs at most four fifths of the time"
where = { loss = "2 %" }
compare = { of = { http_version = "3" }, to = { http_version = "2" } }
metric = "request_time"
expect = "< 0.8"
"""
)
LASTED_S = dict(zip(audit_session.RUNS, (20.0, 100.0, 30.0), strict=True))


def times(run: int, worse: Mapping[str, float] | None = None, noise: float = 0.001) -> Ends:
    """Return the times of a run, some worsened by HTTP version; HTTP/3 needs 0.6x."""
    factors = worse or {}

    def time(levels: Mapping[str, str], block: int) -> float:
        version = levels["http_version"]
        draw = np.random.default_rng([run, block, *map(ord, version + levels["loss"])])
        base = 0.6 if version == "3" else 1.0
        return base * factors.get(version, 1.0) * float(np.exp(noise * draw.standard_normal()))

    return time


def audited(first: Ends, alone: Ends, second: Ends) -> Audit:
    """Judge three runs."""
    runs = (campaign(ends, TEXT) for ends in (first, alone, second))
    results: dict[str, Results] = dict(zip(audit_session.RUNS, runs, strict=True))
    return audit_session.audit(results, LASTED_S, ["control"])


def test_the_same_numbers_pass() -> None:
    """Every treatment is the same, and the control is found."""
    found = audited(times(1), times(2), times(3))
    assert (found.passed, found.failed, found.same) == (True, False, 6)
    assert found.speed_up == pytest.approx(4)
    assert found.claims == {"control": ("reproduced", "reproduced")}


@pytest.mark.parametrize(("worse", "disturbed"), [(1.01, 0), (1.04, 2), (0.95, 2)])
def test_a_version_that_changes_side_by_side_is_disturbed(worse: float, disturbed: int) -> None:
    """By more than the margin, in either direction."""
    slower = {"2": worse}
    found = audited(times(1, slower), times(2), times(3, slower))
    assert (found.disturbed, found.failed) == (disturbed, disturbed > 0)


def test_noise_leaves_the_verdict_open() -> None:
    """Ten blocks do not settle 2 % where values vary by 20 %."""
    found = audited(*(times(run, noise=0.2) for run in (1, 2, 3)))
    assert (found.failed, found.passed, found.same) == (False, False, 0)
    assert "open: no treatment" in shown(found)


def test_runs_that_differ_from_each_other_fail_the_null_control() -> None:
    """Their mean is that of one at a time, but each is wrong."""
    every = dict.fromkeys(("1.1", "2", "3"), 1.1)
    fewer = dict.fromkeys(every, 1 / 1.1)
    found = audited(times(1, every), times(2), times(3, fewer))
    assert (found.same, found.differing_nulls, found.failed) == (6, 6, True)


def test_a_control_that_is_not_found_fails() -> None:
    """The claim is inconclusive in both, so the audit could not have found a disturbance."""
    slower = {"3": 1.4}
    found = audited(times(1, slower), times(2, slower), times(3, slower))
    assert found.same == 6
    assert (found.changed_claims, found.failed) == (["control"], True)


def test_blocks_that_only_one_at_a_time_gives_are_counted() -> None:
    """Trials of HTTP/2 time out side by side."""
    usual = times(1)

    def ends(levels: Mapping[str, str], block: int) -> Ending | float | None:
        late = levels["http_version"] == "2" and block > 8
        return Ending({}, "timed out", "too slow") if late else usual(levels, block)

    found = audited(ends, times(2), times(3))
    assert found.lost == 4
    assert "4 blocks have a value one at a time" in shown(found)


def test_runs_without_values_are_open() -> None:
    """Whatever happened to them, nothing is divided by nothing."""
    nothing: Ends = lambda levels, block: Ending({}, "failed", "no server")  # noqa: E731, ARG005
    found = audited(nothing, nothing, nothing)
    assert (found.passed, found.same, found.disturbed) == (False, 0, 0)
    assert {one["ratio"] for one in found.as_json()["treatments"]} == {None}
    assert shown(found)


@pytest.mark.slow
def test_disturbances_are_called_so_by_chance_as_rarely_as_stated() -> None:
    """Of 300 audits whose true ratio lies at the margin at most those that 5 % explains."""
    generator, alarms = np.random.default_rng(7), 0
    for _ in range(300):
        noise = 0.01 * generator.standard_normal((6, 10))
        alone: dict[TreatmentKey, Sample] = {
            (str(cell),): by_block(np.ones(10)) for cell in range(6)
        }
        beside: dict[TreatmentKey, Sample] = {
            (str(cell),): by_block((1 + MARGIN) * np.exp(noise[cell])) for cell in range(6)
        }
        found = audit_session.treatments(beside, alone, beside)
        alarms += any(treatment.verdict == "disturbed" for treatment in found)
    assert alarms <= 28  # the binomial distribution's 99.9 % point for 300 and 5 %


def by_block(values: Floats) -> Sample:
    observed = dict(enumerate(map(float, values), start=1))
    return Sample("request_time", {}, observed, {}, ">", Tally(len(values)))


def shown(found: Audit) -> str:
    stream = io.StringIO()
    audit_session.show(found, campaign(times(1), TEXT).experiment, "auto", console(stream))
    return stream.getvalue()


def test_an_interrupt_breaks_off_the_trials_of_an_audit_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing resumes an audit, so no verdict would use them."""
    kept = list[bool]()

    async def execute(*_: object, is_kept: bool, **__: object) -> list[Work]:
        kept.append(is_kept)
        return []

    monkeypatch.setattr(executor, "execute", execute)
    setup: Any = SimpleNamespace(files={})
    ready = campaign_run.Prepared(stored_campaigns.loaded(), setup, stored_campaigns.manifest())
    campaign_run.timed(ready, tmp_path / "run", jobs=ONE, tell=print, say=print)
    assert kept
    assert not any(kept)
