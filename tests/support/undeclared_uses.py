"""Uses of an implementation that its recipe does not declare, which must be refused.

Otherwise a workload that a program cannot do would be measured as another workload.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from httpbed.experiment.roles import HttpVersion
from httpbed.experiment.workload import Capability
from httpbed.programs import role_checks
from httpbed.programs.catalog import Catalog
from httpbed.programs.part import RoleName
from httpbed.programs.recipe import Recipe

_SERVERS_SHARE = ("resumed", "early data")
"""Capabilities that a workload needs of servers and proxies, too."""
_WORKLOADS: Mapping[Capability, Mapping[str, Any]] = {
    "parallel": {"files": 2},
    "connections": {"files": 2, "connections": 2},
    "rounds": {"rounds": 2},
    "parallel rounds": {"files": 2, "rounds": 2},
    "resumed": {"resumption": "resumed"},
    "early data": {"resumption": "early data"},
}
_NO_KNOB = "knob_of_nobody"


@dataclass(frozen=True)
class Refusal:
    """An undeclared use of an implementation."""

    role: RoleName
    asked: str
    reason: str
    """Why it was refused; empty if it was accepted, which is a mistake."""

    @property
    def passed(self) -> bool:
        """Whether it was refused."""
        return bool(self.reason)


def refusals(catalog: Catalog, recipe: Recipe) -> list[Refusal]:
    """Try every undeclared use in every role."""
    return [
        Refusal(
            role, asked, "; ".join(_answer(catalog, document) - _otherwise(catalog, recipe, role))
        )
        for role in recipe.roles
        for asked, document in _undeclared(recipe, role)
    ]


def _undeclared(recipe: Recipe, role: RoleName) -> Iterator[tuple[str, dict[str, Any]]]:
    spoken = recipe.http_versions[0]
    for capability, workload in _WORKLOADS.items():
        concerned = role == "client" or capability in _SERVERS_SHARE
        if concerned and capability not in recipe.workloads:
            yield capability, _document(recipe, role, spoken, workload=workload)
    for version in get_args(HttpVersion):
        if version not in recipe.http_versions:
            yield f"HTTP/{version}", _document(recipe, role, version)
    knobs = {_NO_KNOB: "on"}
    yield "a knob that it has not", _document(recipe, role, spoken, knobs=knobs)


def _document(
    recipe: Recipe,
    role: RoleName,
    version: str,
    *,
    workload: Mapping[str, Any] | None = None,
    knobs: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a scenario that names only this implementation."""
    asked = {"implementation": recipe.name, "knobs": knobs or {}}
    upstream = next(iter(recipe.upstream_http_versions), version)
    roles = {
        "client": {"client": {**asked, "http_version": version}},
        "server": {"client": {"http_version": version}, "server": asked},
        "proxy": {
            "client": {"http_version": version},
            "proxies": [{**asked, "http_version": upstream}],
        },
    }[role]
    download = {"kind": "download", "size": "1 kB", **(workload or {})}
    return {"roles": roles, "workload": download}


def _otherwise(catalog: Catalog, recipe: Recipe, role: RoleName) -> set[str]:
    """Return the mistakes of the declared use, because the scenario names nothing else."""
    return _answer(catalog, _document(recipe, role, recipe.http_versions[0]))


def _answer(catalog: Catalog, document: Mapping[str, Any]) -> set[str]:
    return {found.reason for found in role_checks.role_mistakes(catalog, document)}
