"""What an attempt left in its folder, read back into one value; pure but for the reading."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from httpbed.experiment.page import PageLoad
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.workload import Download
from httpbed.host.sandbox import untrusted_files
from httpbed.host.sandbox.spec import Exit
from httpbed.programs.catalog import Catalog
from httpbed.programs.protocol import LoggedRequest, ProgramReport, RoleName
from httpbed.trial import fairness, replay_origin
from httpbed.trial.content import PRIOR
from httpbed.trial.fairness import Sharing
from httpbed.trial.handover import deliveries
from httpbed.trial.handover import evidence as handover_seen
from httpbed.trial.handover.deliveries import Bins
from httpbed.trial.handover.evidence import HandoverSeen
from httpbed.trial.hops import Leg, ping_file, sockets_file
from httpbed.trial.replay_origin import Replayed
from httpbed.trial.run.runner import EVIDENCE, LINK_RESULT
from httpbed.web.sites.site import PRIOR_PATH

_PING_TIME = re.compile(r"time=(?P<ms>[0-9.]+) ms")
_PING_LEAST = re.compile(r"^rtt min/\S+ = (?P<ms>[0-9.]+)/", re.MULTILINE)
_SOCKET_ALGORITHM = re.compile(r"^\s+(?:\S+ )*?(?P<name>reno|cubic|bbr\d?)\b")

Body = Mapping[str, Any]
"""``bytes`` and ``sha256``."""


@dataclass(frozen=True)
class Seen:
    """Everything that was observed in one attempt; parts by their names."""

    failures: Mapping[str, str]
    """Why a server or proxy did not start; empty when all did."""
    exits: Mapping[str, Exit]
    """Of all that began, visits before included."""
    stopped: frozenset[str]
    """Clients that the end of the trial stopped at work."""
    survivors: frozenset[str]
    """Servers and proxies that ran until the client was done."""
    client_s: float
    bodies: Mapping[str, Sequence[Body | None]]
    """What each client stored, file by file; None where it stored nothing."""
    pressure: Mapping[str, Any]
    """``source`` and ``seconds`` of waiting for a CPU while the client ran."""
    link: Mapping[str, Any]
    """The emulator's result; empty when the client did not run."""
    pings_s: Mapping[str, Sequence[float]]
    """Of each hop's ways, by their titles."""
    algorithms: Mapping[str, frozenset[str]]
    """TCP congestion control of each sender's accepted sockets, as the kernel says."""
    findings: Mapping[str, ProgramReport]
    """What each part's own files say; visits before are left out of them."""
    sharing: Sharing | None = None
    """What each client got while all were active; None where there was only one."""
    qdiscs: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """The kernel's counters by the time at which they were read; empty where it carries nothing."""
    silent: frozenset[str] = frozenset()
    """Servers and proxies whose programs tell nothing of requests."""
    handover: HandoverSeen | None = None
    """When the client's network changed; None where it never does, or the client did not run."""
    deliveries: Mapping[str, Bins] = field(default_factory=dict)
    """What was delivered to the client over each of its links, where it goes between them."""
    replayed: Mapping[str, Sequence[Replayed]] = field(default_factory=dict)
    """What was answered of recorded sites, by the server."""
    excess: bool = False
    """Whether somebody was ended for filling the disk, and took of the machine what there was."""
    killed_for_memory: int = 0
    """Processes of this machine that the kernel killed while the client ran, for want of memory."""
    disorder: Mapping[str, str] = field(default_factory=dict)
    """What was wrong with the folders that parts left, by their names."""

    @property
    def client(self) -> Exit | None:
        """How the client ended."""
        return self.exits.get("client")

    def is_cut_off(self, client: str) -> bool:
        """Whether a client was stopped at work: by the end of the trial, or by its time limit."""
        ended = self.exits.get(client)
        return client in self.stopped or (ended is not None and ended.timed_out)

    @property
    def connections(self) -> list[dict[str, Any]]:
        """What the emulator saw of each connection, on each link."""
        return list(self.link.get("connections", []))


def read(scenario: Scenario, legs: Sequence[Leg], catalog: Catalog, artifacts: Path) -> Seen:
    """Read the folder that an attempt left."""
    evidence = _json(artifacts / EVIDENCE)
    link = _json(artifacts / LINK_RESULT)
    findings = _findings(scenario, legs, catalog, artifacts)
    exits = _exits(evidence, findings)
    moved = handover_seen.read(scenario.handover, legs[0], evidence, link, artifacts)
    return Seen(
        failures=evidence.get("failures", {}),
        exits=exits,
        stopped=frozenset(evidence.get("stopped", ())),
        survivors=frozenset(evidence.get("survivors", ())),
        client_s=evidence.get("client_s", 0.0),
        bodies=evidence.get("bodies", {}),
        pressure=evidence.get("pressure", {}),
        link=link,
        pings_s={
            leg.title_over(way): _pings(untrusted_files.own_text(artifacts / ping_file(leg, way)))
            for leg in legs
            for way in leg.ways
        },
        algorithms={
            leg.hop.server: algorithms(untrusted_files.own_text(artifacts / sockets_file(leg)))
            for leg in legs
        },
        findings=findings,
        sharing=_sharing(legs, artifacts) if scenario.competitors else None,
        qdiscs=_qdiscs(artifacts),
        silent=_silent(scenario, legs, catalog),
        handover=moved,
        deliveries=deliveries.read(artifacts, moved.absences) if moved else {},
        replayed={
            leg.hop.server: replay_origin.read(artifacts / replay_origin.name(leg.hop.server))
            for leg in legs
        },
        excess=evidence.get("excess", False),
        killed_for_memory=evidence.get("killed_for_memory", 0),
        disorder=evidence.get("disorder", {}),
    )


def _exits(evidence: Mapping[str, Any], findings: Mapping[str, ProgramReport]) -> dict[str, Exit]:
    """Tell how all ended; one that ended itself for its time limit has timed out as well."""
    ended = {name: Exit(**said) for name, said in evidence.get("exits", {}).items()}
    out_of_time = {name for name, found in findings.items() if found.timed_out and name in ended}
    return ended | {name: replace(ended[name], timed_out=True) for name in out_of_time}


def algorithms(text: str) -> frozenset[str]:
    """Names of the congestion controls in the output of ``ss --tcp --info``."""
    matches = (_SOCKET_ALGORITHM.match(line) for line in text.splitlines())
    return frozenset(match["name"] for match in matches if match)


def measured(requests: Sequence[LoggedRequest], visits: int) -> tuple[LoggedRequest, ...]:
    """Leave out the requests of ``visits`` that came before what is measured.

    They are known by their path, or else by coming first.
    """
    if any(request.path for request in requests):
        return tuple(one for one in requests if not _is_for(one, PRIOR.path))
    return tuple(requests[visits:])


def divided(found: ProgramReport, before: Sequence[LoggedRequest]) -> ProgramReport:
    """Divide what a log has by what the browser asked for ``before`` what is measured.

    Of one resource the first answers are of the visit before.
    """
    has_names = any(one.authority for one in found.requests)
    due = Counter(_named(one, has_names) for one in before)
    divided: tuple[list[LoggedRequest], list[LoggedRequest]] = ([], [])
    for one in found.requests:
        named = _named(one, has_names)
        is_before = due[named] > 0 or _is_for(one, PRIOR_PATH)
        due[named] -= is_before
        divided[is_before].append(one)
    return replace(found, requests=tuple(divided[False]), before=tuple(divided[True]))


def _named(request: LoggedRequest, has_names: bool) -> tuple[str, str]:
    return (request.authority if has_names else "", request.path)


def _is_for(request: LoggedRequest, path: str) -> bool:
    return request.path.partition("?")[0] == path


def _sharing(legs: Sequence[Leg], artifacts: Path) -> Sharing | None:
    asked = {leg.hop.server for leg in legs}
    clients = {leg.hop.client: leg.downstream for leg in legs if leg.hop.client not in asked}
    return fairness.read(artifacts, clients)


def _findings(
    scenario: Scenario, legs: Sequence[Leg], catalog: Catalog, artifacts: Path
) -> dict[str, ProgramReport]:
    told = {
        name: catalog[implementation].parse(_role(name, legs), artifacts / name)
        for name, implementation in scenario.implementations.items()
    }
    return {
        name: found if _role(name, legs) == "client" else _of_visit(name, scenario, told)
        for name, found in told.items()
    }


def _of_visit(name: str, scenario: Scenario, told: Mapping[str, ProgramReport]) -> ProgramReport:
    """Leave out of a log what was before the visit that is measured."""
    group, workload = _workload(scenario, name)
    if workload.kind == "page":
        return divided(told[name], told[f"{group}client"].before)
    rest = measured(told[name].requests, workload.visits_before)
    return replace(told[name], requests=rest)


def _silent(scenario: Scenario, legs: Sequence[Leg], catalog: Catalog) -> frozenset[str]:
    return frozenset(
        name
        for name, implementation in scenario.implementations.items()
        if not catalog[implementation].tells(_role(name, legs))
    )


def _role(name: str, legs: Sequence[Leg]) -> RoleName:
    if all(leg.hop.server != name for leg in legs):
        return "client"
    return "proxy" if any(leg.hop.client == name for leg in legs) else "server"


def _workload(scenario: Scenario, answers: str) -> tuple[str, Download | PageLoad]:
    """Find for whom a server or proxy answers: the prefix of its group's names, and its task."""
    number = re.match(r"competitor-(\d+)-", answers)
    workload = scenario.workloads()[int(number[1]) if number else 0]
    return number[0] if number else "", workload


def _pings(text: str) -> tuple[float, ...]:
    """Read what echoes took, the smallest to a microsecond.

    ping prints each with three digits, in whole milliseconds from 100 ms on; only its summary
    is exact.
    """
    found = sorted(float(match["ms"]) / 1e3 for match in _PING_TIME.finditer(text))
    summary = _PING_LEAST.search(text)
    if not found or not summary:
        return tuple(found)
    least = float(summary["ms"]) / 1e3
    return (least, *(max(one, least) for one in found[1:]))


def _qdiscs(artifacts: Path) -> dict[str, list[dict[str, Any]]]:
    files = artifacts.glob("qdiscs-*.json")
    return {
        file.stem.removeprefix("qdiscs-"): json.loads(untrusted_files.own_text(file))
        for file in files
    }


def _json(path: Path) -> dict[str, Any]:
    text = untrusted_files.own_text(path)
    return dict(json.loads(text)) if text else {}
