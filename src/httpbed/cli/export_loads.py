"""Loads of pages in a campaign, each as a file that other tools read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.analysis import timelines
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.host.sandbox import untrusted_files
from httpbed.store import layout
from httpbed.store.results import Results
from httpbed.web.har import writer
from httpbed.web.load import driver_output, net_log, zhang_requests
from httpbed.web.load.browser_load import BrowserLoad
from httpbed.web.load.driver_output import LoadError
from httpbed.web.load.net_log import NetLog

HAR, CDP_JSON = "har", "cdp-json"
KINDS = (HAR, CDP_JSON)
LOAD, NET_LOG = "load.json", "net-log.json"


@dataclass(frozen=True)
class Kept:
    """A load in a campaign."""

    name: str
    """``BLOCK-TRIAL``; with the part's name added where several parts load pages."""
    load: BrowserLoad
    started: datetime
    """When the navigation began; when the attempt did, some seconds earlier, where that is all."""
    speed_index_s: float | None
    net_log: NetLog | None


def write(results: Results, kind: str, folder: Path) -> Iterator[str]:
    """Write every load into a folder; yield what there is to tell of it.

    Raises:
        ConfigError: The campaign has none.
    """
    written, unread = 0, 0
    indexes = _speed_indexes(results)
    for row in timelines.attempts(results):
        for found in _loads(results, row, indexes.get((row["trial"], row["attempt"]))):
            if isinstance(found, str):
                unread += 1
                yield found
                continue
            folder.mkdir(parents=True, exist_ok=True)
            _write(found, kind, folder)
            written += 1
    if not written and not unread:
        reason = "has no load of a page in an attempt that is valid"
        remedy = 'see httpbed status; pages are loaded by a [workload] with kind = "page"'
        raise ConfigError([Mistake(str(results.directory), reason, remedy)])
    yield f"{written} loads written to {folder}"


def _speed_indexes(results: Results) -> dict[tuple[str, int], float]:
    """Return what was found of each attempt, by trial and number."""
    return {
        (seen["trial"], seen["attempt"]): seen["value"]
        for seen in results.observations.to_pylist()
        if seen["metric"] == "speed_index"
    }


def _loads(
    results: Results, row: Mapping[str, Any], speed_index_s: float | None
) -> Iterator[Kept | str]:
    artifacts = layout.artifacts(results.directory, row["block"], row["trial"], row["attempt"])
    folders = sorted(file.parent for file in artifacts.glob(f"*/{LOAD}"))
    for place in folders:
        part = f"-{place.name}" if len(folders) > 1 else ""
        name = f"{row['block']:04d}-{row['trial']}{part}"
        if altered := results.artifacts.altered(row, place.name):
            yield f"{name}: not written: {altered}"
            continue
        try:
            load = driver_output.read(place)
        except LoadError as error:
            yield f"{name}: not written: {error}"
            continue
        yield Kept(name, load, _started(load, row), speed_index_s, _net_log(place))


def _started(load: BrowserLoad, row: Mapping[str, Any]) -> datetime:
    if load.navigated_at is None:
        return datetime.fromisoformat(row["started"])
    return datetime.fromtimestamp(load.navigated_at, UTC)


def _net_log(folder: Path) -> NetLog | None:
    try:
        return net_log.read(untrusted_files.text(folder / NET_LOG, most=untrusted_files.OWN_BYTES))
    except (FileNotFoundError, ValueError):
        return None


def _write(kept: Kept, kind: str, folder: Path) -> None:
    if kind == HAR:
        said: object = writer.har(
            kept.load, kept.started, speed_index_s=kept.speed_index_s, net_log=kept.net_log
        )
        name = f"{kept.name}.har"
    else:
        said, name = zhang_requests.requests(kept.load), f"{kept.name}.json"
    (folder / name).write_text(json.dumps(said, indent=1) + "\n")
