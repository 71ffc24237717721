"""How a campaign asks the workers of a scheduler, with a client that a test plays."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cluster_workers import facts, worker
from httpbed.addons.cluster import connection, workers
from httpbed.addons.cluster.certificates import Scheduler
from httpbed.addons.cluster.connection import Connection
from httpbed.addons.cluster.messages import PackedAttempt
from httpbed.addons.cluster.worker import NAME
from httpbed.addons.cluster.workers import ConnectedWorker, LostError, UselessError

SCHEDULER = Scheduler("tcp://10.0.0.1:8786", None)
HUNG, GOOD = "tcp://10.0.0.2:4000", "tcp://10.0.0.3:4000"


class PlayedClient:
    """A client of Dask whose scheduler knows two workers; one of them hangs."""

    status = "running"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.asked_both = asyncio.Event()
        self.scheduler = SimpleNamespace(identity=self._identity)

    async def _identity(self, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1, "all workers are asked for"
        own = {HUNG: facts(name="hung", registration="1"), GOOD: facts(registration="2")}
        return {"workers": {at: {NAME: one.model_dump_json()} for at, one in own.items()}}

    async def run(self, function: Callable[[], Any], *_: Any, workers: list[str]) -> dict[str, Any]:
        """Call a function in a worker; the hung worker never answers."""
        (address,) = workers
        self.asked[address] += 1
        if len(self.asked) == 2:
            self.asked_both.set()
        if address == HUNG:
            await asyncio.Event().wait()
        return {address: function()}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> tuple[Connection, PlayedClient]:
    """Return a connection by a played client, with short limits."""
    monkeypatch.setattr(connection, "ANSWER_S", 0.01)
    monkeypatch.setattr(connection, "PIECE_S", 0.01)
    opened, client = Connection(SCHEDULER), PlayedClient()
    monkeypatch.setattr(opened, "_client", client)
    return opened, client


def test_a_worker_that_hangs_is_asked_a_few_times_and_then_left_out(
    played: tuple[Connection, PlayedClient],
) -> None:
    """The other worker is found at each look, and asked for its time once."""
    opened, client = played

    async def look() -> list[ConnectedWorker]:
        hung, good = await opened.look()
        assert good.clock_offset_s == pytest.approx(0.0)
        return [hung, good]

    async def looks() -> list[ConnectedWorker]:
        return [(await look())[0] for _ in range(5)]

    seen = asyncio.run(looks())
    assert [one.unanswered for one in seen] == [1, 2, 3, 3, 3]
    assert [one.may_answer for one in seen] == [True, True, False, False, False]
    assert client.asked == {HUNG: workers.MOST_QUESTIONS, GOOD: 1}
    code = facts().code
    assert "did not answer 3 questions for its time" in workers.unfit(seen[-1], code)


def test_all_workers_are_asked_at_the_same_time(
    played: tuple[Connection, PlayedClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker waits until another one that hangs has been given up."""
    opened, client = played
    monkeypatch.setattr(connection, "ANSWER_S", 3600.0)

    async def look() -> None:
        looking = asyncio.ensure_future(opened.look())
        await client.asked_both.wait()
        looking.cancel()

    asyncio.run(look())


def test_a_worker_that_hangs_while_its_block_is_fetched_is_useless(
    played: tuple[Connection, PlayedClient],
) -> None:
    """It would get the block again if it were only lost."""
    opened, _ = played
    hung = ConnectedWorker(HUNG, worker("hung").facts, 0.0)
    packed = PackedAttempt(trial="0" * 12, number=1, bytes=5, sha256="")
    request: Any = SimpleNamespace(key="httpbed-1")
    with pytest.raises(UselessError, match="it did not answer within 10 ms"):
        asyncio.run(opened.fetch(request, hung, packed, to=None))  # type: ignore[arg-type]


def test_a_block_is_lost_if_its_scheduler_is_gone() -> None:
    """The scheduler may vanish between two looks."""
    opened = Connection(SCHEDULER)
    request: Any = SimpleNamespace(key="httpbed-1", model_dump_json=lambda: "{}")
    with pytest.raises(LostError, match=r"the scheduler at tcp://10\.0\.0\.1:8786 is gone"):
        asyncio.run(opened.run(request, worker("alpha")))
