"""HAR files as observations, each load with an audit of the claims on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from httpbed.addons.har import har_audit, loads, parser
from httpbed.addons.har.har_audit import AuditResult, Claims
from httpbed.addons.har.loads import ArchivedLoad
from httpbed.addons.pages.load import observations as observing
from httpbed.base.errors import ConfigError, Mistake
from httpbed.experiment.metric import Observation

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
    found: list[ImportedLoad] = []
    mistakes: list[Mistake] = []
    for file in files:
        try:
            found += _imported(file, claims)
        except ConfigError as error:
            mistakes += error.mistakes
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            mistakes.append(Mistake(str(file), reason, "name a HAR file"))
    if mistakes:
        raise ConfigError(mistakes)
    return found


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
    if archived.speed_index_s is not None and archived.load.ended == "loaded":
        yield Observation(metric="speed_index", value=archived.speed_index_s, source="client")
    for one in observing.of_load(archived.load):
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
