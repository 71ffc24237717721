"""What explains a trial: its division, the window that held it, and a sentence.

**The kernel's account.** A TCP sender's kernel adds up what it waited for, as ``ss --info`` prints
it: how long it had something to send (``busy``), and for how much of that the receiver's window
(``rwnd_limited``) or its own buffer (``sndbuf_limited``) had no room. httpbed reads it when the
clients have ended. A division's receiver's window *in force* can be compared with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from httpbed.addons.explain import evidence, windows
from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.division import BUSY, WINDOWS, divide
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.periods import Division
from httpbed.addons.explain.rounds import Plateau
from httpbed.addons.explain.transfer import NS, BehindProxy, Transfer
from httpbed.addons.explain.windows import NamedWindow
from httpbed.base import units, untrusted_files
from httpbed.base.clock import Clock
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.kept import CAPTURE, KEYS, LINK_RESULT, PACKET_LOG, QLOG_ENDINGS
from httpbed.experiment.roles import HttpVersion
from httpbed.experiment.scenario import Scenario
from httpbed.programs.catalog import Catalog
from httpbed.report.phrasing import brief_duration, listed, sentence_case
from httpbed.results import attempts
from httpbed.results.sample import by_treatment, of_trials, scenario
from httpbed.store.results import Results

SLIGHT = 0.05
"""Share of the time below which no cause is worth a sentence."""
MS = 1_000_000
CUT_OFF = "cut off"
"""The outcome of a connection whose end a file of others does not have."""


@dataclass(frozen=True)
class Held:
    """A fixed window, and whose it is as far as that is known."""

    plateau: Plateau
    of: NamedWindow | None
    fills_bytes: int | None
    """Payload that would fill the path."""
    bodies: int = 1
    """How many bodies had such a window each; the plateau is the sum of their windows."""

    def explains(self, cause: str) -> bool:
        """Whether this window is the cause: a fixed window, or what its receiver grants."""
        return cause == "fixed window" or (self.of is not None and self.of.window.holds == cause)


@dataclass(frozen=True)
class Place:
    """Where an attempt belongs."""

    block: int
    trial: str
    levels: Mapping[str, str]
    attempt: int

    @property
    def cell(self) -> tuple[int, TreatmentKey]:
        """Its block and its treatment: the identifier of a trial depends on its clock."""
        return self.block, treatment_key(self.levels)

    def unexplained(self, reason: object) -> Unexplained:
        """Return why it cannot be divided."""
        return Unexplained(**vars(self), reason=str(reason))


@dataclass(frozen=True)
class Unexplained(Place):
    """A trial that cannot be divided."""

    reason: str


@dataclass(frozen=True)
class Divided(Place):
    """A trial's division in words, whatever it was read from."""

    outcome: str
    division: Division
    held: Held | None
    subject: ClassVar[str] = "the request"
    """What took the time."""

    @property
    def seconds(self) -> float:
        """The time that is divided."""
        return self.division.whole / NS

    @cached_property
    def ranked(self) -> list[tuple[str, int]]:
        """The causes that could be lifted, with their costs in ns; the dearest first."""
        costs = self.division.costs().items()
        found = [(name, cost) for name, cost in costs if name != "link"]
        return sorted(found, key=lambda one: -one[1])

    def sentences(self) -> list[str]:
        """Say what took the time, the dearest first; each without its full stop."""
        whole, costs = self.division.whole, self.division.costs()
        busy = sum(costs[name] for name in BUSY - {"repeated bytes"})
        # Evidence of one side, or without packets, does not show the link.
        link = f", of which the link was busy for {self.took(busy)}" if busy else ""
        own = costs["link"]
        texts = [self.opening(f"{duration_text(whole)}{link}")]
        for name, cost in self.ranked[:MAX_NAMED]:
            if cost < SLIGHT * whole and (len(texts) > 1 or own >= BUSY_SHARE * whole):
                break
            if name == "unknown" or cost == 0:
                continue
            known = "of what is known, " if costs["unknown"] > cost else ""
            begin = f"{known}{name} cost most" if len(texts) == 1 else f"then {name}"
            texts.append(sentence_case(f"{begin}, {self.took(cost)}: {self._how(name)}"))
        if own >= BUSY_SHARE * whole:
            texts.append("Only a faster link would shorten it much")
        return texts

    def took(self, ns: int) -> str:
        """Return a time in words, with its share of the whole."""
        return f"{duration_text(ns)} ({100 * self.division.share(ns):.0f} %)"

    def opening(self, time: str) -> str:
        """Begin with the time that is divided."""
        if self.outcome == "completed":
            return time
        if self.outcome == CUT_OFF:
            return f"The file ends within the connection; its first {time} are divided"
        return f"The trial {self.outcome}; its first {time} are divided"

    def _how(self, name: str) -> str:
        if self.held is None or not self.held.explains(name):
            return BY_NAME[name].meaning + self._of_which(name)
        payload = size_text(self.held.plateau.payload)
        of = f" of {self.held.bodies} bodies" * (self.held.bodies > 1)
        rounds = self.held.plateau.rounds
        text = f"{payload}{of} in flight for {rounds} round trip{'s' * (rounds != 1)}"
        if self.held.of is not None:
            text += f". The window is {self.held.of} ({self.held.of.window.holds})"
        else:
            text += ". No recipe names a knob of this window"
        if self.held.fills_bytes:
            text += f". {size_text(self.held.fills_bytes)} would fill this link"
        return text

    def _of_which(self, name: str) -> str:
        """Say behind a full stop what a proxy's connections to its servers did meanwhile."""
        costs = Counter[str]()
        for period in self.division.periods:
            if period.cause == name:
                costs[period.detail] += period.lasts
        texts = [
            f"for {duration_text(costs[detail])} {words}"
            for detail, words in BEHIND_PROXY.items()
            if costs[detail] >= SLIGHT * costs.total()
        ]
        return f". Of that, {listed(texts)}" if texts else ""

    def division_values(self) -> dict[str, Any]:
        """Return the division as JSON values, times in seconds."""
        costs, forces = self.division.costs(), self.division.forces()
        return {
            "causes": [
                {
                    "cause": name,
                    "cost_s": costs[name] / NS,
                    "in_force_s": forces[name] / NS,
                    "seen_s": self.division.seen(name) / NS,
                }
                for name in BY_NAME
                if name in costs or name in forces
            ],
            "periods": [
                [period.begin / NS, period.end / NS, period.cause, period.surety, period.detail]
                for period in self.division.periods
            ],
            "held": self._held_values(),
        }

    def _held_values(self) -> dict[str, Any] | None:
        if self.held is None:
            return None
        named_window = self.held.of
        return {
            "bytes": self.held.plateau.payload,
            "round_trips": self.held.plateau.rounds,
            "bodies": self.held.bodies,
            "fills_bytes": self.held.fills_bytes,
            "program": named_window.program if named_window else None,
            "knob": named_window.name if named_window else None,
            "size": named_window.size if named_window else None,
            "source": named_window.window.source if named_window else None,
        }


@dataclass(frozen=True)
class KernelAccount:
    """What a TCP sender's kernel counted for one socket, in ns."""

    busy: int
    receiver_limited: int
    buffer_limited: int


@dataclass(frozen=True)
class Explained(Divided):
    """A trial that is divided by its packets."""

    transfer: Transfer
    kernel: KernelAccount | None = None
    """Of a TCP sender."""
    origin: int = 0
    """Where the divided time begins, in ns since the client's first packet."""

    def sentences(self) -> list[str]:
        """Say what took the time, and what stands beside the division."""
        return [*super().sentences(), *self.beside()]

    def beside(self) -> Iterator[str]:
        """Say for how long data waited behind holes, and what the sender said of its limits."""
        waited = self.transfer.held_back_ns or 0
        if waited >= SLIGHT * self.division.whole:
            yield self._held_back(waited)
        if self.transfer.blocked:
            yield self._said_blocked()

    def _held_back(self, waited: int) -> str:
        return f"Data that had arrived waited for lost or late packets for {self.took(waited)}"

    def _said_blocked(self) -> str:
        """Say what the sender said of its limits, and whether the division agrees."""
        sender, blocked = self.transfer.sender, self.transfer.blocked
        frames = listed([f"{count} {name}" for name, count in sorted(blocked.items())])
        if set(blocked) == {"STREAMS_BLOCKED"}:
            return f"The {sender} sent {frames}: it had more requests than it may have open"
        cost = self.division.costs()["receiver's window"]
        if cost >= SLIGHT * self.division.whole:
            return f"The {sender} sent {frames}: the receiver's window holds it"
        return f"The {sender} sent {frames}, but the receiver's window cost {duration_text(cost)}"

    def values(self) -> dict[str, Any]:
        """Return it as JSON values, times in seconds."""
        held_back_ns = self.transfer.held_back_ns
        return {
            "block": self.block,
            "trial": self.trial,
            "attempt": self.attempt,
            "levels": dict(self.levels),
            "outcome": self.outcome,
            "seconds": self.seconds,
            "sentence": ". ".join(self.sentences()) + ".",
            **self.division_values(),
            "blocked": dict(self.transfer.blocked),
            "held_back_s": None if held_back_ns is None else held_back_ns / NS,
            "kernel": self._kernel_values(),
        }

    def _kernel_values(self) -> dict[str, float] | None:
        if self.kernel is None:
            return None
        return {
            "busy_s": self.kernel.busy / NS,
            "receiver_limited_s": self.kernel.receiver_limited / NS,
            "buffer_limited_s": self.kernel.buffer_limited / NS,
        }


BEHIND_PROXY: Mapping[BehindProxy, str] = {
    "set-up": "a connection behind the proxy was being set up",
    "under way": "data was under way behind the proxy",
    "held back": "data from behind the proxy waited for lost or late packets",
}
MAX_NAMED = 3
BUSY_SHARE = 0.9


def duration_text(ns: int) -> str:
    """Return a time in words."""
    return brief_duration(ns / NS)


def size_text(count: int) -> str:
    """Return bytes in words."""
    return units.format_size(count, units.SHORT_DIGITS)


def largest_shares(every: Iterable[Divided], *, in_force: bool = False) -> dict[str, float]:
    """Return the largest share of each cause in any division, in the order of the taxonomy."""
    shares = dict.fromkeys(BY_NAME, 0.0)
    for division in (divided.division for divided in every):
        for name, ns in (division.forces() if in_force else division.costs()).items():
            shares[name] = max(shares[name], division.share(ns))
    return shares


def divided(  # noqa: PLR0913 - the last is a keyword
    place: Place,
    outcome: str,
    transfer: Transfer,
    version: HttpVersion,
    known: Iterator[NamedWindow],
    *,
    account: KernelAccount | None = None,
) -> Explained:
    """Divide an attempt's transfer, and name the known window that held it, if one did."""
    division = divide(transfer)
    window = held(transfer, division, version, known)
    return Explained(
        **vars(place),
        outcome=outcome,
        division=division,
        held=window,
        transfer=transfer,
        kernel=account,
    )


def typical_rows(results: Results, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the typical row of each treatment, in the order in which the file has the levels.

    It is the trial nearest to the median request time, of pages to the median page load time.
    """
    times = {**of_trials(results, "page_load_time"), **of_trials(results, "request_time")}
    groups = by_treatment(results, [dict(row) for row in rows]).values()
    factors = results.experiment.factors
    chosen = [attempts.typical(group, times)[0] for group in groups]
    return sorted(chosen, key=lambda row: [factors[name].index(row[name]) for name in factors])


def place_of(results: Results, row: Mapping[str, Any]) -> Place:
    """Return where the attempt of a row belongs."""
    return Place(row["block"], row["trial"], results.levels(row), row["attempt"])


@dataclass(frozen=True)
class Remains:
    """What an attempt left, and what it was asked to do."""

    place: Place
    artifacts: Path
    described: Scenario
    clock: Clock
    catalog: Catalog
    outcome: str
    request_s: float | None
    """Its request time; None without one."""


def remains(
    results: Results, row: Mapping[str, Any], catalog: Catalog, *more: str
) -> Remains | Unexplained:
    """Return what an attempt left, if its packets and the files ``more`` are unaltered."""
    place, folder = place_of(results, row), results.artifact_folder(row)
    qlogs = (file for file in folder.glob("*/*") if file.suffix in QLOG_ENDINGS)
    names = (str(file.relative_to(folder)) for file in qlogs)
    for name in (PACKET_LOG, CAPTURE, LINK_RESULT, KEYS, *names, *more):
        if results.artifacts.altered(row, name):
            return place.unexplained(f"its {name} is not as it was written")
    return Remains(
        place,
        folder,
        scenario(results, place.levels),
        results.manifest.get("clock", "real"),
        catalog,
        outcome=row["outcome"],
        request_s=attempts.value_of(row, of_trials(results, "request_time")),
    )


def explain(results: Results, row: Mapping[str, Any], catalog: Catalog) -> Explained | Unexplained:
    """Explain an attempt of a campaign."""
    left = remains(results, row, catalog)
    return left if isinstance(left, Unexplained) else of_attempt(left)


def of_attempt(left: Remains) -> Explained | Unexplained:
    """Explain what an attempt left."""
    artifacts, described = left.artifacts, left.described
    is_over = left.outcome == "completed"
    try:
        transfer = evidence.read(artifacts, described, left.clock, left.request_s, is_over=is_over)
    except NoTransferError as error:
        return left.place.unexplained(error)
    version, known = described.hops()[0].http_version, windows.candidates(described, left.catalog)
    account = _account(artifacts, described) if transfer.protocol == "tcp" else None
    return divided(left.place, left.outcome, transfer, version, known, account=account)


_ACCOUNT = re.compile(
    r" busy:([0-9]{1,12})ms"
    r"(?: rwnd_limited:([0-9]{1,12})ms\([^)]{1,10}\))?"
    r"(?: sndbuf_limited:([0-9]{1,12})ms\([^)]{1,10}\))?"
)


def kernel_account(sockets: str) -> KernelAccount | None:
    """Return the account of the busiest socket of ``ss --info``; None if it prints none."""
    counts = ([int(count or 0) * MS for count in words] for words in _ACCOUNT.findall(sockets))
    busiest = max(counts, key=itemgetter(0), default=None)
    return KernelAccount(*busiest) if busiest else None


def _account(artifacts: Path, described: Scenario) -> KernelAccount | None:
    sender = described.client_groups[0].sender(described.hops()[0])
    file = artifacts / f"sockets-{sender}.txt"
    try:
        return kernel_account(untrusted_files.text(file))
    except (OSError, ValueError):
        return None


def held(
    transfer: Transfer, division: Division, version: HttpVersion, known: Iterator[NamedWindow]
) -> Held | None:
    """Return the fixed window that was in force for longest; None without any."""
    if division.rounds is None or not division.rounds.plateaus:
        return None
    if not WINDOWS & set(division.costs()):
        return None
    plateau: Plateau = max(division.rounds.plateaus, key=lambda one: one.end - one.begin)
    of = windows.named(plateau.payload, transfer.full, version, known)
    return Held(plateau, of, transfer.path.product_bytes)


def explained(found: Sequence[Explained | Unexplained]) -> list[Explained]:
    """Return those that were divided."""
    return [one for one in found if isinstance(one, Explained)]
