"""Nested links, and requests to change a link from inside it.

The outer link serves a socket below its ``/trial``, in its sandbox's memory. The inner link, or a
command that wants a change, sends JSON lines to it. A request for a new network's number goes up to
the outermost link, which knows all numbers; each link on the way adds a route to the new network.
To be joined, the inner link sends the PID of a process at its far end, as the outer sandbox counts
PIDs: only the outer link may change the network of its command.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from httpbed.addons.link import plan
from httpbed.addons.link.plan import ShellPlan
from httpbed.base.errors import BedError
from httpbed.bed.sandbox.spec import ProcessSpec
from httpbed.experiment.changes import Action
from httpbed.experiment.topology import Link

MOST = 250
"""Most nested links: a network's number is one byte of its addresses."""

Run = Callable[[ProcessSpec], Awaitable[None]]
Change = Callable[[Action], Awaitable[dict[str, Any]]]


class UnfitError(Exception):
    """The link cannot make a requested change; nothing was changed."""

    def __init__(self, reasons: Sequence[tuple[int, str]]) -> None:
        """``reasons`` has the index of each rejected change."""
        super().__init__("; ".join(reason for _, reason in reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class Uplink:
    """The inner link's connection to the outer one, which forgets the inner link when it closes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def find(cls, environment: Mapping[str, str], root: Path = Path("/")) -> Self | None:
        """Connect to the link around a process with this environment and root; None without one."""
        path = environment.get("HTTPBED_UPLINK")
        if not path:
            return None
        try:
            with _short(root / path.lstrip("/")) as short:
                return cls(*await asyncio.open_unix_connection(short))
        except OSError:  # the variable outlived its link
            return None

    async def number(self, behind: int | None = None) -> int:
        """Return the number of a new network; ``behind`` is the nested link that asks, if any."""
        return int((await self._ask({"do": "number", "behind": behind}))["number"])

    async def join(self, pid: int) -> None:
        """Ask to be joined to the network of process ``pid``."""
        await self._ask({"do": "join", "pid": pid})

    async def change(self, actions: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Ask for changes, each as an entry of a schedule; return the emulator's reports.

        Raises:
            UnfitError: The link cannot make one of them.
        """
        answer = await self._ask({"do": "change", "actions": actions})
        if "unfit" in answer:
            raise UnfitError([(int(place), str(reason)) for place, reason in answer["unfit"]])
        changed: list[dict[str, Any]] = answer["changed"]
        return changed

    async def close(self) -> None:
        """Return the number."""
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()

    async def _ask(self, what: Mapping[str, Any]) -> dict[str, Any]:
        self.writer.write(json.dumps(what).encode() + b"\n")
        line = await self.reader.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "it has ended"}
        if "error" in answer:
            raise BedError(f"the outer link refused: {answer['error']}")
        return answer


@dataclass
class Nest:
    """The service of the outer link for links and commands inside it."""

    planned: ShellPlan
    number: int
    run: Run
    """Runs a command of ``ip`` in this link's sandbox."""
    link: Link
    change: Change
    """Changes a condition of this link."""
    environment: Mapping[str, str] | None
    """The environment that leads to our own outer link; None without one."""
    _taken: set[int] = field(default_factory=set)

    async def open(self, socket: Path) -> asyncio.Server:
        """Serve at this path."""
        with _short(socket) as short:
            return await asyncio.start_unix_server(self._serve, short)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner = _InnerLink(self)
        try:
            while line := await reader.readline():
                try:
                    answer = await inner.answer(json.loads(line))
                except (BedError, KeyError, ValueError) as error:
                    answer = {"error": str(error)}
                writer.write(json.dumps(answer).encode() + b"\n")
        finally:
            await inner.leave()
            writer.close()

    async def take(self) -> tuple[int, Uplink | None]:
        """Take a number from the outermost link."""
        if self.environment is not None:
            if above := await Uplink.find(self.environment):
                return await above.number(behind=self.number), above
            raise BedError("the outer link has ended")
        free = next((n for n in range(1, MOST + 1) if n not in self._taken), None)
        if free is None:
            raise BedError(f"{MOST} links are nested already")
        self._taken.add(free)
        return free, None

    def release(self, number: int) -> None:
        """Take a number back."""
        self._taken.discard(number)


@dataclass
class _InnerLink:
    """A client of the service: a nested link, or a command that wants a change."""

    nest: Nest
    number: int | None = None
    above: Uplink | None = None

    async def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if request["do"] == "number" and self.number is None:
            self.number, self.above = await self.nest.take()
            await self.nest.run(plan.lead_back(self.number, self.nest.planned.own))
            if request["behind"] is not None:
                await self.nest.run(plan.lead_to(self.number, int(request["behind"])))
            return {"number": self.number}
        if request["do"] == "join" and self.number is not None:
            await self.nest.run(plan.join(self.number, int(request["pid"])))
            return {"joined": self.number}
        if request["do"] == "change":
            return await self._change([Action.model_validate(each) for each in request["actions"]])
        raise BedError(f"what is {request['do']!r}")

    async def _change(self, actions: Sequence[Action]) -> dict[str, Any]:
        """Make all changes, or none."""
        link = self.nest.link
        unfit = [(place, why) for place, act in enumerate(actions) for why in link.unfit(act)]
        if unfit:
            return {"unfit": unfit}
        return {"changed": [await self.nest.change(action) for action in actions]}

    async def leave(self) -> None:
        if self.number is not None:
            self.nest.release(self.number)
        if self.above is not None:
            await self.above.close()


class _short:  # noqa: N801 - reads as a verb where it is used
    """A short path to a socket: the kernel's limit is 107 bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> str:
        self._folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)
