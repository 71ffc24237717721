"""HAR files as observations, each load with an audit of the claims on it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.pages.har import har_audit, har_file
from httpbed.addons.pages.har.har_audit import AuditResult, Claims
from httpbed.addons.pages.har.har_file import ArchivedLoad
from httpbed.addons.pages.load import timing
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake, require_none, visible
from httpbed.experiment.metric import METRICS, Observation

MAX_LETTERS = 100
"""The longest URL or other text of the file that is shown."""
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
        return any(finding.verdict == "contradicted" for finding in self.findings)


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
    require_none(mistakes)
    return loads


def _imported(file: Path, claims: Claims) -> Iterator[ImportedLoad]:
    archived = har_file.loads(har_file.read_file(file))
    if not archived:
        reason = "has no entry"
        raise ConfigError(
            [Mistake(str(file), reason, "export it again, after the page was loaded")]
        )
    for load in archived:
        findings = tuple(har_audit.audit(load, claims))
        yield ImportedLoad(file, load, tuple(_observations(load)), findings)


def _observations(archived: ArchivedLoad) -> Iterator[Observation]:
    """Compute the metrics that the file supports; bytes only if it has those of every response."""
    tells_bytes = all(
        entry.stated_wire_bytes is not None
        for entry in archived.entries
        if entry.is_on_network and not entry.failed
    )
    # A page that painted nothing has no Speed Index; some tools write 0.
    if archived.speed_index_s and archived.load.ended == "loaded":
        yield Observation(metric="speed_index", value=archived.speed_index_s, source="client")
    for observation in timing.of_load(archived.load):
        if tells_bytes or observation.metric not in _OF_BYTES:
            yield observation


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
        yield f"    {finding.about:<21} {finding.verdict:<15} {_audit_text(finding)}"


def _metrics(observations: Sequence[Observation]) -> Iterator[tuple[str, str]]:
    by_name: dict[str, list[Observation]] = {}
    for observation in observations:
        by_name.setdefault(observation.metric, []).append(observation)
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


def as_json(one: ImportedLoad) -> dict[str, Any]:
    """Return a load with its audit and its observations, ready for :func:`json.dumps`."""
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
