"""Columns of a trial: identity, machine, outcome, metrics, checks, programs and workload.

A group of columns has a place in the dataset and a source; :meth:`Columns.add` describes a column
where its value is found.
"""

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
from httpbed.experiment.check import all_checks
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
from httpbed.experiment.workload import Download, FileTransfer, Upload
from httpbed.store import machine_log, manifest_form
from httpbed.store.layout import MACHINE_LINES

FILE, MANIFEST, TRIAL = "experiment file", "manifest", "trial record"
"""Sources of columns."""
LAST = 100
"""Place of a column behind those of all proxies."""
_MACHINE: Mapping[str, FeatureKind] = {
    "kernel": "string",
    "architecture": "string",
    "distribution": "string",
    "cpu": "string",
    "cores": "integer",
    "memory_bytes": "integer",
    "governor": "string",
    "hypervisor": "boolean",
    "container": "string",
}
"""Facts about the machine that may change a result."""
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


class Columns:
    """Cells of one place, from one source."""

    def __init__(self, section: str, source: str, *, prefix: str = "", number: int = 0) -> None:
        """Add columns to one of :data:`SECTIONS`; ``number`` is that of a link or a proxy."""
        self.cells: Cells = {}
        self._place = ColumnPlace(SECTIONS.index(section), number)
        self._source, self._prefix = source, prefix

    def add(  # noqa: PLR0913 - a column has these parts
        self,
        name: str,
        description: str,
        value: Cell,
        kind: FeatureKind = "string",
        *,
        unit: str = "",
        source: str = "",
    ) -> None:
        """Add a column with its value; an integer without a unit is a count or an index."""
        column = DatasetColumn(
            self._prefix + name,
            kind,
            description,
            source or self._source,
            unit or ("1" if kind == "integer" else ""),
            self._place,
        )
        self.cells[column] = value


def identity(campaign: str, experiment: Experiment, row: Mapping[str, Any], *, seed: int) -> Cells:
    """Return which trial it is, and its levels."""
    trial = Columns("trial", TRIAL)
    meaning = (
        "Folder of the campaign, without the folders above unless two campaigns share the name."
    )
    trial.add("campaign", meaning, campaign, source="folder")
    trial.add("experiment", described(Experiment, "name"), experiment.name, source=FILE)
    digest = "Hash of all that the trial executes: equal trials have equal values."
    trial.add("trial", digest, row["trial"])
    trial.add("block", described(Trial, "block"), row["block"], "integer")
    trial.add("position", described(Trial, "position"), row["position"], "integer")
    trial.add("seed", described(Experiment, "seed"), seed, "integer")
    trial.add("started", described(Attempt, "started"), row["started"])
    factors = Columns("factors", f"{FILE} of {experiment.name}", prefix="factor_")
    for name in experiment.factors:
        words = f"Level of the factor {name}. {described(Trial, 'levels')}"
        factors.add(name, words, row[name])
    return trial.cells | factors.cells


def machine(manifest: Mapping[str, Any], block: int, ran_by: str | None) -> Cells:
    """Return the machine and the version of httpbed; ``ran_by`` names a cluster's machine."""
    source, lines = manifest_form.source_of_block(manifest, block), manifest.get(MACHINE_LINES, ())
    host = machine_log.hosts(lines).get(ran_by, {}) if ran_by else source.get("host", {})
    columns = Columns("machine", MANIFEST)
    if ran_by:
        columns.add("machine", described(Attempt, "machine"), ran_by, source=TRIAL)
    for name, kind in _MACHINE.items():
        unit = "byte" if name == "memory_bytes" else ""
        words = described(MachineFacts, name)
        columns.add(f"machine_{name}", words, host.get(name), kind, unit=unit)
    jobs = "Trials side by side; `1, then 4` if a resumed run had more."
    columns.add("jobs", jobs, manifest.get("jobs") or None)
    carrier = "How the emulator got packets from the kernel: by packet sockets or TUN devices."
    columns.add("link_backend", carrier, manifest.get("link", {}).get("backend"))
    clock = "Whose clock the trials ran by: `real`, the machine's, or `virtual`, a guest's."
    columns.add("clock", clock, manifest.get("clock", "real"))
    version = "Version of httpbed that ran the trials."
    columns.add("httpbed_version", version, source.get("httpbed"))
    return columns.cells


def outcome(row: Mapping[str, Any]) -> Cells:
    """Return how the trial ended."""
    columns = Columns("outcome", TRIAL)
    columns.add("outcome", described(Outcome, "kind"), row["outcome"])
    columns.add("reason", described(Outcome, "reason"), row["reason"] or None)
    columns.add("attempt", described(Attempt, "number"), row["attempt"], "integer")
    limit = described(Trial, "time_limit_s")
    columns.add("time_limit_s", limit, row["time_limit_s"], "number", unit="s")
    time = "Duration of the attempt, with set-up and tear-down."
    columns.add("wall_s", time, row["wall_s"], "number", unit="s")
    return columns.cells


def metrics(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Return the trial's value of each metric; values of single files and resources are left out.

    A value that is not finite is missing.
    """
    cells: Cells = {}
    for row in rows:
        if row["item"] == "" and (metric := METRICS.get(row["metric"])):
            column = Columns("metrics", row["source"], number=list(METRICS).index(metric.name))
            value = row["value"] if math.isfinite(row["value"]) else None
            words = plain(f"{metric.title}: {metric.meaning}")
            column.add(metric.name, words, value, "number", unit=metric.unit)
            cells |= column.cells
    return cells


def checks(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Return the result of each check: whether it passed everywhere that it was observed."""
    results: dict[str, list[bool]] = {}
    for row in rows:
        known = all_checks().get(row["check"])
        if known and not known.is_note:
            passed = results.setdefault(row["check"], [])
            passed += [] if row["passed"] is None else [row["passed"]]
    cells: Cells = {}
    for name, passed in results.items():
        check, number = all_checks()[name], list(all_checks()).index(name)
        slug = "_".join(re.findall(r"[a-z0-9]+", name.replace("'", "").lower()))
        words = plain(f"{check.meaning} True if it held, false if not, empty if not observable.")
        column = Columns("checks", f"check of the {check.of}", prefix="check_", number=number)
        column.add(slug, words, all(passed) if passed else None, "boolean")
        cells |= column.cells
    return cells


Manifest = Mapping[str, Any]


def program_cells(scenario: Scenario, manifest: Manifest) -> Cells:
    """Return the programs of a scenario; versions and defaults come from the manifest."""
    roles, controls = scenario.roles, senders(scenario, manifest)
    client = Columns("programs", FILE)
    _add_program(client, "client", roles.client, described(Roles, "client"), manifest)
    version = described(ClientRole, "http_version")
    client.add("http_version", version, roles.client.http_version)
    client.add("retry", described(ClientRole, "retry"), roles.client.retry)
    about = f"{described(Roles, 'client')} Of uploads only."
    _add_control(client, "client", about, controls.get("client"))
    count = f"Number of these: {described(Roles, 'proxies')}"
    client.add("proxies", count, len(roles.proxies), "integer")
    cells = client.cells
    for number, (proxy, control) in enumerate(
        zip(roles.proxies, controls.values(), strict=False), 1
    ):
        columns = Columns("programs", FILE, number=number)
        about = f"Reverse proxy {number}, counted from the client."
        _add_program(columns, f"proxy_{number}", proxy, about, manifest)
        version = f"{about} {described(ProxyRole, 'http_version')}"
        columns.add(f"proxy_{number}_http_version", version, proxy.http_version)
        _add_control(columns, f"proxy_{number}", about, control)
        cells |= columns.cells
    last = Columns("programs", FILE, number=LAST)
    about = described(Roles, "server")
    _add_program(last, "server", roles.server, about, manifest)
    _add_control(last, "server", about, controls.get("server"))
    also = f"One, plus the number of these: {described(ServerRole, 'also_on')}"
    last.add("servers", also, 1 + len(roles.server.also_on), "integer")
    competitors = f"Number of these: {described(Scenario, 'competitors')}"
    last.add("competitors", competitors, len(scenario.competitors), "integer")
    handover = f"{described(StatedHandover, 'kind')} Empty without a hand-over."
    last.add("handover", handover, scenario.handover.kind if scenario.handover else None)
    return cells | last.cells


def _add_program(columns: Columns, name: str, role: Role, about: str, manifest: Manifest) -> None:
    versions = {one["name"]: one["version"] for one in manifest.get("programs", ())}
    columns.add(name, f"{about} {described(Role, 'implementation')}", role.implementation)
    reported = f"{about} Version that the program reported."
    version = versions.get(role.implementation)
    columns.add(f"{name}_version", reported, version, source=MANIFEST)
    knobs = f"{about} {described(Role, 'knobs')} A JSON object; empty without any."
    text = json.dumps(role.knobs, sort_keys=True) if role.knobs else None
    columns.add(f"{name}_knobs", knobs, text)


def _add_control(columns: Columns, name: str, about: str, control: str | None) -> None:
    described_control = described(Role, "congestion_control")
    words = f"{about} {described_control} This column names the algorithm in use."
    source = f"{FILE}; {MANIFEST} for a program's own"
    columns.add(f"{name}_congestion_control", words, control, source=source)


def senders(scenario: Scenario, manifest: Manifest) -> dict[str, str | None]:
    """Return the congestion control of each program that sends bodies, by its part's name."""
    roles = scenario.roles
    if scenario.workload.sender == "client":
        version = roles.client.http_version
        return {"client": congestion_control(roles.client, version, manifest)}
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


def workload_cells(scenario: Scenario) -> Cells:
    """Return the workload of a scenario; some metrics have the same names without the prefix."""
    workload = scenario.workload
    columns = Columns("workload", FILE, prefix="workload_")
    kind = " ".join(described(one, "kind") for one in (Download, Upload, PageLoad))
    columns.add("kind", kind, workload.kind)
    total = "Total length of all bodies of the workload."
    columns.add("body_bytes", total, workload.body_bytes() or None, "integer", unit="byte")
    columns.add("resumption", described(Download, "resumption"), workload.resumes)
    if isinstance(workload, FileTransfer):
        size = described(FileTransfer, "size")
        columns.add("size_bytes", size, workload.size, "integer", unit="byte")
        for name in ("files", "connections"):
            columns.add(name, described(FileTransfer, name), getattr(workload, name), "integer")
        rounds = described(Download, "rounds")
        columns.add("rounds", rounds, workload.transfers_of_each, "integer")
        if isinstance(workload, Upload):
            columns.add("method", described(Upload, "method"), workload.method)
    elif isinstance(workload, PageLoad):
        _add_page(columns, workload)
    return columns.cells


def _add_page(columns: Columns, load: PageLoad) -> None:
    columns.add("page", described(PageLoad, "page"), page_name(load.page))
    weight, ratio = load.page.load_bytes() or None, load.device.pixel_ratio if load.device else 1.0
    columns.add("page_bytes", described(KnownPage, "weight"), weight, "integer", unit="byte")
    requests = described(KnownPage, "requests")
    columns.add("page_requests", requests, load.requests(), "integer")
    columns.add("visit", described(PageLoad, "visit"), load.visit)
    columns.add("viewport", described(PageLoad, "viewport"), load.screen)
    columns.add("pixel_ratio", described(Device, "pixel_ratio"), ratio, "number", unit="1")


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
