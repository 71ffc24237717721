"""Listening to the emulator, and looking at the senders' sockets when it says that data flows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import BedError
from httpbed.host.sandbox import untrusted_files
from httpbed.host.sandbox.spec import ProcessSpec
from httpbed.host.sandbox.supervisor import Supervisor
from httpbed.network.running import Emulator
from httpbed.trial.hops import NetworkHop

LINK_EVENTS = "link-events.jsonl"
TOLD_EVENTS = frozenset({"changed", "triggered"})
"""Of the emulator's events, those that are kept: what happened to a link, and when."""


async def listen(  # noqa: PLR0913 - all that it looks at, and where it writes
    supervisor: Supervisor,
    emulator: Emulator,
    hops: Sequence[NetworkHop],
    sockets: Mapping[str, ProcessSpec],
    artifacts: Path,
    *,
    awaited: Mapping[str, asyncio.Event],
) -> Mapping[str, Any]:
    """Keep the emulator's events until its result.

    When the first connection of a hop carries data, the sockets of its sender are looked at:
    earlier there are none, and later they may be gone. Events of ``awaited`` are set when those of
    the emulator's of the same names come to pass.

    Raises:
        BedError: The emulator ended, or refused a change that it was told to make.
    """
    told: list[str] = []
    looks: dict[str, asyncio.Task[Any]] = {}
    while True:
        event = await emulator.next()
        if event["event"] in TOLD_EVENTS:
            told.append(json.dumps(event) + "\n")
        if event["event"] == "triggered" and event["name"] in awaited:
            awaited[event["name"]].set()
        if event["event"] == "refused":
            raise BedError(f"{emulator.name} refused: {event['message']}")
        if event["event"] == "connection":
            for sender in _senders(event, hops):
                if sender in sockets and sender not in looks:
                    looking = supervisor.run(sockets[sender])
                    looks[sender] = asyncio.create_task(looking)
        if event["event"] == "result":
            if told:
                untrusted_files.write(artifacts, LINK_EVENTS, "".join(told))
            await asyncio.gather(*looks.values())
            return event


def _senders(connection: Mapping[str, Any], hops: Sequence[NetworkHop]) -> list[str]:
    return [hop.server for hop in hops if hop.is_between(connection)]
