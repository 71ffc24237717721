"""When the client's network changed, by the kernel's messages and on the emulator's clock.

A command takes some milliseconds, mostly to start, and takes effect at some time within them. The
kernel reports its changes to ``ip monitor`` by CLOCK_REALTIME. The emulator knows the times of its
own changes. Steps are stamped by CLOCK_MONOTONIC. All times here are ns since the emulator's start,
as in its packet log.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from httpbed.addons.handover import handover_deliveries
from httpbed.addons.handover.handover_deliveries import Bins
from httpbed.addons.handover.handover_model import AfterBytes, Handover
from httpbed.addons.handover.handover_steps import (
    BY_EMULATOR,
    DECISIVE,
    HANDOVER_STEPS,
    What,
    sockets_left_file,
)
from httpbed.base import untrusted_files
from httpbed.bed.network.network_commands import MONITOR, PREFERRED_METRIC
from httpbed.experiment.roles import TRIGGER
from httpbed.trial.attempt_plan import LINK_EVENTS
from httpbed.trial.evidence import AbsencesNs, AddedEvidence
from httpbed.trial.hops import NetworkHop

CLOCKS_APART_NS = 1_000_000
"""If CLOCK_REALTIME was set by more than this meanwhile, its times are not used."""
FOR_GOOD_NS = 2**63
COMMANDS_END = "the command's end"
"""Source of a change's time where no message reports it: the change came some ms earlier."""
EARLY_NS = 1_000_000
"""A message may be this much earlier than its step, because the clocks are read in turn."""
_MESSAGE = re.compile(
    r"^\[(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})\] (?P<text>.*)$", re.MULTILINE
)


@dataclass(frozen=True)
class CompletedStep:
    """A step that was carried out."""

    number: int
    what: What
    link: str
    due_ns: int
    began_ns: int
    ended_ns: int


@dataclass(frozen=True)
class KernelMessage:
    """A message of ``ip monitor``."""

    at_ns: int
    text: str


@dataclass(frozen=True)
class HandoverChange:
    """A hand-over that took place."""

    number: int
    left: str
    entered: str
    due_ns: int
    ordered_ns: int
    """When its first step began; its effects came later."""
    at_ns: int
    by: str
    """Source of ``at_ns``: the kernel, the emulator, or the command's end."""


@dataclass(frozen=True)
class HandoverEvidence(AddedEvidence):
    """The hand-overs of an attempt."""

    began_ns: int
    """The client's start."""
    ended_ns: int
    done: tuple[CompletedStep, ...]
    changes: tuple[HandoverChange, ...]
    absences: AbsencesNs
    sockets_left: Mapping[int, int]
    """Sockets left after their destruction, by number of the hand-over; no entry where they were
    not counted before the address was back."""
    destroyed_after_ns: Mapping[int, int] = field(default_factory=dict)
    """Ns from the deletion of an address until its sockets had been destroyed, by number of the
    hand-over."""
    zero_ns: int = 0
    """CLOCK_MONOTONIC at the emulator's start, the origin of all times here."""
    deliveries: Mapping[str, Bins] = field(default_factory=dict)
    """What each of the client's links delivered to it."""

    def absent(self) -> AbsencesNs:
        """Return when the client's links had no address."""
        return self.absences

    def taken(self, link: str) -> int | None:
        """Return what a link delivered while it had an address; None if it never lost it."""
        bins = self.deliveries.get(link)
        return sum(bins.values()) if bins and self.absences.get(link) else None

    def moves(self) -> int:
        """Return how many hand-overs took place."""
        return len(self.changes)


def read(
    handover: Handover,
    hop: NetworkHop,
    evidence: Mapping[str, Any],
    link: Mapping[str, Any],
    folder: Path,
) -> HandoverEvidence | None:
    """Read the files of an attempt with hand-overs; None where the client did not run.

    ``hop`` is the client's, ``evidence`` is httpbed's own, ``link`` the emulator's result.
    """
    clocks = evidence.get("clocks")
    if not clocks or "origin_ns" not in link:
        return None
    zero_ns = link["origin_ns"] + link["started_ns"]
    done = tuple(_done(untrusted_files.own_text(folder / HANDOVER_STEPS), zero_ns))
    messages = _messages(untrusted_files.own_text(folder / MONITOR), clocks, zero_ns)
    reader = _Reader(handover, hop, done, messages, link)
    absences = reader.absences()
    return HandoverEvidence(
        began_ns=clocks[0]["monotonic_ns"] - zero_ns,
        ended_ns=clocks[-1]["monotonic_ns"] - zero_ns,
        done=done,
        changes=tuple(
            reader.changes(_triggered_ns(untrusted_files.own_text(folder / LINK_EVENTS)))
        ),
        absences=absences,
        sockets_left=_sockets_left(done, folder),
        destroyed_after_ns=dict(reader.destroyed()),
        zero_ns=zero_ns,
        deliveries=handover_deliveries.read(folder, absences),
    )


@dataclass(frozen=True)
class _Reader:
    handover: Handover
    hop: NetworkHop
    done: Sequence[CompletedStep]
    messages: Sequence[KernelMessage]
    link: Mapping[str, Any]

    def changes(self, triggered_ns: int | None) -> Iterator[HandoverChange]:
        counted = isinstance(self.handover.when, AfterBytes)
        decisive = DECISIVE.get(self.handover.kind)
        for number, done in groupby(self.done, key=attrgetter("number")):
            steps = list(done)
            decisive_step = next((step for step in steps if step.what == decisive), None)
            if decisive_step is None:
                continue
            at_ns, by = self._time_and_source(decisive_step)
            left, entered = self._from_and_to(decisive_step)
            due_ns = triggered_ns if counted and triggered_ns is not None else decisive_step.due_ns
            yield HandoverChange(number, left, entered, due_ns, steps[0].began_ns, at_ns, by)

    def absences(self) -> dict[str, list[tuple[int, int]]]:
        gone: dict[str, int] = {}
        spans: dict[str, list[tuple[int, int]]] = {}
        for step in self.done:
            if step.what == "detach":
                address = f" {self._address(step.link)}/"
                gone[step.link], _ = self._by_kernel(step, _deleted(address))
            elif step.what == "attach" and step.link in gone:
                spans.setdefault(step.link, []).append((gone.pop(step.link), step.began_ns))
        for link, since_ns in gone.items():
            spans.setdefault(link, []).append((since_ns, FOR_GOOD_NS))
        return spans

    def destroyed(self) -> Iterator[tuple[int, int]]:
        """Yield for each hand-over how long TCP sockets outlived their address, in ns."""
        for number, done in groupby(self.done, key=attrgetter("number")):
            steps = {step.what: step for step in done}
            if "detach" in steps and "destroy" in steps:
                gone_ns, _ = self._by_kernel(steps["detach"], _deleted())
                yield number, steps["destroy"].ended_ns - gone_ns

    def _from_and_to(self, step: CompletedStep) -> tuple[str, str]:
        """Return the links left and entered; after a NAT rebinding they are the same."""
        if self.handover.kind == "NAT rebinding":
            return step.link, step.link
        return self.handover.from_and_to(step.number)

    def _address(self, link: str) -> str:
        return next(path.client_address for path in self.hop.paths if path.names[0] == link)

    def _time_and_source(self, step: CompletedStep) -> tuple[int, str]:
        if step.what in BY_EMULATOR:
            return self._by_emulator(step)
        return self._by_kernel(step, _deleted() if step.what == "detach" else _preferred)

    def _by_kernel(self, step: CompletedStep, is_meant: Callable[[str], bool]) -> tuple[int, str]:
        """Return the time and source of the kernel's first message on a step."""
        came_ns = attrgetter("at_ns")
        first = bisect_left(self.messages, step.began_ns - EARLY_NS, key=came_ns)
        last = bisect_right(self.messages, step.ended_ns + EARLY_NS, key=came_ns)
        meant = (message.at_ns for message in self.messages[first:last] if is_meant(message.text))
        at_ns = next(meant, None)
        if at_ns is None:
            return step.ended_ns, COMMANDS_END
        return min(at_ns, step.ended_ns), "the kernel"

    def _by_emulator(self, step: CompletedStep) -> tuple[int, str]:
        earliest_ns = step.began_ns - EARLY_NS
        index = bisect_left(self._commanded, earliest_ns, key=itemgetter("at_ns"))
        for change in self._commanded[index:]:
            if change["link"] == step.link and change["change"] == BY_EMULATOR[step.what]:
                return change["at_ns"], "the emulator"
        return step.ended_ns, COMMANDS_END

    @cached_property
    def _commanded(self) -> list[Mapping[str, Any]]:
        commanded = (change for change in self.link["changes"] if change["by"] == "command")
        return sorted(commanded, key=itemgetter("at_ns"))


def _deleted(what: str = "") -> Callable[[str], bool]:
    return lambda text: text.startswith("Deleted") and what in text


def _preferred(text: str) -> bool:
    return f" metric {PREFERRED_METRIC} " in f"{text} " and not text.startswith("Deleted")


def _done(text: str, zero_ns: int) -> Iterator[CompletedStep]:
    for line in text.splitlines():
        step = json.loads(line)
        times = (step[name] - zero_ns for name in ("due_ns", "began_ns", "ended_ns"))
        yield CompletedStep(step["handover"], step["step"], step["link"], *times)


def _messages(text: str, clocks: Sequence[Mapping[str, int]], zero_ns: int) -> list[KernelMessage]:
    """Read the output of ``ip -ts monitor``, in UTC; nothing where the clock was set meanwhile."""
    offsets = [clock["realtime_ns"] - clock["monotonic_ns"] for clock in clocks]
    if max(offsets) - min(offsets) > CLOCKS_APART_NS:
        return []
    less_ns = offsets[0] + zero_ns
    return [
        KernelMessage(_ns(match["time"]) - less_ns, match["text"].strip())
        for match in _MESSAGE.finditer(text)
    ]


def _ns(written: str) -> int:
    """Return the ns since the epoch of an ISO 8601 time with microseconds."""
    at = datetime.fromisoformat(written).replace(tzinfo=UTC)
    return int(at.replace(microsecond=0).timestamp()) * 10**9 + at.microsecond * 1000


def _triggered_ns(text: str) -> int | None:
    events: Iterable[Mapping[str, Any]] = map(json.loads, text.splitlines())
    mine = (
        event["at_ns"]
        for event in events
        if event["event"] == "triggered" and event["name"] == TRIGGER
    )
    return next(mine, None)


def _sockets_left(done: Iterable[CompletedStep], folder: Path) -> dict[int, int]:
    files = {
        step.number: folder / sockets_left_file(step.number)
        for step in done
        if step.what == "destroy"
    }
    return {
        number: len(untrusted_files.own_text(file).splitlines())
        for number, file in files.items()
        if file.exists()
    }
