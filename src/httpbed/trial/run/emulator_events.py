"""Logs the emulator's events, and reads the senders' sockets when data flows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.base.errors import BedError
from httpbed.bed.network.running import Emulator
from httpbed.bed.sandbox.spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Supervisor
from httpbed.trial.artifacts import LINK_EVENTS
from httpbed.trial.hops import NetworkHop

KEPT_EVENTS = frozenset({"changed", "triggered"})
"""The emulator's events that are kept: what happened to a link, and when."""


async def listen(  # noqa: PLR0913 - its sources, and where it writes
    supervisor: Supervisor,
    emulator: Emulator,
    hops: Sequence[NetworkHop],
    sockets: Mapping[str, ProcessSpec],
    artifacts: Path,
    *,
    triggered: Callable[[str], None],
    counters: asyncio.Queue[Mapping[str, Any]],
) -> Mapping[str, Any]:
    """Log the emulator's events until its result.

    When the first connection of a hop carries data, the sockets of its sender are read: earlier
    there are none, and later they may be gone. The runner reads those that are left at the end.
    Calls ``triggered`` with the name of each triggered event. Puts each event ``counters`` into the
    queue.

    Raises:
        BedError: The emulator ended, or refused a change.
    """
    kept: list[str] = []
    readings: dict[str, asyncio.Task[Any]] = {}
    while True:
        event = await emulator.next()
        if event["event"] in KEPT_EVENTS:
            kept.append(json.dumps(event) + "\n")
        if event["event"] == "triggered":
            triggered(event["name"])
        if event["event"] == "counters":
            counters.put_nowait(event)
        if event["event"] == "refused":
            raise BedError(f"{emulator.name} refused: {event['message']}")
        if event["event"] == "connection":
            unread = [one for one in _senders(event, hops) if one in sockets.keys() - readings]
            for sender in unread:
                readings[sender] = asyncio.create_task(supervisor.run(sockets[sender]))
        if event["event"] == "result":
            if kept:
                untrusted_files.write(artifacts, LINK_EVENTS, "".join(kept))
            await asyncio.gather(*readings.values())
            return event


def _senders(connection: Mapping[str, Any], hops: Sequence[NetworkHop]) -> list[str]:
    """Return each sender of the hops that a connection is on, once."""
    return list(dict.fromkeys(hop.server for hop in hops if hop.is_between(connection)))
