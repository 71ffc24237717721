"""When the client's network changed: by the kernel's own word, on the emulator's clock.

Between an order and its end lie some milliseconds, of starting a program for the most part, and
something happens at one moment of them. What the kernel changes, ``ip monitor`` tells, by
CLOCK_REALTIME; of what the emulator changes it knows the time itself. Steps are stamped by
CLOCK_MONOTONIC. All are told here in ns since the emulator's start, as its packet log and its
changes are.
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
from pathlib import Path
from typing import Any

from httpbed.experiment.handover import TRIGGER, AfterBytes, Handover
from httpbed.host.sandbox import untrusted_files
from httpbed.network.access import PREFERRED_METRIC
from httpbed.trial.handover.execution import STEPS
from httpbed.trial.handover.steps import BY_EMULATOR, DECISIVE, What, sockets_left_file
from httpbed.trial.hops import NetworkHop
from httpbed.trial.run.emulator_events import LINK_EVENTS

MONITOR = "network-monitor.txt"
CLOCKS_APART_NS = 1_000_000
"""Had the realtime clock been set meanwhile by more, its times would mislead: they are not used."""
FOR_GOOD_NS = 2**63
COMMANDS_END = "the command's end"
"""Whose word a change has that nobody told of: it came some milliseconds before."""
EARLY_NS = 1_000_000
"""A stamp may be this much earlier than the step that it belongs to: clocks were read in turn."""
_WORD = re.compile(
    r"^\[(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})\] (?P<said>.*)$", re.MULTILINE
)


@dataclass(frozen=True)
class CompletedStep:
    """A step that was carried out."""

    number: int
    """Of its hand-over."""
    what: What
    link: str
    due_ns: int
    began_ns: int
    ended_ns: int


@dataclass(frozen=True)
class KernelMessage:
    """What the kernel told."""

    at_ns: int
    said: str


@dataclass(frozen=True)
class HandoverChange:
    """A hand-over that took place."""

    number: int
    left: str
    entered: str
    due_ns: int
    ordered_ns: int
    """When its first step was begun: whatever came of it came later."""
    at_ns: int
    by: str
    """Whose word that is."""


@dataclass(frozen=True)
class HandoverEvidence:
    """What is known of the hand-overs of an attempt."""

    began_ns: int
    """The client's start."""
    ended_ns: int
    """The client's end."""
    done: tuple[CompletedStep, ...]
    changes: tuple[HandoverChange, ...]
    absences: Mapping[str, Sequence[tuple[int, int]]]
    """Of each link that lost its address: from when until when it had none."""
    sockets_left: Mapping[int, int]
    """Sockets that were there after their destruction, by the number of the hand-over; nothing
    where nobody looked before the address was back."""
    destroyed_after_ns: Mapping[int, int] = field(default_factory=dict)
    """From the deletion of an address until its sockets had been destroyed, likewise."""
    zero_ns: int = 0
    """CLOCK_MONOTONIC at the emulator's start, from which all times here count."""


def read(
    handover: Handover | None,
    hop: NetworkHop,
    evidence: Mapping[str, Any],
    link: Mapping[str, Any],
    folder: Path,
) -> HandoverEvidence | None:
    """Read what an attempt left; None without hand-overs, or where the client did not run.

    ``hop`` is the client's, ``evidence`` what httpbed wrote, ``link`` the emulator's result.
    """
    clocks = evidence.get("clocks")
    if handover is None or not clocks or "origin_ns" not in link:
        return None
    zero_ns = link["origin_ns"] + link["started_ns"]
    done = tuple(_done(untrusted_files.own_text(folder / STEPS), zero_ns))
    words = _words(untrusted_files.own_text(folder / MONITOR), clocks, zero_ns)
    reader = _Reader(handover, hop, done, words, link)
    return HandoverEvidence(
        began_ns=clocks[0]["monotonic_ns"] - zero_ns,
        ended_ns=clocks[-1]["monotonic_ns"] - zero_ns,
        done=done,
        changes=tuple(
            reader.changes(_triggered_ns(untrusted_files.own_text(folder / LINK_EVENTS)))
        ),
        absences=reader.absences(),
        sockets_left=_sockets_left(done, folder),
        destroyed_after_ns=dict(reader.destroyed()),
        zero_ns=zero_ns,
    )


@dataclass(frozen=True)
class _Reader:
    handover: Handover
    hop: NetworkHop
    done: Sequence[CompletedStep]
    words: Sequence[KernelMessage]
    link: Mapping[str, Any]

    def changes(self, triggered_ns: int | None) -> Iterator[HandoverChange]:
        counted = isinstance(self.handover.when, AfterBytes)
        decisive = DECISIVE.get(self.handover.kind)
        for number, done in groupby(self.done, key=lambda one: one.number):
            steps = list(done)
            made = next((one for one in steps if one.what == decisive), None)
            if made is None:
                continue
            at_ns, by = self._moment(made)
            left, entered = self._from_and_to(made)
            due_ns = triggered_ns if counted and triggered_ns is not None else made.due_ns
            yield HandoverChange(number, left, entered, due_ns, steps[0].began_ns, at_ns, by)

    def absences(self) -> dict[str, list[tuple[int, int]]]:
        gone: dict[str, int] = {}
        found: dict[str, list[tuple[int, int]]] = {}
        for one in self.done:
            if one.what == "detach":
                own = f" {self._address(one.link)}/"
                gone[one.link] = self._told(one, _deleted(own))[0]
            elif one.what == "attach" and one.link in gone:
                found.setdefault(one.link, []).append((gone.pop(one.link), one.began_ns))
        for link, since_ns in gone.items():
            found.setdefault(link, []).append((since_ns, FOR_GOOD_NS))
        return found

    def destroyed(self) -> Iterator[tuple[int, int]]:
        """Tell of each hand-over how long TCP was told nothing, of what QUIC sees for itself."""
        for number, done in groupby(self.done, key=lambda one: one.number):
            steps = {one.what: one for one in done}
            if "detach" in steps and "destroy" in steps:
                gone_ns, _ = self._told(steps["detach"], _deleted())
                yield number, steps["destroy"].ended_ns - gone_ns

    def _from_and_to(self, one: CompletedStep) -> tuple[str, str]:
        """Return the links; a NAT that forgets leaves the client on its own."""
        if self.handover.kind == "NAT rebinding":
            return one.link, one.link
        return self.handover.from_and_to(one.number)

    def _address(self, link: str) -> str:
        return next(path.client_address for path in self.hop.paths if path.names[0] == link)

    def _moment(self, one: CompletedStep) -> tuple[int, str]:
        if one.what in BY_EMULATOR:
            return self._by_emulator(one)
        return self._told(one, _deleted() if one.what == "detach" else _preferred)

    def _told(self, one: CompletedStep, is_meant: Callable[[str], bool]) -> tuple[int, str]:
        """Find the kernel's first word of a step; who listens may hear it only after its end."""
        first = bisect_left(self.words, one.began_ns - EARLY_NS, key=_when)
        last = bisect_right(self.words, one.ended_ns + EARLY_NS, key=_when)
        meant = (word.at_ns for word in self.words[first:last] if is_meant(word.said))
        at_ns = next(meant, None)
        if at_ns is None:
            return one.ended_ns, COMMANDS_END
        return min(at_ns, one.ended_ns), "the kernel"

    def _by_emulator(self, one: CompletedStep) -> tuple[int, str]:
        index = bisect_left(self._commanded, one.began_ns - EARLY_NS, key=_told_at)
        for change in self._commanded[index:]:
            if change["link"] == one.link and change["change"] == BY_EMULATOR[one.what]:
                return change["at_ns"], "the emulator"
        return one.ended_ns, COMMANDS_END

    @cached_property
    def _commanded(self) -> list[Mapping[str, Any]]:
        made = [one for one in self.link.get("changes", ()) if one["by"] == "command"]
        return sorted(made, key=_told_at)


def _deleted(what: str = "") -> Callable[[str], bool]:
    return lambda said: said.startswith("Deleted") and what in said


def _preferred(said: str) -> bool:
    return f" metric {PREFERRED_METRIC} " in f"{said} " and not said.startswith("Deleted")


def _when(word: KernelMessage) -> int:
    return word.at_ns


def _told_at(change: Mapping[str, Any]) -> int:
    return int(change["at_ns"])


def _done(text: str, zero_ns: int) -> Iterator[CompletedStep]:
    for line in text.splitlines():
        said = json.loads(line)
        times = (said[name] - zero_ns for name in ("due_ns", "began_ns", "ended_ns"))
        yield CompletedStep(said["handover"], said["step"], said["link"], *times)


def _words(text: str, clocks: Sequence[Mapping[str, int]], zero_ns: int) -> list[KernelMessage]:
    """Read what ``ip -ts monitor`` wrote, in UTC; nothing where the clock was set meanwhile."""
    offsets = [clock["realtime_ns"] - clock["monotonic_ns"] for clock in clocks]
    if max(offsets) - min(offsets) > CLOCKS_APART_NS:
        return []
    less_ns = offsets[0] + zero_ns
    return [
        KernelMessage(_ns(match["time"]) - less_ns, match["said"].strip())
        for match in _WORD.finditer(text)
    ]


def _ns(written: str) -> int:
    """Read a time to the microsecond, exactly."""
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
        one.number: folder / sockets_left_file(one.number) for one in done if one.what == "destroy"
    }
    return {
        number: len(untrusted_files.own_text(file).splitlines())
        for number, file in files.items()
        if file.exists()
    }
