"""Changes of a running link, requested by a command behind it.

A request is read as a schedule of an experiment file is. The link serves a socket below its
``/trial``, in its sandbox's memory; ``$HTTPBED_UPLINK`` names it to the command. A request is a
line of JSON, and so is its answer.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from httpbed.addons.link.described_link import CHANGE, STATE
from httpbed.base import units
from httpbed.base.errors import BedError, ConfigError, Mistake
from httpbed.base.units import from_tc
from httpbed.experiment import validation_messages
from httpbed.experiment.impairments.descriptor import DIRECTIONS
from httpbed.experiment.impairments.registry import OPTIONS
from httpbed.experiment.topology import ACTIONS, Action, Link

UPLINK = "HTTPBED_UPLINK"
"""Variable of the command's environment: the path of its link's socket."""
_KINDS = {option.name: option.kind for option in (*OPTIONS, STATE) if option.name in ACTIONS}
_NO_LINK = Mistake(
    CHANGE, "no link is around this command", "run it behind one: httpbed link ... -- COMMAND"
)

Make = Callable[[Action], Awaitable[dict[str, Any]]]


class RequestedChange(NamedTuple):
    """One condition to change in one direction."""

    flag: str
    entry: Mapping[str, str]
    """The change as an entry of an experiment's schedule."""


def requested(options: Mapping[str, str | bool | None]) -> list[RequestedChange]:
    """Return the requested changes; ``options`` are by flag, without dashes.

    Raises:
        ConfigError: With every mistake, each at its option.
    """
    changes = [*_conditions(options)]
    mistakes = [*_fixed(options)]
    if not changes and not mistakes:
        known = ", ".join(f"--{name}" for name in ACTIONS)
        mistakes.append(Mistake(CHANGE, "changes nothing", f"give one of {known}"))
    for each in changes:
        try:
            Action.model_validate(each.entry)
        except ValidationError as error:
            reasons = map(validation_messages.reason_and_remedy, error.errors())
            mistakes += (Mistake(each.flag, *reason) for reason in reasons)
    if mistakes:
        raise ConfigError(dict.fromkeys(mistakes))
    return changes


async def request(
    changes: Sequence[RequestedChange], environment: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Change the innermost link around this process; return the emulator's report of each change.

    Raises:
        ConfigError: No link exists, or it cannot make a change; then nothing is changed.
        BedError: The link failed.
    """
    answer = await _ask([each.entry for each in changes], environment.get(UPLINK))
    if "error" in answer:
        raise BedError(f"the link refused: {answer['error']}")
    if "unfit" in answer:
        remedy = "begin the link with what can change, such as --rate 1gbit"
        unfit = ((changes[int(place)].flag, str(why)) for place, why in answer["unfit"])
        raise ConfigError([Mistake(flag, why, remedy) for flag, why in unfit])
    changed: list[dict[str, Any]] = answer["changed"]
    return changed


async def _ask(entries: Sequence[Mapping[str, str]], socket: str | None) -> dict[str, Any]:
    if not socket:
        raise ConfigError([_NO_LINK])
    try:
        with _ShortPath(Path(socket)) as path:
            reader, writer = await asyncio.open_unix_connection(path)
    except OSError:  # the variable outlived its link
        raise ConfigError([_NO_LINK]) from None
    writer.write(json.dumps(entries).encode() + b"\n")
    line = await reader.readline()
    writer.close()
    answer: dict[str, Any] = json.loads(line) if line else {"error": "it has ended"}
    return answer


async def serve(socket: Path, link: Link, make: Make) -> asyncio.Server:
    """Answer requests at this path; ``make`` makes a change of this link."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            actions = [Action.model_validate(each) for each in json.loads(await reader.readline())]
            reply = await _make_all(actions, link, make)
        except (BedError, ValueError, TypeError) as error:
            reply = {"error": str(error)}
        writer.write(json.dumps(reply).encode() + b"\n")
        writer.close()

    with _ShortPath(socket) as path:
        return await asyncio.start_unix_server(answer, path)


async def _make_all(actions: Sequence[Action], link: Link, make: Make) -> dict[str, Any]:
    """Make all changes, or none."""
    unfit = [(place, why) for place, act in enumerate(actions) for why in link.unfit(act)]
    return {"unfit": unfit} if unfit else {"changed": [await make(act) for act in actions]}


class _ShortPath:
    """A short path to a socket: the kernel's limit is 107 bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> str:
        self._folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)


def words(changed: Mapping[str, Any]) -> str:
    """Return a sentence on a change from the emulator's report."""
    way = DIRECTIONS[changed["direction"]]
    at = units.format_duration(round(changed["at_ns"] / 1e9, 3))
    return f"{way}: {_condition(changed['change'])}, {at} after its start"


def _condition(change: Mapping[str, Any]) -> str:
    if "rate_bit_s" in change:
        return f"rate {units.format_rate(change['rate_bit_s'])}"
    if "delay_ns" in change:
        return f"delay {units.format_duration(change['delay_ns'] / 1e9)}"
    if "loss" in change:
        return f"loss {units.format_share(change['loss'])}"
    if "rebind" in change:
        return "NAT rebound"
    return "state down" if change["down"] else "state up"


def _conditions(options: Mapping[str, str | bool | None]) -> Iterator[RequestedChange]:
    for name, kind in _KINDS.items():
        for way in DIRECTIONS:
            flag = next((flag for flag in (f"{way}-{name}", name) if options.get(flag)), None)
            if flag:
                text = from_tc(kind, str(options[flag]))
                yield RequestedChange(f"--{flag}", {"direction": way, name: text})


def _fixed(options: Mapping[str, str | bool | None]) -> Iterator[Mistake]:
    """Yield a mistake for each option that only a new link takes."""
    changeable = {
        flag for name in _KINDS for flag in (name, *(f"{way}-{name}" for way in DIRECTIONS))
    }
    for flag, value in options.items():
        if flag not in changeable and value not in {None, False, ()}:
            yield Mistake(f"--{flag}", "does not change while the link runs", "leave it out")
