"""What becomes of blocks on workers of a real scheduler: kept, lost, refused or damaged."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import cluster_workers
import stored_campaigns
from cluster_workers import ORDER, LostError, Run, ScriptedWorkers, completed
from httpbed.addons.cluster import block
from httpbed.addons.cluster.block import BlockEnd, BlockError, BlockRequest, RefusedBlockError
from httpbed.addons.cluster.dispatch import Dispatch, finishing, require_clock
from httpbed.addons.cluster.returned_blocks import ReturnedBlocks
from httpbed.addons.verify import verification
from httpbed.base.errors import HostError
from httpbed.campaign import executor
from httpbed.campaign.executor import AttemptProgress, Work
from httpbed.experiment.trial import Record, Trial
from httpbed.store import campaign as campaigns
from httpbed.store import finished, machine_log
from httpbed.store.campaign import Campaign

TRIALS = stored_campaigns.loaded().trials


def good(request: BlockRequest) -> list[Record]:
    return completed(request, TRIALS)


def lost(_: BlockRequest) -> list[Record]:
    raise LostError


def refusing(_: BlockRequest) -> list[Record]:
    raise RefusedBlockError("program curl is 8.0 here, and 8.23 in the campaign")


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
    """A run on scripted workers of a real scheduler."""

    workers: ScriptedWorkers
    campaign: Campaign
    said: list[str] = field(default_factory=list)
    told: list[AttemptProgress] = field(default_factory=list)
    stopping: OneBlockEach | None = None

    def dispatch(self) -> None:
        """Run all pending blocks."""
        asyncio.run(self._dispatched())

    async def _dispatched(self) -> None:
        async with self.workers.running() as cluster:
            dispatch = Dispatch(
                cluster,
                ORDER,
                ReturnedBlocks(self.campaign),
                self.told.append,
                self.said.append,
                self.stopping,  # type: ignore[arg-type]
                look_s=0.1,
                patience_s=0.0,
            )
            await dispatch.run([*blocks(self.campaign)])

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
        return [(line["machine"], line["block"], line["ending"]) for line in lines]


def blocks(campaign: Campaign) -> Iterator[list[Work]]:
    """Yield the pending trials of each block."""
    pending = executor.pending(finished.finished_attempts(campaign).last, campaign.design())
    for _, work in itertools.groupby(pending, key=lambda one: one[0].block):
        yield list(work)


Running = Callable[..., AbstractContextManager[ScriptedRun]]


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    """Return what opens a campaign of two blocks, and makes workers with these scripts."""
    monkeypatch.setattr(block, "run_block", cluster_workers.run_block)

    @contextmanager
    def opened(slots: int = 1, **scripts: list[Run]) -> Iterator[ScriptedRun]:
        workers = ScriptedWorkers(tmp_path / "remote", scripts, dict.fromkeys(scripts, slots))
        directory, text = tmp_path / "campaign", stored_campaigns.SMALL
        manifest = stored_campaigns.manifest()
        with campaigns.opened(directory, text, TRIALS, manifest) as campaign:
            yield ScriptedRun(workers, campaign)

    return opened


def test_each_block_runs_on_one_worker_and_comes_back_whole(running: Running) -> None:
    """The campaign verifies, and every attempt names its machine."""
    both = threading.Barrier(2)

    def meeting(request: BlockRequest) -> list[Record]:
        both.wait(60)
        return good(request)

    with running(alpha=[meeting], beta=[meeting]) as run:
        run.dispatch()
        verified = verification.verify(run.campaign)
        assert (verified.damaged, verified.without_attempt) == ((), 0)
        machines = {
            (record.attempt.trial.block, record.attempt.machine)
            for record in run.campaign.records()
        }
        assert {block for block, _ in machines} == {1, 2}
        assert {machine for _, machine in machines} == {"alpha", "beta"}
        assert sorted(run.endings()) == sorted((name, one, "returned") for one, name in machines)
        artifact = next(run.campaign.directory.glob("trials/*/*/*/artifacts/client/curl.json"))
        assert json.loads(artifact.read_text()) == {}


def test_a_lost_block_is_an_invalid_attempt_and_runs_again(running: Running) -> None:
    """Each of its trials has an attempt with the reason, and a second one that is valid."""
    with running(alpha=[lost], beta=[lost, good], gamma=[good]) as run:
        run.dispatch()
        attempts = [row for rows in run.outcomes().values() for row in rows]
        invalid = [machine for _, kind, machine in attempts if kind == "invalid"]
        assert invalid
        assert set(invalid) <= {"alpha", "beta"}
        assert all(rows[-1][1] == "completed" for rows in run.outcomes().values())
        reasons = {
            record.attempt.outcome.reason
            for record in run.campaign.records()
            if record.attempt.outcome.kind == "invalid"
        }
        assert all("was lost: the worker" in reason for reason in reasons)
        assert [ending for _, _, ending in run.endings()].count("lost") == len(invalid)
        assert [progress.retried for progress in run.told].count(True) == 6 * len(invalid)
        assert verification.verify(run.campaign).damaged == ()


def test_a_worker_that_refuses_a_block_ends_the_run_without_an_attempt(running: Running) -> None:
    """The message names the worker and the difference, and what to do."""
    with running(alpha=[refusing]) as run:
        with pytest.raises(HostError, match="alpha refused block 1: program curl is") as caught:
            run.dispatch()
        assert "make the machines equal" in caught.value.remedy
        assert run.outcomes() == {}


def test_without_any_worker_the_run_says_that_none_is_connected(running: Running) -> None:
    """The remedy names the verb."""
    with running() as run:
        with pytest.raises(HostError, match="no worker was connected") as caught:
            run.dispatch()
        assert "httpbed worker" in caught.value.remedy


def damaged(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return an attempt's files with one byte of an artifact changed."""
    return files | {"artifacts/client/curl.json": b"{ \n"}


def without(name: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    """Return what removes a file."""
    return lambda files: {key: one for key, one in files.items() if key != name}


@pytest.mark.parametrize(
    "damage", [damaged, without("artifacts/client/curl.json"), without("trial.json")]
)
def test_damaged_attempts_are_a_lost_block_and_end_the_run(
    running: Running, damage: Callable[[dict[str, bytes]], dict[str, bytes]]
) -> None:
    """No attempt of it is kept as valid, and nothing is left unfinished."""
    with running(alpha=[good]) as run:
        run.workers.damage = damage
        with pytest.raises(HostError, match="alpha failed in block 1"):
            run.dispatch()
        assert run.outcomes() == {1: [(1, "invalid", "alpha")]}
        assert list((run.campaign.directory / "unfinished").iterdir()) == []


def test_files_that_trial_json_does_not_name_are_not_written(
    running: Running, tmp_path: Path
) -> None:
    """A faulty worker cannot write beside the attempt."""
    with running(alpha=[good]) as run:
        run.workers.damage = lambda files: files | {"../outside": b"x", "artifacts/more": b"x"}
        run.dispatch()
        assert verification.verify(run.campaign).damaged == ()
    assert not [*tmp_path.rglob("outside"), *tmp_path.rglob("more")]


def test_a_block_without_one_of_its_trials_is_lost(running: Running) -> None:
    """A worker that returns fewer trials than were wanted is useless."""
    with running(alpha=[lambda request: good(request)[1:]]) as run:
        with pytest.raises(HostError, match=r"it returned the attempts \[\] at"):
            run.dispatch()
        assert run.outcomes()[1] == [(1, "invalid", "alpha")]


def test_a_block_goes_on_where_it_began(running: Running) -> None:
    """Its comparisons stay within a machine; where that is absent, another one finishes it."""
    with running(alpha=[good], beta=[good], gamma=[good]) as run:
        for number, machine in ((1, "gamma"), (2, "delta")):
            trial = next(one for one in TRIALS if one.block == number)
            record = stored_campaigns.record(trial)
            attempt = record.attempt.model_copy(update={"machine": machine})
            stored_campaigns.keep(run.campaign, record.model_copy(update={"attempt": attempt}))
        run.dispatch()
        given = {request.block: name for name, request in run.workers.requests}
        assert given.keys() == {1, 2}
        assert given[1] == "gamma"
        assert all(len(request.wanted) == 5 for _, request in run.workers.requests)


def test_a_worker_with_two_slots_runs_two_blocks_at_a_time(running: Running) -> None:
    """Both blocks begin before one has ended."""
    both = threading.Barrier(2)

    def meeting(request: BlockRequest) -> list[Record]:
        both.wait(60)
        return good(request)

    with running(slots=2, alpha=[meeting]) as run:
        run.dispatch()
        assert run.outcomes().keys() == {1, 2}


def test_a_settled_treatment_gets_no_further_block(running: Running) -> None:
    """Treatments are judged after a block, in a thread that does not stall the connection."""
    with running(alpha=[good]) as run:
        run.stopping = OneBlockEach()
        run.dispatch()
        assert run.outcomes() == {1: [(1, "completed", "alpha")]}
        assert len(run.stopping.looks) == 1
        assert threading.get_ident() not in run.stopping.looks


def test_a_worker_with_a_wrong_clock_ends_the_run(running: Running) -> None:
    """Its block is lost: attempts are ordered by their times."""
    with running(alpha=[good]) as run:
        run.workers.clock_offset_s = -60.0
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
    end = BlockEnd((), None, begun_s, ended_s)
    wrong = pytest.raises(BlockError, match=f"its clock is {offset}") if offset else nullcontext()
    with wrong:
        require_clock(100.0, end, 200.0)


@pytest.mark.parametrize(
    ("under_way", "what"),
    [
        (0, "no block is under way"),
        (1, "finishing 1 block under way; Ctrl-C again leaves it"),
        (2, "finishing 2 blocks under way; Ctrl-C again leaves them"),
    ],
)
def test_a_first_interrupt_is_answered_with_the_blocks_under_way(under_way: int, what: str) -> None:
    """They are finished, because each may have taken long."""
    assert finishing(under_way) == f"interrupted: {what}"
