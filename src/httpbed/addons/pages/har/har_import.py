"""HAR files as observations, each load with an audit of the claims on it."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import click
import pyarrow as pa

from httpbed.addons.pages.har import har_audit, loads, parser
from httpbed.addons.pages.har.har_audit import AuditResult, Claims
from httpbed.addons.pages.har.loads import ArchivedLoad
from httpbed.addons.pages.load import timing
from httpbed.base import disk, units
from httpbed.base.errors import ConfigError, Mistake, RejectedValueError, visible
from httpbed.base.user_file import Kind
from httpbed.cli import output_file, table_files
from httpbed.cli.echo import echo
from httpbed.experiment.metric import METRICS, Observation
from httpbed.experiment.roles import HttpVersion

_OF_BYTES = frozenset({"page_bytes", "page_throughput"})


@dataclass(frozen=True)
class ImportedLoad:
    """A load of a HAR file."""

    file: Path
    archived: ArchivedLoad
    observations: tuple[Observation, ...]
    findings: tuple[AuditResult, ...]

    @property
    def is_contradicted(self) -> bool:
        """Whether the file contradicts a claim or itself."""
        return any(one.verdict == "contradicted" for one in self.findings)


def read(files: Sequence[Path], claims: Claims) -> list[ImportedLoad]:
    """Read HAR files, and judge the claims for each load.

    Raises:
        ConfigError: Every mistake in every file.
    """
    loads: list[ImportedLoad] = []
    mistakes: list[Mistake] = []
    for file in files:
        try:
            loads += _imported(file, claims)
        except ConfigError as error:
            mistakes += error.mistakes
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            mistakes.append(Mistake(str(file), reason, "name a HAR file"))
    if mistakes:
        raise ConfigError(mistakes)
    return loads


def _imported(file: Path, claims: Claims) -> Iterator[ImportedLoad]:
    archived = loads.loads(parser.read_file(file))
    if not archived:
        reason = "has no entry"
        raise ConfigError(
            [Mistake(str(file), reason, "export it again, after the page was loaded")]
        )
    for one in archived:
        findings = tuple(har_audit.audit(one, claims))
        yield ImportedLoad(file, one, tuple(_observations(one)), findings)


def _observations(archived: ArchivedLoad) -> Iterator[Observation]:
    """Compute the metrics that the file supports; bytes only if it has those of every response."""
    on_network = [
        entry
        for request, entry in zip(archived.load.requests, archived.entries, strict=True)
        if request.is_on_network and not entry.failed
    ]
    tells_bytes = all(entry.wire_bytes is not None for entry in on_network)
    # A page that painted nothing has no Speed Index; some tools write 0.
    if archived.speed_index_s and archived.load.ended == "loaded":
        yield Observation(metric="speed_index", value=archived.speed_index_s, source="client")
    for one in timing.of_load(archived.load):
        if tells_bytes or one.metric not in _OF_BYTES:
            yield one


def table(imported: Sequence[ImportedLoad], claimed: Mapping[str, str]) -> pa.Table:
    """Return one row per observation; claims are columns, as factors of a campaign are."""
    fields = ["file", "page", "url", "product", "visit", *claimed, "metric", "item"]
    schema = pa.schema(
        [(name, pa.string()) for name in fields]
        + [("value", pa.float64()), ("unit", pa.string()), ("source", pa.string())]
    )
    rows = [row for one in imported for row in _rows(one, claimed)]
    return pa.Table.from_pylist(rows, schema=schema)


def _rows(one: ImportedLoad, claimed: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    load = one.archived.load
    about = {
        "file": _in_utf8(one.file),
        "page": one.archived.page,
        "url": load.url,
        "product": load.product,
    }
    for observation in one.observations:
        own = observation.model_dump() | {"unit": observation.unit}
        # Claims come last: who claims a visit knows more than a tool that tells none.
        yield about | {"visit": load.visit} | own | dict(claimed)


def _in_utf8(file: Path) -> str:
    """Return a file's name; Arrow holds UTF-8 only, and a name may have any bytes."""
    return str(file).encode(errors="backslashreplace").decode()


MAX_LETTERS = 100
"""The longest URL or other text of the file that is shown."""


def lines(imported: Sequence[ImportedLoad]) -> Iterator[str]:
    """Yield the lines of each load."""
    for index, one in enumerate(imported):
        if index:
            yield ""
        yield from _load(one)


def _load(one: ImportedLoad) -> Iterator[str]:
    load = one.archived.load
    page = f", {_shortened(one.archived.page)}" if one.archived.page else ""
    yield f"{visible(str(one.file))}{page}: {_shortened(load.url)}"
    ending = "" if load.ended == "loaded" else f"; {load.ended}: {_shortened(load.reason)}"
    yield f"  {_shortened(load.product) or 'tool not told'}, {len(load.requests)} requests{ending}"
    for note in load.notes:
        yield f"  note: {_shortened(note)}"
    width = max((len(name) for name in METRICS), default=0)
    for name, value in _metrics(one.observations):
        yield f"  {name:<{width}}  {value}"
    yield "  audit"
    for finding in one.findings:
        yield f"    {finding.about:<20} {finding.verdict:<15} {_audit_text(finding)}"


def _metrics(observations: Sequence[Observation]) -> Iterator[tuple[str, str]]:
    by_name: dict[str, list[Observation]] = {}
    for one in observations:
        by_name.setdefault(one.metric, []).append(one)
    for name, several in by_name.items():
        middle = _value(statistics.median(one.value for one in several), several[0].unit)
        is_of_each = any(one.item for one in several)
        yield name, f"{middle}, median of {len(several)}" if is_of_each else middle


def _value(value: float, unit: str) -> str:
    digits = units.SHORT_DIGITS
    if unit == "s":
        return units.format_duration(value, digits)
    if unit in ("byte", "byte/s"):
        return units.format_size(value, digits) + unit.removeprefix("byte")
    return f"{value:g}" if unit == "1" else f"{value:.3g} {unit}"


def _audit_text(finding: AuditResult) -> str:
    where = ", ".join(map(str, finding.entries))
    return _shortened(finding.text, 300) + (f" (entries {where})" if where else "")


def _shortened(text: str, most: int = MAX_LETTERS) -> str:
    shown = visible(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


AUDIT, OBSERVATIONS = "audit.json", "observations"
_VISITS = ("cold", "repeat view")


def run(
    context: click.Context,
    *,
    files: tuple[Path, ...],
    claims: tuple[str, ...],
    output: Path | None,
    kind: str,
    as_json: bool,
) -> None:
    """Read HAR FILES of any tool; print the page metrics and the audit of each load."""
    claimed = _pairs(claims)
    if output is not None:
        output_file.require_kinds(output, _kinds(kind))
    imported = read(files, _claims(claimed))
    if output is not None:
        _write(imported, claimed, output, kind)
    if as_json:
        echo(json.dumps([_as_json(one) for one in imported], indent=1))
    else:
        for line in lines(imported):
            echo(line)
    context.exit(1 if any(one.is_contradicted for one in imported) else 0)


def _kinds(kind: str) -> dict[str, Kind]:
    """Return what is written, by file name."""
    audit = Kind("an audit that httpbed wrote", re.compile(rb'\[\s*(\]|\{\s*"file": )'))
    return {AUDIT: audit, f"{OBSERVATIONS}.{kind}": table_files.IMPORTED[kind]}


def _one_of(known: Sequence[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in known:
            raise RejectedValueError(f"{value!r} is unknown", f"choose from {', '.join(known)}")
        return value

    return check


_CLAIMS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "http_version": ("http_version", _one_of(get_args(HttpVersion))),
    "rate": ("rate_bit_s", units.parse_rate),
    "rtt": ("rtt_s", units.parse_duration),
    "visit": ("visit", _one_of(_VISITS)),
}
"""Name of a claim -> its field in :class:`Claims`, and its parser."""


def _pairs(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    mistakes = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in _CLAIMS:
            remedy = f"write NAME=VALUE; NAME is one of {', '.join(_CLAIMS)}"
            mistakes.append(Mistake("--claim", f"{word!r} is not a known claim", remedy))
        elif name in found:
            mistakes.append(Mistake("--claim", f"{name} is claimed twice", "keep one of them"))
        found[name] = value
    if mistakes:
        raise ConfigError(mistakes)
    return found


def _claims(texts: Mapping[str, str]) -> Claims:
    values: dict[str, Any] = {}
    mistakes = []
    for name, text in texts.items():
        field, parse = _CLAIMS[name]
        try:
            values[field] = parse(text)
        except RejectedValueError as error:
            mistakes.append(Mistake(f"--claim {name}", error.reason, error.remedy))
    if mistakes:
        raise ConfigError(mistakes)
    return Claims(**values)


def _as_json(one: ImportedLoad) -> dict[str, Any]:
    load = one.archived.load
    return {
        "file": str(one.file),
        "page": one.archived.page,
        "url": load.url,
        "product": load.product,
        "visit": load.visit,
        "ended": load.ended,
        "notes": list(load.notes),
        "audit": [asdict(finding) for finding in one.findings],
        "observations": [
            observation.model_dump() | {"unit": observation.unit}
            for observation in one.observations
        ],
    }


def _write(
    imported: Sequence[ImportedLoad], claimed: Mapping[str, str], folder: Path, kind: str
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = table_files.content(table(imported, claimed), kind)
    disk.write_output(folder / f"{OBSERVATIONS}.{kind}", made)
    audits = [_as_json(one) | {"claims": dict(claimed)} for one in imported]
    for audit in audits:
        del audit["observations"]
    disk.write_output(folder / AUDIT, (json.dumps(audits, indent=1) + "\n").encode())
