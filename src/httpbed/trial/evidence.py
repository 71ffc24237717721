"""Everything that an attempt left in its folder, read into one value."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from httpbed.base import untrusted_files
from httpbed.bed.sandbox.sandbox_spec import Exit
from httpbed.experiment.kept import LINK_RESULT
from httpbed.experiment.metric import Observation
from httpbed.experiment.roles import TCP_CONTROLS, TcpBuffers
from httpbed.experiment.trial import Check, HandoverEvent
from httpbed.experiment.workload import FileTransfer
from httpbed.programs.catalog import Catalog
from httpbed.programs.part import PRIOR_PATH, LoggedRequest, ProgramReport, RoleName
from httpbed.trial import fairness
from httpbed.trial.attempt_plan import EVIDENCE, CampaignSetup, TrialPlan, read_object
from httpbed.trial.content import PRIOR
from httpbed.trial.fairness import FairShares
from httpbed.trial.hops import (
    UDP_COUNTERS,
    Chain,
    NetworkHop,
    datagrams_file,
    ping_file,
    quic_hosts,
    sockets_file,
)

_PING_TIME = re.compile(r"time=(?P<ms>[0-9.]+) ms")
_PING_LEAST = re.compile(r"^rtt min/\S+ = (?P<ms>[0-9.]+)/", re.MULTILINE)
_SOCKET_ALGORITHM = re.compile(rf"^\s+(?:\S+ )*?(?P<name>{'|'.join(TCP_CONTROLS)})\b")
_SOCKET_MEMORY = re.compile(r"\bskmem:\(r\d+,rb(?P<receive>\d+),t\d+,tb(?P<send>\d+),")
_SOCKET_WINDOW = re.compile(
    r"^(?!SYN-)\S.*\n"
    r"(?!.*\b(?:ssthresh|retrans):)"
    r".*\bcwnd:(?P<window>\d+)\b(?:.* delivered:(?P<delivered>\d+)\b)?",
    re.MULTILINE,
)

AbsencesNs = Mapping[str, Sequence[tuple[int, int]]]
"""For each link of the client that lost its address, the spans without one, in ns since the
emulator's start."""
Added = TypeVar("Added", bound="AddedEvidence")
Body = Mapping[str, Any]
"""``bytes`` and ``sha256``."""


class InitialWindow(NamedTuple):
    """The bounds of a socket's initial window, in packets."""

    low: int
    high: int


@dataclass(frozen=True)
class HostDatagrams:
    """What became of the datagrams that reached the UDP sockets of a host."""

    received: int
    """Taken by programs."""
    dropped: int
    """Dropped by the kernel, because a socket's receive buffer was full or had no memory."""


@dataclass(frozen=True)
class AttemptFiles:
    """What an attempt left, for an addition to read."""

    planned: TrialPlan
    folder: Path
    evidence: Mapping[str, Any]
    """httpbed's own; empty if the attempt left none."""
    link: Mapping[str, Any]
    """The emulator's result; empty if the client did not run."""


@dataclass(frozen=True)
class AddedEvidence:
    """What an addition read. What all checks need to know of it is here."""

    def absent(self) -> AbsencesNs:
        """Return when the client's links had no address."""
        return {}

    def taken(self, link: str) -> int | None:
        """Return the bytes of IP packets that a link delivered to an address that it lost.

        None if it lost none, or if that is not known.
        """
        del link
        return None

    def moves(self) -> int | None:
        """Return how often the client's network changed; None if it could not."""
        return None


@dataclass(frozen=True)
class AttemptEvidence:
    """Everything that was observed in one attempt, keyed by part."""

    failures: Mapping[str, str]
    """Why a server or proxy did not start; empty when all did."""
    exits: Mapping[str, Exit]
    """How each process that started ended, prior visits included."""
    stopped: frozenset[str]
    """Competitors that were still at work when the measured client ended."""
    survivors: frozenset[str]
    """Servers and proxies that ran until the client ended."""
    client_s: float
    bodies: Mapping[str, Sequence[Body | None]]
    """What each client stored, file by file, or its server of an upload; None: nothing."""
    pressure: Mapping[str, Any]
    """``source`` and ``seconds`` of waiting for a CPU while the client ran."""
    link: Mapping[str, Any]
    """The emulator's result; empty when the client did not run."""
    pings_s: Mapping[str, Sequence[float]]
    """Idle round-trip times of each path of each hop, by the path's title."""
    algorithms: Mapping[str, frozenset[str]]
    """TCP congestion control of each part's sockets, as the kernel reports it: of senders, and of
    receivers for which buffers or a window are stated."""
    reports: Mapping[str, ProgramReport]
    """What each part's own files report, without the requests of prior visits."""
    fairness: FairShares | None = None
    """What each client received while all were active; None where there was one client."""
    datagrams: Mapping[str, HostDatagrams] = field(default_factory=dict)
    """By host, for those that receive QUIC; an attempt of an earlier version has none."""
    buffers: Mapping[str, frozenset[TcpBuffers]] = field(default_factory=dict)
    """The buffers of the same sockets as ``algorithms``; an attempt of an earlier version has
    none."""
    initial_windows: Mapping[str, frozenset[InitialWindow]] = field(default_factory=dict)
    """Bounds of the initial windows of the same sockets."""
    silent: frozenset[str] = frozenset()
    """Servers and proxies whose programs log no requests."""
    added: Mapping[type[AddedEvidence], Any] = field(default_factory=dict)
    """What additions left, by its type."""
    excess: bool = False
    """Whether a part filled its folder, which slows the machine down, too."""
    killed_for_memory: int = 0
    """Processes of this machine that the kernel killed for lack of memory while the client ran."""
    unsupported: frozenset[str] = frozenset()
    """Parts whose programs ended by the status that says that they cannot do what was asked."""
    disorder: Mapping[str, str] = field(default_factory=dict)
    """What was wrong with the folders that parts left."""

    def of(self, kind: type[Added]) -> Added | None:
        """Return what an addition left; None if it left nothing."""
        added: Added | None = self.added.get(kind)
        return added

    @property
    def moves(self) -> int | None:
        """How often the client's network changed; None if it could not."""
        moves = [times for one in self.added.values() if (times := one.moves()) is not None]
        return sum(moves) if moves else None

    def absences(self, link: str) -> list[tuple[int, int]]:
        """Return when a link had no address, in ns since the emulator's start."""
        return [span for one in self.added.values() for span in one.absent().get(link, ())]

    def most_taken(self, link: str, unknown: int) -> int:
        """Return the bytes that a link delivered while it had an address, if it lost one."""
        taken = (one.taken(link) for one in self.added.values())
        return min((size for size in taken if size is not None), default=unknown)

    @property
    def client(self) -> Exit | None:
        """How the client ended; None if it did not start."""
        return self.exits.get("client")

    def is_cut_off(self, client: str) -> bool:
        """Whether a client was stopped at work, by the end of the trial or its time limit."""
        ended = self.exits.get(client)
        return client in self.stopped or (ended is not None and ended.timed_out)

    @property
    def connections(self) -> list[dict[str, Any]]:
        """The emulator's entry for each connection on each link."""
        return list(self.link.get("connections", []))


@dataclass(frozen=True)
class JudgedAttempt:
    """What the checks read: the trial's plan, what was prepared for it, and the evidence."""

    planned: TrialPlan
    setup: CampaignSetup
    evidence: AttemptEvidence
    additions: tuple[type[AddedJudgement], ...] = ()
    """How additions judge it."""

    @property
    def catalog(self) -> Catalog:
        """The recipes of its programs."""
        return self.setup.catalog

    @cached_property
    def added(self) -> tuple[AddedJudgement, ...]:
        """The judgements of additions."""
        return tuple(judgement(self) for judgement in self.additions)

    def stores_bodies(self, chain: Chain) -> bool:
        """Whether a client stores what it fetches, or its server what it uploads."""
        client = self.catalog[self.planned.scenario.implementations[chain.client]]
        return client.stores_bodies or chain.workload.sender == "client"


@dataclass(frozen=True)
class AddedJudgement:
    """An addition's judgement of one attempt."""

    attempt: JudgedAttempt

    def checks_of_bed(self) -> Iterable[Check]:
        """Check what the bed did for the addition."""
        return ()

    def checks_of_subject(self) -> Iterable[Check]:
        """Check what the programs under test did of it."""
        return ()

    def checks_of_fetched(self, chain: Chain, where: str) -> Iterable[Check]:
        """Check what a client fetched, if its workload is of the addition's kind."""
        del chain, where
        return ()

    def check_of_connections(self, chain: Chain, count: int, where: str) -> Check | None:
        """Check the number of a client's connections, if its workload is of the addition's kind."""
        del chain, count, where
        return None

    def observations(self) -> Iterable[Observation]:
        """Observe the addition's metrics."""
        return ()

    def handovers(self) -> list[HandoverEvent] | None:
        """Return the client's hand-overs; None where there are none, or the client did not run."""
        return None

    def remark(self) -> str:
        """Say what explains that the client failed; empty if nothing does."""
        return ""


def read(
    planned: TrialPlan,
    catalog: Catalog,
    artifacts: Path,
    additions: Iterable[Callable[[AttemptFiles], AddedEvidence | None]] = (),
) -> AttemptEvidence:
    """Read the folder that an attempt left; each of ``additions`` reads it, too."""
    evidence = read_object(artifacts, EVIDENCE)
    link = read_object(artifacts, LINK_RESULT)
    reader = _Reader(planned, catalog, artifacts)
    reports = reader.reports()
    files = AttemptFiles(planned, artifacts, evidence, link)
    exits, sockets = _exits(evidence, reports), reader.sockets()
    added = filter(None, (addition(files) for addition in additions))
    return AttemptEvidence(
        failures=evidence.get("failures", {}),
        exits=exits,
        stopped=frozenset(evidence.get("stopped", ())),
        survivors=frozenset(evidence.get("survivors", ())),
        client_s=evidence.get("client_s", 0.0),
        bodies=evidence.get("bodies", {}),
        pressure=evidence.get("pressure", {}),
        link=link,
        pings_s=reader.pings_s(),
        algorithms={part: algorithms(text) for part, text in sockets.items()},
        buffers={part: buffers(text) for part, text in sockets.items()},
        initial_windows={part: initial_windows(text) for part, text in sockets.items()},
        reports=reports,
        fairness=reader.fairness(),
        datagrams=reader.datagrams(),
        silent=reader.silent(),
        added={type(one): one for one in added},
        excess=evidence.get("excess", False),
        killed_for_memory=evidence.get("killed_for_memory", 0),
        unsupported=reader.unsupported(exits),
        disorder=evidence.get("disorder", {}),
    )


@dataclass(frozen=True)
class _Reader:
    """Reads the files of an attempt's parts and hops."""

    planned: TrialPlan
    catalog: Catalog
    artifacts: Path

    def pings_s(self) -> dict[str, tuple[float, ...]]:
        return {
            hop.title_over(path): _pings(self._text(ping_file(hop, path)))
            for hop in self.planned.hops
            for path in hop.paths
        }

    def sockets(self) -> dict[str, str]:
        parts = dict.fromkeys(
            part for hop in self.planned.hops for part in (hop.client, hop.server)
        )
        return {part: text for part in parts if (text := self._text(sockets_file(part)))}

    def datagrams(self) -> dict[str, HostDatagrams]:
        texts = {one: self._text(datagrams_file(one)) for one in quic_hosts(self.planned.hops)}
        return {host: _datagrams(text) for host, text in texts.items() if text}

    def fairness(self) -> FairShares | None:
        if not self.planned.scenario.competitors:
            return None
        clients = {chain.client: chain.hops[0].arrivals[0] for chain in self.planned.chains}
        return fairness.read(self.artifacts, clients)

    def silent(self) -> frozenset[str]:
        return frozenset(
            name
            for name, implementation in self.planned.scenario.implementations.items()
            if not self.catalog[implementation].logs_requests(_role(name, self.planned.hops))
        )

    def unsupported(self, exits: Mapping[str, Exit]) -> frozenset[str]:
        return frozenset(
            name
            for name, implementation in self.planned.scenario.implementations.items()
            if name in exits
            and exits[name].status is not None
            and exits[name].status == self.catalog[implementation].unsupported_status
        )

    def reports(self) -> dict[str, ProgramReport]:
        reports = {
            name: self.catalog[implementation].parse(
                _role(name, self.planned.hops), self.artifacts / name
            )
            for name, implementation in self.planned.scenario.implementations.items()
        }
        for chain in self.planned.chains:
            for name in chain.responders:
                reports[name] = _of_visit(chain, reports[name], reports[chain.client])
            if chain.workload.kind == "page":  # which ends when the browser is idle
                reports[chain.client] = replace(reports[chain.client], whole_ns=None)
        return reports

    def _text(self, file: str) -> str:
        return untrusted_files.own_text(self.artifacts / file)


def _exits(evidence: Mapping[str, Any], reports: Mapping[str, ProgramReport]) -> dict[str, Exit]:
    """Return how each part ended; one that ended itself at its time limit has timed out, too."""
    exits = {name: Exit(**fields) for name, fields in evidence.get("exits", {}).items()}
    late = {name for name, report in reports.items() if report.timed_out and name in exits}
    return exits | {name: replace(exits[name], timed_out=True) for name in late}


def algorithms(text: str) -> frozenset[str]:
    """Return the congestion controls that the output of ``ss --tcp --info`` names."""
    matches = (_SOCKET_ALGORITHM.match(line) for line in text.splitlines())
    return frozenset(match["name"] for match in matches if match)


def buffers(text: str) -> frozenset[TcpBuffers]:
    """Return the buffers of the sockets that the output of ``ss --tcp --memory`` names."""
    matches = map(_SOCKET_MEMORY.search, text.splitlines())
    return frozenset(TcpBuffers(*map(int, match.groups())) for match in matches if match)


def initial_windows(text: str) -> frozenset[InitialWindow]:
    """Return the initial windows of the sockets that the output of ``ss --tcp --info`` names.

    In slow start a window grows by at most as many packets as were delivered (RFC 5681, 3.1). Linux
    sets the route's window when the connection is established, and reduces it after a loss; so a
    socket that is connecting, or has left slow start, or has sent a packet again, says nothing.
    """
    matches = _SOCKET_WINDOW.finditer(text)
    both = (map(int, match.groups(default="0")) for match in matches)
    return frozenset(InitialWindow(window - delivered, window) for window, delivered in both)


def _datagrams(text: str) -> HostDatagrams:
    """Read the output of ``nstat --json``: a line after prior visits, if any, and one at the end.

    The counters of a new network namespace begin at 0.
    """
    readings = [Counter(json.loads(line)["kernel"]) for line in text.splitlines()]
    if len(readings) > 1:
        readings[-1].subtract(readings[0])
    counted = readings[-1]
    names = {
        counter: [name for name in counted if name.endswith(counter)] for counter in UDP_COUNTERS
    }
    received, full, no_memory = (
        sum(counted[name] for name in names[counter]) for counter in UDP_COUNTERS
    )
    return HostDatagrams(received, full + no_memory)


def _of_visit(chain: Chain, log: ProgramReport, client: ProgramReport) -> ProgramReport:
    """Leave the requests of prior visits out of a server's or proxy's log."""
    if not isinstance(chain.workload, FileTransfer):  # its client lists the requests of both visits
        return divided(log, client.before)
    return replace(log, requests=measured(log.requests, chain.workload.visits_before))


def measured(requests: Sequence[LoggedRequest], visits: int) -> tuple[LoggedRequest, ...]:
    """Leave out the requests of ``visits`` prior visits.

    Their path identifies them; in a log without paths they are the first ones.
    """
    if any(request.path for request in requests):
        return tuple(request for request in requests if not _is_for(request, PRIOR.path))
    return tuple(requests[visits:])


def divided(report: ProgramReport, before: Sequence[LoggedRequest]) -> ProgramReport:
    """Divide a log into the requests of the prior visit and those of the measured one.

    ``before`` are the prior visit's requests as the browser lists them. A resource's first entries
    in the log belong to them.
    """
    has_names = any(request.authority for request in report.requests)
    due = Counter(_resource(request, has_names) for request in before)
    divided: tuple[list[LoggedRequest], list[LoggedRequest]] = ([], [])
    for request in report.requests:
        resource = _resource(request, has_names)
        is_before = due[resource] > 0 or _is_for(request, PRIOR_PATH)
        due[resource] -= is_before
        divided[is_before].append(request)
    return replace(report, requests=tuple(divided[False]), before=tuple(divided[True]))


def _resource(request: LoggedRequest, has_names: bool) -> tuple[str, str]:
    return (request.authority if has_names else "", request.path)


def _is_for(request: LoggedRequest, path: str) -> bool:
    return request.path.partition("?")[0] == path


def _role(name: str, hops: Sequence[NetworkHop]) -> RoleName:
    if all(hop.server != name for hop in hops):
        return "client"
    return "proxy" if any(hop.client == name for hop in hops) else "server"


def _pings(text: str) -> tuple[float, ...]:
    """Return the echo times in seconds, ascending; the smallest is exact to a microsecond.

    ping prints each time with three digits, in whole milliseconds from 100 ms on. Only its
    summary is exact.
    """
    times = sorted(float(match["ms"]) / 1e3 for match in _PING_TIME.finditer(text))
    summary = _PING_LEAST.search(text)
    if not times or not summary:
        return tuple(times)
    least = float(summary["ms"]) / 1e3
    return (least, *(max(one, least) for one in times[1:]))
