"""Columns of a trial: identity, machine, outcome, metrics, checks, programs and workload."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel

from httpbed.addons.pages.page import (
    Device,
    KnownPage,
    NamedPage,
    PageLoad,
    RecordedPage,
    SyntheticPage,
)
from httpbed.base import units
from httpbed.bed.machine.facts import MachineFacts
from httpbed.experiment import schema
from httpbed.experiment.check import CHECK_BY_ID
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.impairments.descriptor import FeatureKind
from httpbed.experiment.metric import METRICS
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
from httpbed.experiment.trial import Attempt, Outcome, Trial
from httpbed.experiment.workload import Download
from httpbed.store import machine_log, manifest_form
from httpbed.store.layout import MACHINE_LINES

MANIFEST, TRIAL = "manifest", "trial record"
_MACHINE: Mapping[str, tuple[FeatureKind, str]] = {
    "kernel": ("string", ""),
    "architecture": ("string", ""),
    "distribution": ("string", ""),
    "cpu": ("string", ""),
    "cores": ("integer", "1"),
    "memory_bytes": ("integer", "byte"),
    "governor": ("string", ""),
    "hypervisor": ("boolean", ""),
    "container": ("string", ""),
}
"""Facts about the machine that may change a result, with kind and unit."""


def identity(campaign: str, experiment: Experiment, row: Mapping[str, Any], *, seed: int) -> Cells:
    """Return which trial it is, and its levels."""
    column_place = place("trial")
    meaning = (
        "Folder of the campaign, without the folders above unless two campaigns share the name."
    )
    digest = "Hash of all that the trial executes: equal trials have equal values."
    cells: Cells = {
        DatasetColumn("campaign", "string", meaning, "folder", place=column_place): campaign,
        DatasetColumn(
            "experiment",
            "string",
            described(Experiment, "name"),
            "experiment file",
            place=column_place,
        ): experiment.name,
        DatasetColumn("trial", "string", digest, TRIAL, place=column_place): row["trial"],
        DatasetColumn("block", "integer", described(Trial, "block"), TRIAL, "1", column_place): row[
            "block"
        ],
        DatasetColumn(
            "position", "integer", described(Trial, "position"), TRIAL, "1", column_place
        ): (row["position"]),
        DatasetColumn(
            "seed", "integer", described(Experiment, "seed"), TRIAL, "1", column_place
        ): seed,
        DatasetColumn(
            "started", "string", described(Attempt, "started"), TRIAL, place=column_place
        ): row["started"],
    }
    levels = described(Trial, "levels")
    for name in experiment.factors:
        words = f"Level of the factor {name}. {levels}"
        source = f"experiment file of {experiment.name}"
        column = DatasetColumn(f"factor_{name}", "string", words, source, place=place("factors"))
        cells[column] = row[name]
    return cells


def machine(manifest: Mapping[str, Any], block: int, ran_by: str | None) -> Cells:
    """Return the machine and the version of httpbed; ``ran_by`` names a cluster's machine."""
    source, lines = manifest_form.source_of_block(manifest, block), manifest.get(MACHINE_LINES, ())
    host = machine_log.hosts(lines).get(ran_by, {}) if ran_by else source.get("host", {})
    column_place = place("machine")
    meaning = described(Attempt, "machine")
    named: Cells = {DatasetColumn("machine", "string", meaning, TRIAL, place=column_place): ran_by}
    cells: Cells = named if ran_by else {}
    cells |= {
        DatasetColumn(
            f"machine_{name}", kind, described(MachineFacts, name), MANIFEST, unit, column_place
        ): host.get(name)
        for name, (kind, unit) in _MACHINE.items()
    }
    others = {
        "jobs": (
            "Trials side by side; `1, then 4` if a resumed run had more.",
            manifest.get("jobs") or None,
        ),
        "link_backend": (
            "What carried the packets: the emulator or a queueing discipline of the kernel.",
            manifest.get("link", {}).get("backend"),
        ),
        "clock": (
            "Whose clock the trials ran by: `real`, the machine's, or `virtual`, a guest's.",
            manifest.get("clock", "real"),
        ),
        "httpbed_version": ("Version of httpbed that ran the trials.", source.get("httpbed")),
    }
    for name, (words, value) in others.items():
        cells[DatasetColumn(name, "string", words, MANIFEST, place=column_place)] = value
    return cells


def outcome(row: Mapping[str, Any]) -> Cells:
    """Return how the trial ended."""
    source = place("outcome")
    time = "Duration of the attempt, with set-up and tear-down."
    limit = described(Trial, "time_limit_s")
    return {
        DatasetColumn("outcome", "string", described(Outcome, "kind"), TRIAL, place=source): row[
            "outcome"
        ],
        DatasetColumn("reason", "string", described(Outcome, "reason"), TRIAL, place=source): (
            row["reason"] or None
        ),
        DatasetColumn("attempt", "integer", described(Attempt, "number"), TRIAL, "1", source): row[
            "attempt"
        ],
        DatasetColumn("time_limit_s", "number", limit, TRIAL, "s", source): row["time_limit_s"],
        DatasetColumn("wall_s", "number", time, TRIAL, "s", source): row["wall_s"],
    }


def metrics(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Return the trial's value of each metric; values of single files and resources are left out.

    A value that is not finite is missing.
    """
    cells: Cells = {}
    for row in rows:
        if row["item"] == "" and row["metric"] in METRICS:
            column = metric_column(row["metric"], row["source"])
            cells[column] = row["value"] if math.isfinite(row["value"]) else None
    return cells


def metric_column(metric: str, source: str) -> DatasetColumn:
    """Return the column of a metric."""
    one = METRICS[metric]
    words = plain(f"{one.title}: {one.meaning}")
    number = list(METRICS).index(metric)
    return DatasetColumn(metric, "number", words, source, one.unit, place("metrics", number))


def checks(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Return the result of each check: whether it passed everywhere that it was observed."""
    results: dict[str, list[bool]] = {}
    for row in rows:
        known = CHECK_BY_ID.get(row["check"])
        if known and not known.is_note:
            results.setdefault(row["check"], [])
            results[row["check"]] += [] if row["passed"] is None else [row["passed"]]
    return {check_column(name): _all(observed) for name, observed in results.items()}


def _all(observed: list[bool]) -> Cell:
    return all(observed) if observed else None


def check_column(name: str) -> DatasetColumn:
    """Return the column of a check."""
    check = CHECK_BY_ID[name]
    slug = "_".join(re.findall(r"[a-z0-9]+", name.replace("'", "").lower()))
    words = plain(f"{check.meaning} True if it held, false if not, empty if not observable.")
    number = list(CHECK_BY_ID).index(name)
    return DatasetColumn(
        f"check_{slug}", "boolean", words, f"check of the {check.of}", place=place("checks", number)
    )


EXPERIMENT, MANIFEST = "experiment file", "manifest"
Manifest = Mapping[str, Any]
LAST = 100
"""Place of a column behind those of all proxies."""


def program_cells(scenario: Scenario, manifest: Manifest) -> Cells:
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
        _of_program("http_version", "string", version): roles.client.http_version,
        _of_program("retry", "string", described(ClientRole, "retry")): roles.client.retry,
    }


def _proxies(roles: Roles, manifest: Manifest) -> Cells:
    count = f"Number of these: {described(Roles, 'proxies')}"
    cells: Cells = {_of_program("proxies", "integer", count, "1"): len(roles.proxies)}
    controls = [*senders(roles, manifest).values()]
    for number, proxy in enumerate(roles.proxies, start=1):
        name = f"proxy_{number}"
        about = f"Reverse proxy {number}, counted from the client."
        cells |= _program(name, proxy, about, manifest, number)
        version = f"{about} {described(ProxyRole, 'http_version')}"
        cells[_of_program(f"{name}_http_version", "string", version, number=number)] = (
            proxy.http_version
        )
        cells[_control(name, about, number)] = controls[number - 1]
    return cells


def _server(roles: Roles, manifest: Manifest) -> Cells:
    about = described(Roles, "server")
    also = f"One, plus the number of these: {described(ServerRole, 'also_on')}"
    return {
        **_program("server", roles.server, about, manifest, LAST),
        _control("server", about, LAST): senders(roles, manifest)["server"],
        _of_program("servers", "integer", also, "1", LAST): 1 + len(roles.server.also_on),
    }


def _program(name: str, role: Role, about: str, manifest: Manifest, number: int = 0) -> Cells:
    versions = {one["name"]: one["version"] for one in manifest.get("programs", ())}
    implementation = f"{about} {described(Role, 'implementation')}"
    reported = f"{about} Version that the program reported."
    knobs = f"{about} {described(Role, 'knobs')} A JSON object; empty without any."
    return {
        _of_program(name, "string", implementation, number=number): role.implementation,
        DatasetColumn(
            f"{name}_version", "string", reported, MANIFEST, place=place("programs", number)
        ): versions.get(role.implementation),
        _of_program(f"{name}_knobs", "string", knobs, number=number): (
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
        _of_program("competitors", "integer", competitors, "1", LAST): len(scenario.competitors),
        _of_program("handover", "string", handover, number=LAST): kind,
    }


def _of_program(
    name: str, kind: FeatureKind, description: str, unit: str = "", number: int = 0
) -> DatasetColumn:
    return DatasetColumn(name, kind, description, EXPERIMENT, unit, place("programs", number))


SOURCE = "experiment file"


def workload_cells(scenario: Scenario) -> Cells:
    """Return the workload of a scenario."""
    workload = scenario.workload
    kind = f"{described(Download, 'kind')} {described(PageLoad, 'kind')}"
    resumption = described(Download, "resumption")
    total = "Total length of all bodies of the workload."
    cells: Cells = {
        _of_workload("kind", "string", kind): workload.kind,
        _of_workload("body_bytes", "integer", total, "byte"): workload.body_bytes() or None,
        _of_workload("resumption", "string", resumption): workload.resumes,
    }
    if isinstance(workload, Download):
        cells |= _download(workload)
    elif isinstance(workload, PageLoad):
        cells |= _page(workload)
    return cells


def _download(download: Download) -> Cells:
    return {
        _of_workload("size_bytes", "integer", described(Download, "size"), "byte"): download.size,
        **{
            _of_workload(name, "integer", described(Download, name), "1"): getattr(download, name)
            for name in ("files", "connections", "rounds")
        },
    }


def _page(load: PageLoad) -> Cells:
    weight, requests = described(KnownPage, "weight"), described(KnownPage, "requests")
    return {
        _of_workload("page", "string", described(PageLoad, "page")): page_name(load.page),
        _of_workload("page_bytes", "integer", weight, "byte"): load.page.load_bytes() or None,
        _of_workload("page_requests", "integer", requests, "1"): load.requests(),
        _of_workload("visit", "string", described(PageLoad, "visit")): load.visit,
        _of_workload("viewport", "string", described(PageLoad, "viewport")): load.screen,
        _of_workload("pixel_ratio", "number", described(Device, "pixel_ratio"), "1"): (
            load.device.pixel_ratio if load.device else 1.0
        ),
        _of_workload("cpu_slowdown", "number", described(PageLoad, "cpu_slowdown"), "1"): (
            load.cpu_slowdown
        ),
    }


def page_name(page: KnownPage) -> str:
    """Name a page in a few words, without the folders of the machine."""
    match page:
        case NamedPage():
            return page.name
        case SyntheticPage():
            return f"{page.objects} images of {units.format_size(page.size)}"
        case RecordedPage():
            return PurePath(page.har).name
    return ""


def _of_workload(name: str, kind: FeatureKind, description: str, unit: str = "") -> DatasetColumn:
    """Return a column with a prefix, because some metrics have the same names."""
    return DatasetColumn(f"workload_{name}", kind, description, SOURCE, unit, place("workload"))


Cell = float | str | bool | None
"""A value in a dataset; None is missing."""
ARROW_TYPES: Mapping[FeatureKind, pa.DataType] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
}
SECTIONS = (
    "trial",
    "factors",
    "workload",
    "programs",
    "path",
    "links",
    "machine",
    "outcome",
    "metrics",
    "checks",
)
"""Groups of columns, in the order of a dataset."""


class ColumnPlace(NamedTuple):
    """Where a column stands in a dataset; columns of one place keep their order."""

    section: int
    number: int = 0
    """The number of a link or proxy, counted from the client."""


@dataclass(frozen=True)
class DatasetColumn:
    """A column of a dataset."""

    name: str
    kind: FeatureKind
    description: str
    source: str
    """What states or observes its values."""
    unit: str = ""
    """Empty for texts and truth values, ``1`` for shares, counts and indexes."""
    place: ColumnPlace = field(default=ColumnPlace(0), compare=False)


Cells = dict[DatasetColumn, Cell]
"""Values of one trial."""


def place(section: str, number: int = 0) -> ColumnPlace:
    """Return the place of a column in one of :data:`SECTIONS`."""
    return ColumnPlace(SECTIONS.index(section), number)


def described(model: type[BaseModel], name: str) -> str:
    """Return the description of a model's field, in one line.

    Raises:
        ValueError: The field has no docstring.
    """
    text = schema.field_docstrings(model).get(name)
    if not text:
        raise ValueError(f"{model.__name__}.{name} has no description")
    return plain(text)


def plain(text: str) -> str:
    """Return a docstring in one line, with code in single backticks."""
    return " ".join(text.replace("``", "`").split())
