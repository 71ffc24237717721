"""Faults to plant into an attempt's evidence."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from httpbed.experiment.trial import Outcome
from httpbed.programs.protocol import LoggedRequest
from httpbed.trial import verdict
from httpbed.trial.evidence import AttemptEvidence
from recorded import H2_LOSS, checks

Fault = Callable[[AttemptEvidence], AttemptEvidence]


def ending(found: AttemptEvidence, name: str = H2_LOSS) -> Outcome:
    """Return the outcome of an attempt's evidence."""
    return verdict.outcome(checks(found, name), found)


def broken(found: AttemptEvidence, name: str = H2_LOSS) -> set[str]:
    """Return the names of the checks that are broken."""
    return {check.name for check in checks(found, name) if check.passed is False}


def on_link(*path: str | int, to: object) -> Fault:
    """Return the fault that the emulator's result has another value at a path."""

    def plant(found: AttemptEvidence) -> AttemptEvidence:
        link: Any = copy.deepcopy(dict(found.link))
        inner = link
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = to(inner[path[-1]]) if callable(to) else to
        return replace(found, link=link)

    return plant


def ended(part: str = "client", **changes: Any) -> Fault:
    """Return the fault that a part ended in another way."""

    def plant(found: AttemptEvidence) -> AttemptEvidence:
        exits = {**found.exits, part: replace(found.exits[part], **changes)}
        return replace(found, exits=exits)

    return plant


def logged(*requests: LoggedRequest, complaint: str = "", part: str = "server") -> Fault:
    """Return the fault that a part logged other requests."""

    def plant(found: AttemptEvidence) -> AttemptEvidence:
        told = replace(found.reports[part], requests=requests, complaint=complaint)
        return replace(found, reports={**found.reports, part: told})

    return plant


def said(part: str = "server", **changes: Any) -> Fault:
    """Return the fault that a part logged something else for all its requests."""

    def plant(found: AttemptEvidence) -> AttemptEvidence:
        requests = [replace(one, **changes) for one in found.reports[part].requests]
        return logged(*requests, part=part)(found)

    return plant


def echoed(*pings_s: float) -> Fault:
    """Return the fault that pings took other times."""
    return lambda found: replace(found, pings_s=dict.fromkeys(found.pings_s, pings_s))


def stored(body: Mapping[str, Any] | None) -> Fault:
    """Return the fault that the client stored something else."""
    return lambda found: replace(found, bodies={"client": [body, *found.bodies["client"][1:]]})


def sent_by(*algorithms: str) -> Fault:
    """Return the fault that the server's sockets have other congestion controls."""
    return lambda found: replace(found, algorithms={"server": frozenset(algorithms)})


def on_another_connection(found: AttemptEvidence) -> AttemptEvidence:
    """Plant the fault that the client opened one more connection than it may."""
    first = dict(found.connections[0])
    port = first["client"].rpartition(":")[0] + ":1024"
    more = [*found.connections, {**first, "client": port}]
    return replace(found, link={**found.link, "connections": more})


def other(**changes: Any) -> Fault:
    """Return the fault that a field of the evidence differs."""
    return lambda found: replace(found, **changes)


def told(complaint: str) -> Fault:
    """Return the fault that the client reported an error."""

    def plant(found: AttemptEvidence) -> AttemptEvidence:
        findings = replace(found.reports["client"], complaint=complaint)
        return replace(found, reports={**found.reports, "client": findings})

    return plant


def reset(found: AttemptEvidence) -> AttemptEvidence:
    """Plant the fault that the server reset the connection."""
    return on_link("connections", 0, "server_reset", to=True)(found)
