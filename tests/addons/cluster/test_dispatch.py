"""Which worker gets which block, and what becomes of blocks that are lost, refused or damaged."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import stored_campaigns
from cluster_workers import ORDER, LostError, RefusedError, Run, ScriptedCluster, completed
from httpbed.addons.cluster import attempt_archive
from httpbed.addons.cluster.dispatch import MAX_LOSSES, Dispatch, clock_offset, finishing
from httpbed.addons.cluster.messages import BlockEnd, BlockRequest
from httpbed.addons.cluster.returned_blocks import ReturnedBlocks
from httpbed.base.errors import HostError
from httpbed.campaign import executor
from httpbed.campaign.executor import AttemptProgress, Work
from httpbed.experiment.trial import Record, Trial
from httpbed.store import campaign as campaigns
from httpbed.store import finished, machine_log, verification
from httpbed.store.campaign import Campaign

TRIALS = stored_campaigns.loaded().trials


def good(request: BlockRequest) -> list[Record]:
    return completed(request, TRIALS)


def lost(_: BlockRequest) -> list[Record]:
    raise LostError


def refusing(_: BlockRequest) -> list[Record]:
    raise RefusedError("program curl is 8.0 here, and 8.23 in the campaign")


@dataclass
class OneBlockEach:
    """A rule by which every treatment is settled once a block has ended."""

    looks: list[int] = field(default_factory=list)
    """The thread of each look."""

    def look(self) -> None:
        """Note that blocks have ended."""
        self.looks.append(threading.get_ident())

    def needs(self, _: Trial) -> bool:
        return not self.looks


@dataclass
class ScriptedRun:
    """A run on a scripted cluster."""

    cluster: ScriptedCluster
    campaign: Campaign
    said: list[str] = field(default_factory=list)
    told: list[AttemptProgress] = field(default_factory=list)
    stopping: OneBlockEach | None = None

    def dispatch(self) -> None:
        """Run all pending blocks."""
        dispatch = Dispatch(
            self.cluster,
            ORDER,
            ReturnedBlocks(self.campaign),
            self.told.append,
            self.said.append,
            self.stopping,  # type: ignore[arg-type]
            look_s=0.0,
            patience_s=0.0,
        )
        asyncio.run(dispatch.run([*blocks(self.campaign)]))

    def outcomes(self) -> dict[int, list[tuple[int, str, str | None]]]:
        """Return number, outcome and machine of every attempt of each block's first trial."""
        found: dict[int, list[tuple[int, str, str | None]]] = {}
        for record in self.campaign.records():
            one = record.attempt
            if one.trial.position == 1:
                row = (one.number, one.outcome.kind, one.machine)
                found.setdefault(one.trial.block, []).append(row)
        return found

    def endings(self) -> list[tuple[str, int, str]]:
        lines = machine_log.read(self.campaign.directory)
        return [(one["machine"], one["block"], one["ending"]) for one in lines]


def blocks(campaign: Campaign) -> Iterator[list[Work]]:
    """Yield the pending trials of each block."""
    pending = executor.pending(finished.finished_attempts(campaign).last, campaign.design())
    for _, work in itertools.groupby(pending, key=lambda one: one[0].block):
        yield list(work)


@contextmanager
def running(tmp_path: Path, **scripts: list[Run]) -> Iterator[ScriptedRun]:
    """Open a campaign of two blocks, and a cluster of these workers."""
    (tmp_path / "remote").mkdir()
    cluster = ScriptedCluster(tmp_path / "remote", scripts, dict.fromkeys(scripts, 1))
    directory, text = tmp_path / "campaign", stored_campaigns.SMALL
    manifest = stored_campaigns.manifest()
    with campaigns.opened(directory, text, TRIALS, manifest) as campaign:
        yield ScriptedRun(cluster, campaign)


def test_each_block_runs_on_one_worker_and_comes_back_whole(tmp_path: Path) -> None:
    """The campaign verifies, and every attempt names its machine."""
    with running(tmp_path, alpha=[good], beta=[good]) as run:
        run.dispatch()
        assert {name for name, _ in run.cluster.requests} == {"alpha", "beta"}
        verified = verification.verify(run.campaign)
        assert (verified.damaged, verified.without_attempt) == ((), 0)
        machines = {
            (record.attempt.trial.block, record.attempt.machine)
            for record in run.campaign.records()
        }
        assert machines == {(1, "alpha"), (2, "beta")}
        assert sorted(run.endings()) == [("alpha", 1, "returned"), ("beta", 2, "returned")]
        artifact = next(run.campaign.directory.glob("trials/*/*/*/artifacts/client/curl.json"))
        assert json.loads(artifact.read_text()) == {}


def test_a_lost_block_is_an_invalid_attempt_and_runs_again(tmp_path: Path) -> None:
    """Each of its trials has an attempt with the reason, and a second one that is valid."""
    with running(tmp_path, alpha=[lost, good]) as run:
        run.dispatch()
        assert run.outcomes() == {
            1: [(1, "invalid", "alpha"), (2, "completed", "alpha")],
            2: [(1, "completed", "alpha")],
        }
        reasons = {
            record.attempt.outcome.reason
            for record in run.campaign.records()
            if record.attempt.outcome.kind == "invalid"
        }
        assert reasons == {"block 1 was lost: the worker alpha was lost"}
        assert run.endings()[0] == ("alpha", 1, "lost")
        assert [one.retried for one in run.told].count(True) == 6
        assert verification.verify(run.campaign).damaged == ()


def test_a_block_that_is_lost_too_often_is_given_up(tmp_path: Path) -> None:
    """The other block still runs; the campaign keeps every attempt."""
    losing = [lost] * (MAX_LOSSES + 1)
    with running(tmp_path, alpha=[*losing, good]) as run:
        run.dispatch()
        assert [number for number, _, _ in run.outcomes()[1]] == [1, 2, 3, 4]
        assert {kind for _, kind, _ in run.outcomes()[1]} == {"invalid"}
        assert run.outcomes()[2] == [(1, "completed", "alpha")]


def test_a_worker_that_refuses_a_block_costs_no_attempt(tmp_path: Path) -> None:
    """It gets no further block, and the message says why; another worker runs both blocks."""
    with running(tmp_path, alpha=[refusing], beta=[good]) as run:
        run.dispatch()
        assert run.outcomes() == {
            1: [(1, "completed", "beta")],
            2: [(1, "completed", "beta")],
        }
        (line,) = [one for one in run.said if "gets no blocks" in one]
        assert line.startswith("worker alpha gets no blocks: it refused block 1: program curl is")


def test_without_a_fit_worker_the_run_ends_with_every_reason(tmp_path: Path) -> None:
    """The reasons of the workers are in the message, and no attempt was made."""
    with running(tmp_path, alpha=[refusing]) as run:
        with pytest.raises(HostError, match="alpha refused block 1: program curl is"):
            run.dispatch()
        assert run.outcomes() == {}


def test_without_any_worker_the_run_says_that_none_is_connected(tmp_path: Path) -> None:
    """The remedy names the verb."""
    with running(tmp_path) as run:
        with pytest.raises(HostError, match="none was connected") as caught:
            run.dispatch()
        assert "httpbed worker" in caught.value.remedy


def test_a_damaged_archive_is_a_lost_block_of_a_useless_worker(tmp_path: Path) -> None:
    """No attempt of it is kept as valid, and its worker gets no further block."""
    with running(tmp_path, alpha=[good], beta=[good]) as run:
        run.cluster.damage = lambda content: content.replace(b"{}\n", b"{ \n", 1)
        with pytest.raises(HostError):
            run.dispatch()
        kinds = {kind for rows in run.outcomes().values() for _, kind, _ in rows}
        assert kinds == {"invalid"}
        assert list((run.campaign.directory / "unfinished").iterdir()) == []
        assert sum("gets no blocks: it failed in block" in line for line in run.said) == 2


def test_a_block_without_one_of_its_trials_is_lost(tmp_path: Path) -> None:
    """A worker that returns fewer trials than were wanted is useless."""
    with running(tmp_path, alpha=[lambda request: good(request)[1:]], beta=[good]) as run:
        run.dispatch()
        assert run.outcomes()[1] == [(1, "invalid", "alpha"), (2, "completed", "beta")]


def test_a_block_goes_on_where_it_began(tmp_path: Path) -> None:
    """Its comparisons stay within a machine; where that is absent, another one finishes it."""
    with running(tmp_path, alpha=[good], beta=[good], gamma=[good]) as run:
        for block, machine in ((1, "gamma"), (2, "delta")):
            trial = next(one for one in TRIALS if one.block == block)
            record = stored_campaigns.record(trial)
            attempt = record.attempt.model_copy(update={"machine": machine})
            stored_campaigns.keep(run.campaign, record.model_copy(update={"attempt": attempt}))
        run.dispatch()
        given = {request.block: name for name, request in run.cluster.requests}
        assert given == {1: "gamma", 2: "alpha"}
        assert all(len(request.wanted) == 5 for _, request in run.cluster.requests)


def test_a_worker_with_two_slots_runs_two_blocks_at_a_time(tmp_path: Path) -> None:
    """Both blocks begin before one has ended."""
    with running(tmp_path, alpha=[good]) as run:
        run.cluster.present = {"alpha": 2}
        run.dispatch()
        begun = [line for line in run.said if "begins on alpha" in line]
        assert run.said[: len(begun)] == begun
        assert len(begun) == 2


def test_a_settled_treatment_gets_no_further_block(tmp_path: Path) -> None:
    """Treatments are judged after a block, in a thread that does not stall the connection."""
    with running(tmp_path, alpha=[good]) as run:
        run.stopping = OneBlockEach()
        run.dispatch()
        assert run.outcomes() == {1: [(1, "completed", "alpha")]}
        assert len(run.stopping.looks) == 1
        assert threading.get_ident() not in run.stopping.looks


def test_an_attempt_that_is_too_large_to_travel_is_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker goes on, and the block does not run again: it would be as large."""
    with running(tmp_path, alpha=[good]) as run:
        monkeypatch.setattr(attempt_archive, "MAX_BYTES", 0)
        run.dispatch()
        assert run.outcomes() == {block: [(1, "invalid", "alpha")] for block in (1, 2)}
        reasons = {record.attempt.outcome.reason for record in run.campaign.records()}
        assert all("a block returns at most" in one and "--keep" in one for one in reasons)
        assert [one.retried for one in run.told] == [False] * 12
        assert not [one for one in run.said if "gets no blocks" in one]
        assert verification.verify(run.campaign).damaged == ()


def test_a_worker_with_a_wrong_clock_gets_no_further_block(tmp_path: Path) -> None:
    """Its block is lost: attempts are ordered by their times."""
    with running(tmp_path, alpha=[good]) as run:
        run.cluster.clock_offset_s = -60.0
        with pytest.raises(HostError, match=r"clock is .* s behind the campaign's"):
            run.dispatch()
        assert run.outcomes() == {1: [(1, "invalid", "alpha")]}


@pytest.mark.parametrize(
    ("begun_s", "ended_s", "offset"),
    [
        (100.0, 200.0, ""),
        (95.5, 204.5, ""),
        (90.0, 190.0, "10 s behind"),
        (130.0, 230.0, "30 s ahead of"),
        (180.0, 280.0, "80 s ahead of"),
    ],
)
def test_a_clock_is_wrong_if_its_times_are_not_between_ours(
    begun_s: float, ended_s: float, offset: str
) -> None:
    """A block may wait before it begins, so only its end shows that a clock is ahead."""
    end = BlockEnd(kind="returned", begun_s=begun_s, ended_s=ended_s)
    assert (f"its clock is {offset}" if offset else "") in clock_offset(100.0, end, 200.0)
    assert bool(clock_offset(100.0, end, 200.0)) == bool(offset)


@pytest.mark.parametrize(
    ("under_way", "what"),
    [
        (0, "no block is under way"),
        (1, "finishing 1 block under way; Ctrl-C again breaks it off"),
        (2, "finishing 2 blocks under way; Ctrl-C again breaks them off"),
    ],
)
def test_a_first_interrupt_is_answered_with_the_blocks_under_way(under_way: int, what: str) -> None:
    """They are finished, because each may have taken long."""
    assert finishing(under_way) == f"interrupted: {what}"
