"""Faults to plant in the evidence of an attempt."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from httpbed.experiment.trial import Outcome
from httpbed.programs.part import LoggedRequest
from httpbed.trial import verdict
from httpbed.trial.evidence import AttemptEvidence
from recorded import H2_LOSS, checks

Fault = Callable[[AttemptEvidence], AttemptEvidence]


def ending(evidence: AttemptEvidence, name: str = H2_LOSS) -> Outcome:
    """Return the outcome of an attempt's evidence."""
    return verdict.outcome(checks(evidence, name), evidence)


def broken(evidence: AttemptEvidence, name: str = H2_LOSS) -> set[str]:
    """Return the names of the checks that are broken."""
    return {check.name for check in checks(evidence, name) if check.passed is False}


def on_link(*path: str | int, to: object) -> Fault:
    """Return the fault that the emulator's result has another value at a path."""

    def plant(evidence: AttemptEvidence) -> AttemptEvidence:
        link: Any = copy.deepcopy(dict(evidence.link))
        inner = link
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = to(inner[path[-1]]) if callable(to) else to
        return replace(evidence, link=link)

    return plant


def ended(part: str = "client", **changes: Any) -> Fault:
    """Return the fault that a part ended in another way."""

    def plant(evidence: AttemptEvidence) -> AttemptEvidence:
        exits = {**evidence.exits, part: replace(evidence.exits[part], **changes)}
        return replace(evidence, exits=exits)

    return plant


def logged(*requests: LoggedRequest, complaint: str = "", part: str = "server") -> Fault:
    """Return the fault that a part logged other requests."""

    def plant(evidence: AttemptEvidence) -> AttemptEvidence:
        report = replace(evidence.reports[part], requests=requests, complaint=complaint)
        return replace(evidence, reports={**evidence.reports, part: report})

    return plant


def relogged(part: str = "server", **changes: Any) -> Fault:
    """Return the fault that a part logged something else for all its requests."""

    def plant(evidence: AttemptEvidence) -> AttemptEvidence:
        requests = [replace(request, **changes) for request in evidence.reports[part].requests]
        return logged(*requests, part=part)(evidence)

    return plant


def echoed(*pings_s: float) -> Fault:
    """Return the fault that pings took other times."""
    return lambda evidence: replace(evidence, pings_s=dict.fromkeys(evidence.pings_s, pings_s))


def stored(body: Mapping[str, Any] | None) -> Fault:
    """Return the fault that the client stored something else."""
    return lambda evidence: replace(
        evidence, bodies={"client": [body, *evidence.bodies["client"][1:]]}
    )


def sent_by(*algorithms: str) -> Fault:
    """Return the fault that the server's sockets have other congestion controls."""
    return lambda evidence: replace(evidence, algorithms={"server": frozenset(algorithms)})


def on_another_connection(evidence: AttemptEvidence) -> AttemptEvidence:
    """Plant the fault that the client opened one more connection than it may."""
    first = dict(evidence.connections[0])
    port = first["client"].rpartition(":")[0] + ":1024"
    more = [*evidence.connections, {**first, "client": port}]
    return replace(evidence, link={**evidence.link, "connections": more})


def other(**changes: Any) -> Fault:
    """Return the fault that a field of the evidence differs."""
    return lambda evidence: replace(evidence, **changes)


def complained(complaint: str) -> Fault:
    """Return the fault that the client reported an error."""

    def plant(evidence: AttemptEvidence) -> AttemptEvidence:
        findings = replace(evidence.reports["client"], complaint=complaint)
        return replace(evidence, reports={**evidence.reports, "client": findings})

    return plant


def reset(evidence: AttemptEvidence) -> AttemptEvidence:
    """Plant the fault that the server reset the connection."""
    return on_link("connections", 0, "server_reset", to=True)(evidence)
