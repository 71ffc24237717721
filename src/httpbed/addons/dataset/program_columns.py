"""Columns of the programs: client, proxies and server, with versions and congestion controls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from httpbed.addons.dataset.column import Cells, DatasetColumn, described, place
from httpbed.experiment.impairments.descriptor import FeatureKind
from httpbed.experiment.roles import (
    DEFAULT_CONTROL,
    FIXED,
    ClientRole,
    HttpVersion,
    ProxyRole,
    Role,
    Roles,
    ServerRole,
    transport_below,
)
from httpbed.experiment.scenario import Scenario, StatedHandover

EXPERIMENT, MANIFEST = "experiment file", "manifest"
Manifest = Mapping[str, Any]
LAST = 100
"""Place of a column behind those of all proxies."""


def cells(scenario: Scenario, manifest: Manifest) -> Cells:
    """Return the programs of a scenario; versions and defaults come from the manifest."""
    roles = scenario.roles
    return {
        **_client(roles, manifest),
        **_proxies(roles, manifest),
        **_server(roles, manifest),
        **_others(scenario),
    }


def senders(roles: Roles, manifest: Manifest) -> dict[str, str | None]:
    """Return the congestion control of each program that sends responses, by its part's name."""
    versions: list[HttpVersion] = [
        roles.client.http_version,
        *(proxy.http_version for proxy in roles.proxies),
    ]
    sending = [*roles.proxies, roles.server]
    names = [name for name, _, _ in roles.parts()][1 : 1 + len(sending)]
    return {
        name: congestion_control(role, version, manifest)
        for name, role, version in zip(names, sending, versions, strict=True)
    }


def congestion_control(role: Role, version: HttpVersion, manifest: Manifest) -> str | None:
    """Return a sender's congestion control; None if it is the program's own and has no name.

    The manifest lists the senders of a campaign with the names of their algorithms.
    """
    if transport_below(version) == "tcp":
        return role.tcp_control()
    stated = None if role.congestion_control == FIXED else role.congestion_control
    listed = [one["sender"] for one in manifest.get("senders", ())]
    names = {
        sender["congestion_control"]
        for sender in listed
        if (sender["implementation"], sender.get("http_version")) == (role.implementation, version)
    }
    if stated in names or not names:
        return stated
    if len(names) == 1:
        return str(*names)
    return DEFAULT_CONTROL if DEFAULT_CONTROL in names else None


def _client(roles: Roles, manifest: Manifest) -> Cells:
    version = described(ClientRole, "http_version")
    return {
        **_program("client", roles.client, described(Roles, "client"), manifest),
        _column("http_version", "string", version): roles.client.http_version,
        _column("retry", "string", described(ClientRole, "retry")): roles.client.retry,
    }


def _proxies(roles: Roles, manifest: Manifest) -> Cells:
    count = f"Number of these: {described(Roles, 'proxies')}"
    found: Cells = {_column("proxies", "integer", count, "1"): len(roles.proxies)}
    controls = [*senders(roles, manifest).values()]
    for number, proxy in enumerate(roles.proxies, start=1):
        name = f"proxy_{number}"
        about = f"Reverse proxy {number}, counted from the client."
        found |= _program(name, proxy, about, manifest, number)
        version = f"{about} {described(ProxyRole, 'http_version')}"
        found[_column(f"{name}_http_version", "string", version, number=number)] = (
            proxy.http_version
        )
        found[_control(name, about, number)] = controls[number - 1]
    return found


def _server(roles: Roles, manifest: Manifest) -> Cells:
    about = described(Roles, "server")
    also = f"One, plus the number of these: {described(ServerRole, 'also_on')}"
    return {
        **_program("server", roles.server, about, manifest, LAST),
        _control("server", about, LAST): senders(roles, manifest)["server"],
        _column("servers", "integer", also, "1", LAST): 1 + len(roles.server.also_on),
    }


def _program(name: str, role: Role, about: str, manifest: Manifest, number: int = 0) -> Cells:
    versions = {one["name"]: one["version"] for one in manifest.get("programs", ())}
    implementation = f"{about} {described(Role, 'implementation')}"
    reported = f"{about} Version that the program reported."
    knobs = f"{about} {described(Role, 'knobs')} A JSON object; empty without any."
    return {
        _column(name, "string", implementation, number=number): role.implementation,
        DatasetColumn(
            f"{name}_version", "string", reported, MANIFEST, place=place("programs", number)
        ): versions.get(role.implementation),
        _column(f"{name}_knobs", "string", knobs, number=number): (
            json.dumps(role.knobs, sort_keys=True) if role.knobs else None
        ),
    }


def _control(name: str, about: str, number: int) -> DatasetColumn:
    description = (
        f"{about} {described(Role, 'congestion_control')} This column names the algorithm in use."
    )
    source = f"{EXPERIMENT}; {MANIFEST} for a program's own"
    at = place("programs", number)
    return DatasetColumn(f"{name}_congestion_control", "string", description, source, place=at)


def _others(scenario: Scenario) -> Cells:
    competitors = f"Number of these: {described(Scenario, 'competitors')}"
    kind = scenario.handover.kind if scenario.handover else None
    handover = f"{described(StatedHandover, 'kind')} Empty without a hand-over."
    return {
        _column("competitors", "integer", competitors, "1", LAST): len(scenario.competitors),
        _column("handover", "string", handover, number=LAST): kind,
    }


def _column(
    name: str, kind: FeatureKind, description: str, unit: str = "", number: int = 0
) -> DatasetColumn:
    return DatasetColumn(name, kind, description, EXPERIMENT, unit, place("programs", number))
