"""Links that are nested in each other: the inner one asks the outer one to be joined to it.

A command behind a link may also ask it to change its conditions. They speak JSON lines over a
socket that the outer one serves below its ``/trial``, which is in its sandbox's memory and goes
with it. For a new network's number the question goes up to the outermost link, which knows all;
each link on the way adds the route to it. To be joined, the inner one tells the PID of a process
at its far end, as the outer sandbox counts; only the outer one may reach into the network of its
command.
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

from httpbed.experiment.changes import Action
from httpbed.experiment.errors import BedError
from httpbed.experiment.topology import Link
from httpbed.host.sandbox.spec import ProcessSpec
from httpbed.network.shell import plan
from httpbed.network.shell.plan import ShellPlan

MOST = 250
"""Links in each other: one byte of an address, and nobody needs more."""

Run = Callable[[ProcessSpec], Awaitable[None]]
Change = Callable[[Action], Awaitable[dict[str, Any]]]


class UnfitError(Exception):
    """The link has not what should change; nothing was changed."""

    def __init__(self, reasons: Sequence[tuple[int, str]]) -> None:
        """``reasons`` has the place of each such change among those asked for."""
        super().__init__("; ".join(reason for _, reason in reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class Uplink:
    """The inner link's connection to the outer one; the outer forgets it when it closes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def find(cls, environment: Mapping[str, str], root: Path = Path("/")) -> Self | None:
        """Connect to the link around a process with this environment and root, if one lives."""
        path = environment.get("HTTPBED_UPLINK")
        if not path:
            return None
        try:
            with _short(root / path.lstrip("/")) as short:
                return cls(*await asyncio.open_unix_connection(short))
        except OSError:  # the variable outlived its link
            return None

    async def number(self, behind: int | None = None) -> int:
        """Ask for the number of a new network; ``behind`` is the nested link that it is in."""
        return int((await self._ask({"do": "number", "behind": behind}))["number"])

    async def join(self, pid: int) -> None:
        """Ask to join the network of process ``pid``."""
        await self._ask({"do": "join", "pid": pid})

    async def change(self, actions: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Ask for changes, each as an entry of a schedule; return the emulator's word on each.

        Raises:
            UnfitError: The link has not what should change.
        """
        answer = await self._ask({"do": "change", "actions": actions})
        if "unfit" in answer:
            raise UnfitError([(int(place), str(reason)) for place, reason in answer["unfit"]])
        changed: list[dict[str, Any]] = answer["changed"]
        return changed

    async def close(self) -> None:
        """Give the number back."""
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
    """What the outer link does for those that are nested in it."""

    planned: ShellPlan
    number: int
    run: Run
    """Runs a command of ``ip`` in our sandbox."""
    link: Link
    change: Change
    """Changes a condition of our link."""
    environment: Mapping[str, str] | None
    """Where our own outer link is found; None if there is none."""
    _taken: set[int] = field(default_factory=set)

    async def open(self, socket: Path) -> asyncio.Server:
        """Serve at this place."""
        with _short(socket) as short:
            return await asyncio.start_unix_server(self._serve, short)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        guest = _Guest(self)
        try:
            while line := await reader.readline():
                try:
                    answer = await guest.answer(json.loads(line))
                except (BedError, KeyError, ValueError) as error:
                    answer = {"error": str(error)}
                writer.write(json.dumps(answer).encode() + b"\n")
        finally:
            await guest.leave()
            writer.close()

    async def take(self) -> tuple[int, Uplink | None]:
        """Take a number, from whoever knows all."""
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
class _Guest:
    """A nested link that is served."""

    nest: Nest
    number: int | None = None
    above: Uplink | None = None

    async def answer(self, said: Mapping[str, Any]) -> dict[str, Any]:
        if said["do"] == "number" and self.number is None:
            self.number, self.above = await self.nest.take()
            await self.nest.run(plan.lead_back(self.number, self.nest.planned.own))
            if said["behind"] is not None:
                await self.nest.run(plan.lead_to(self.number, int(said["behind"])))
            return {"number": self.number}
        if said["do"] == "join" and self.number is not None:
            await self.nest.run(plan.join(self.number, int(said["pid"])))
            return {"joined": self.number}
        if said["do"] == "change":
            return await self._change([Action.model_validate(each) for each in said["actions"]])
        raise BedError(f"what is {said['do']!r}")

    async def _change(self, actions: Sequence[Action]) -> dict[str, Any]:
        """Change all of it, or nothing."""
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
    """A path to a socket in few letters: the kernel takes 107."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> str:
        self._folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)
