"""Changes of a running link, requested by a command.

A request is read as a schedule of an experiment file is. The innermost link around the command
carries it out; ``$HTTPBED_UPLINK`` leads to that link. With ``--of PID`` the link around another
process does; that process's environment and files lead to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from httpbed.addons.link.nest import UnfitError, Uplink
from httpbed.addons.link.options import CHANGE, OF, STATE, WAYS
from httpbed.addons.link.tc_quantities import spelled
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake
from httpbed.experiment import validation_messages
from httpbed.experiment.changes import ACTIONS, Action
from httpbed.experiment.impairments.registry import OPTIONS

_KINDS = {option.name: option.kind for option in (*OPTIONS, STATE) if option.name in ACTIONS}

_BEHIND_ONE = "run it behind one: httpbed link ... -- COMMAND"


@dataclass(frozen=True)
class Target:
    """A process behind the link that is to change."""

    environment: Mapping[str, str]
    root: Path = Path("/")
    """Path of its root folder, as this process sees it."""
    pid: str | None = None
    """As the user wrote it; None for this process."""

    @classmethod
    def of(cls, pid: str) -> Self:
        """Return another process.

        Raises:
            ConfigError: No such process exists, or another user owns it.
        """
        process = Path("/proc") / pid
        if not (pid.isascii() and pid.isdigit()):
            raise ConfigError([Mistake(OF, f"{pid!r} is no PID", "write it like 4711")])
        try:
            entries = (process / "environ").read_bytes().split(b"\0")
        except OSError as error:
            why = f"process {pid}: {error.strerror}"
            raise ConfigError([Mistake(OF, why, "name a process of yours")]) from None
        pairs = (os.fsdecode(entry).partition("=") for entry in entries)
        return cls({name: value for name, _, value in pairs}, process / "root", pid)

    def mistake(self) -> Mistake:
        """Return the mistake that no link is around the process."""
        if self.pid is None:
            return Mistake(CHANGE, "no link is around this command", _BEHIND_ONE)
        return Mistake(OF, f"no link is around process {self.pid}", "name one that is behind it")


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


async def change(wanted: Iterable[RequestedChange], target: Target) -> list[dict[str, Any]]:
    """Change the innermost link around a process; return the emulator's report of each change.

    Raises:
        ConfigError: No link exists, or it cannot make a change; then nothing is changed.
        BedError: The link failed.
    """
    listed = list(wanted)
    uplink = await Uplink.find(target.environment, target.root)
    if uplink is None:
        raise ConfigError([target.mistake()])
    try:
        return await uplink.change([each.entry for each in listed])
    except UnfitError as error:
        remedy = "begin the link with what can change, such as --rate 1gbit"
        mistakes = [Mistake(listed[index].flag, why, remedy) for index, why in error.reasons]
        raise ConfigError(mistakes) from None
    finally:
        await uplink.close()


def words(changed: Mapping[str, Any]) -> str:
    """Return a sentence on a change from the emulator's report."""
    way = WAYS[changed["direction"]]
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
        for way in WAYS:
            flag = next((flag for flag in (f"{way}-{name}", name) if options.get(flag)), None)
            if flag:
                text = spelled(kind, str(options[flag]))
                yield RequestedChange(f"--{flag}", {"direction": way, name: text})


def _fixed(options: Mapping[str, str | bool | None]) -> Iterator[Mistake]:
    """Yield a mistake for each option that only a new link takes."""
    changeable = {flag for name in _KINDS for flag in (name, *(f"{way}-{name}" for way in WAYS))}
    for flag, value in options.items():
        if flag not in changeable and value not in {None, False, ()}:
            yield Mistake(f"--{flag}", "does not change while the link runs", "leave it out")
