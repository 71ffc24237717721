"""Imported HAR files for a terminal: metrics and audit of each load."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from httpbed.addons.har.har_audit import AuditResult
from httpbed.addons.har.har_import import ImportedLoad
from httpbed.base import units
from httpbed.base.errors import visible
from httpbed.experiment.metric import METRICS, Observation

MOST_LETTERS = 100
"""Of a URL or another text of the file's."""


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


def _shortened(text: str, most: int = MOST_LETTERS) -> str:
    shown = visible(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."
