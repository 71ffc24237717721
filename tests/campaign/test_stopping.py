"""A run with a range of replicates stops each treatment at a block boundary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import reports
import stored_campaigns
from httpbed.addons.verify import verification
from httpbed.base.errors import ConfigError
from httpbed.campaign import executor, preparation
from httpbed.campaign import run as campaign_run
from httpbed.campaign.admission import Admission
from httpbed.campaign.executor import AttemptProgress, Work
from httpbed.campaign.settings import ONE, DesignOptions
from httpbed.experiment.trial import Record, Trial
from httpbed.programs import catalog
from httpbed.results.findings import find
from httpbed.store import attempts, query
from httpbed.store import campaign as campaigns
from httpbed.store.attempts import AttemptFiles
from httpbed.store.campaign import Campaign
from httpbed.store.layout import Damage

RANGE = stored_campaigns.SMALL.replace(
    "replicates = 2", 'replicates = { min = 6, max = 9, until = "ci 5 %" }'
)


class KilledError(BaseException):
    """The run is killed."""


def seconds(trial: Trial) -> float:
    """Return a time that spreads by 1 % without loss, and by 40 % with loss."""
    spread = 0.01 if trial.levels["loss"] == "0 %" else 0.4
    return 1 + spread * (trial.block % 3)


def run(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str = RANGE,
    most: int = 1000,
    invalid: int | None = None,
    **options: Any,
) -> list[str]:
    """Run an experiment with invented trials, of which the run is killed after the most.

    ``invalid`` is the block whose trials without loss have an invalid attempt.
    """
    loaded = preparation.load(text, catalog.load(), options=DesignOptions(**options))
    ran, said = list[Trial](), list[str]()

    async def execute(
        campaign: Campaign,
        _: object,
        work: Iterable[Work],
        *,
        tell: Callable[[AttemptProgress], None],
        admission: Admission,
        **__: object,
    ) -> list[Work]:
        said.append(f"admission {id(admission)}")
        for trial, number in work:
            if len(ran) >= most:
                raise KilledError
            ran.append(trial)
            is_invalid = trial.block == invalid and trial.levels["loss"] == "0 %"
            kind = "invalid" if is_invalid else "completed"
            record = stored_campaigns.record(trial, number, kind, seconds(trial))
            stored_campaigns.keep(campaign, record)
            tell(AttemptProgress(record.attempt, retried=False))
        return []

    monkeypatch.setattr(executor, "execute", execute)
    until = loaded.stopping.until if loaded.stopping else None
    manifest = stored_campaigns.manifest() | {"until": until}
    setup: Any = SimpleNamespace(files={})
    ready = campaign_run.Prepared(loaded, setup, manifest)
    with campaign_run.opened(ready, directory, jobs=ONE, say=said.append) as work:
        work.finish(tell=lambda _: None)
    return [*said, f"{len(ran)} ran"]


def blocks(directory: Path) -> Counter[str]:
    """Return the number of trials in the design by their level of loss."""
    design = campaigns.open_existing(directory).design()
    return Counter(trial.levels["loss"] for trial in design)


def test_each_treatment_stops_on_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the least number if its interval is narrow, at the most if not."""
    said = run(tmp_path, monkeypatch)
    assert said[-1] == f"{3 * 6 + 3 * 9} ran"
    assert "ci 5 %: stopped after 6 to 9 blocks; 9 of the planned trials were not needed" in said
    assert blocks(tmp_path) == {"0 %": 18, "2 %": 27}
    results = query.read(tmp_path)
    assert results.planned == len(results.trials)
    assert not verification.verify(campaigns.open_existing(tmp_path)).damaged
    (note,) = (one for one in reports.notes(results, find(results)) if "narrow" in one)
    assert "miss the true median in up to 7 % of cases" in note


def test_a_run_parses_each_attempt_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the time after a block would grow with the blocks before it."""
    parsed = Counter[str]()
    parse = attempts.parse

    def noted(files: AttemptFiles, design: Mapping[str, Trial] | None) -> Record | Damage:
        parsed[files.place] += 1
        return parse(files, design)

    monkeypatch.setattr(attempts, "parse", noted)
    run(tmp_path, monkeypatch)
    assert len(parsed) == parsed.total() == 45


def test_all_blocks_have_one_admission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block begins with what the blocks before it taught."""
    said = run(tmp_path, monkeypatch)
    admissions = [line for line in said if line.startswith("admission")]
    assert (len(admissions), len(set(admissions))) == (9, 1)


def test_a_stopped_campaign_stays_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command runs nothing and changes nothing."""
    run(tmp_path, monkeypatch)
    manifest = (tmp_path / "manifest.json").read_bytes()
    assert run(tmp_path, monkeypatch)[-1] == "0 ran"
    assert (tmp_path / "manifest.json").read_bytes() == manifest


def test_an_invalid_trial_of_a_settled_treatment_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign keeps it, and is not finished without a valid attempt at it."""
    run(tmp_path, monkeypatch, invalid=2)
    before = blocks(tmp_path)
    assert run(tmp_path, monkeypatch)[-1] == "3 ran"
    assert blocks(tmp_path) == before


@pytest.mark.parametrize("most", [1, 17, 33, 36, 40])
def test_a_killed_run_stops_where_the_whole_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The decision depends only on the trials that ran."""
    with pytest.raises(KilledError):
        run(tmp_path, monkeypatch, most=most)
    assert run(tmp_path, monkeypatch)[-1] == f"{45 - most} ran"
    assert blocks(tmp_path) == {"0 %": 18, "2 %": 27}


def test_the_option_takes_the_number_of_replicates_as_the_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a run without it: what ran counts."""
    run(tmp_path, monkeypatch, stored_campaigns.SMALL)
    said = run(tmp_path, monkeypatch, stored_campaigns.SMALL, replicates=8, until="ci 5 %")
    assert said[-1] == f"{3 * 4 + 3 * 6} ran"
    assert blocks(tmp_path) == {"0 %": 18, "2 %": 24}
    assert json.loads((tmp_path / "manifest.json").read_text())["until"] == "ci 5 %"


def test_claims_need_fixed_numbers_of_blocks() -> None:
    """The two options exclude each other."""
    text = (
        stored_campaigns.SMALL
        + """
        [[claim]]
        id = "faster"
        says = "HTTP/3 is faster"
        metric = "request_time"
        where = { loss = "2 %" }
        compare = { of = { http_version = "3" }, to = { http_version = "2" } }
        expect = "< 1"
        """
    )
    with pytest.raises(ConfigError, match="cannot go with --for-claims"):
        preparation.load(
            text, catalog.load(), options=DesignOptions(for_claims=True, until="ci 5 %")
        )


@pytest.mark.parametrize(
    ("replicates", "reason"),
    [
        ("{ max = 9 }", "replicates.until: is missing"),
        ('{ min = 9, max = 6, until = "ci 5 %" }', "min = 9 is more than max = 6"),
        ('{ max = 9, until = "soon" }', 'write it like "ci 5 %"'),
        ('{ max = 9, until = "ci 5 %", most = 3 }', "unknown key"),
        ("0", "replicates"),
        ('"5"', "replicates"),
    ],
)
def test_a_range_with_mistakes_is_refused(replicates: str, reason: str) -> None:
    """With the key."""
    text = stored_campaigns.SMALL.replace("replicates = 2", f"replicates = {replicates}")
    with pytest.raises(ConfigError) as caught:
        preparation.load(text, catalog.load())
    assert reason in str(caught.value)
