"""``httpbed export --format har`` and ``cdp-json``: each page load as a file for other tools.

``cdp-json`` is the form in which Zhang and Song stored each request (2023, figure 8).

::

    {"requestId", "url", "timestamp", "protocol", "dataLength", "responseUrl", "timing"}

``timestamp`` is the end of the request and ``timing.requestTime`` its start, in seconds of the
clock of the Chrome DevTools Protocol. All else in ``timing`` is in milliseconds since then; -1
means no time. ``dataLength`` counts the decoded body's bytes. Their round-trip time is
``receiveHeadersEnd - sendStart``.

A measured browser keeps no bodies, because that takes time. But the page is one of ours: its site
is in the cache, and the trial names its digest or its version. A HAR file has its bodies.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.addons.pages.har import writer
from httpbed.addons.pages.load import driver_output
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.load.driver_output import LoadError
from httpbed.addons.pages.page import PageLoad
from httpbed.addons.pages.sites import catalog
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.replay import bodies
from httpbed.addons.pages.sites.site import FILES, Resource
from httpbed.base import disk
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.base.units import format_count
from httpbed.base.user_file import Kind
from httpbed.cli import output_file
from httpbed.cli.exports import ExportChoice
from httpbed.results import attempts
from httpbed.results.sample import scenario
from httpbed.store.results import Results

HAR, CDP_JSON = "har", "cdp-json"
LOAD = "load.json"
_KINDS = {
    HAR: Kind(
        "a HAR file that httpbed wrote",
        re.compile(rb'\{\s*"log": \{\s*"version": "1.2",\s*"creator": \{\s*"name": "httpbed"'),
    ),
    CDP_JSON: Kind(
        "a list of requests that httpbed wrote", re.compile(rb'\[\s*(\]|\{\s*"requestId": )')
    ),
}
"""What is written, by format."""
_SUFFIX = {HAR: ".har", CDP_JSON: ".json"}
Bodies = Mapping[str, tuple[bytes, bool]]
"""Body by the browser's number of the request, and whether it is binary."""
SKELETON = "a skeleton replays the page, and has no bodies"
NOT_CACHED = "their page is not in this machine's cache; load it here once, with httpbed run"
SUCCESS = 200
_ALPN = {"1.0": "http/1.0", "1.1": "http/1.1", "2": "h2", "3": "h3"}
_NOT_THERE = -1
_NEVER_REPORTED = (
    "proxyStart",
    "proxyEnd",
    "workerStart",
    "workerReady",
    "workerFetchStart",
    "workerRespondWithSettled",
)


def requests(load: BrowserLoad) -> list[dict[str, Any]]:
    """Return the requests that used the network, in the order in which the page made them."""
    began_s = (load.navigation_ns or 0) / 1e9
    return [_request(request, began_s) for request in load.on_network()]


def _request(request: PageRequest, began_s: float) -> dict[str, Any]:
    return {
        "requestId": request.id,
        "url": request.url,
        "timestamp": _clock(request.ended_s, began_s),
        "protocol": _ALPN.get(request.http_version, request.http_version),
        "dataLength": request.body_bytes,
        "responseUrl": request.url.partition("#")[0] if request.status else "",
        "timing": _timing(request, began_s),
    }


def _timing(request: PageRequest, began_s: float) -> dict[str, float]:
    times = {
        "dnsStart": request.dns_start_s,
        "dnsEnd": request.dns_end_s,
        "connectStart": request.connect_start_s,
        "connectEnd": request.connect_end_s,
        "sslStart": request.tls_start_s,
        "sslEnd": request.tls_end_s,
        "sendStart": request.send_start_s,
        "sendEnd": request.send_end_s,
        "receiveHeadersEnd": request.headers_end_s,
    }
    since = request.started_s if request.started_s is not None else request.queued_s or 0.0
    return {
        "requestTime": _clock(since, began_s),
        **dict.fromkeys(_NEVER_REPORTED, _NOT_THERE),
        **{name: _ms(at_s, since) for name, at_s in times.items()},
        "pushStart": 0,
        "pushEnd": 0,
    }


def _ms(at_s: float | None, since_s: float) -> float:
    return _NOT_THERE if at_s is None else round((at_s - since_s) * 1000, 3)


def _clock(at_s: float | None, began_s: float) -> float:
    return _NOT_THERE if at_s is None else round(began_s + at_s, 6)


def write(results: Results, choice: ExportChoice) -> Iterator[str]:
    """Write every load into a folder; yield a line for each that cannot be written, and a sum.

    Raises:
        ConfigError: The campaign has no page load, or the folder has files of others.
    """
    kind, folder = choice.kind, choice.folder
    _require_own(folder, kind)
    written, unread, bodiless = 0, 0, Counter[str]()
    indexes = _speed_indexes(results)
    sites = SiteBodies(results)
    for row in attempts.valid(results):
        for name, load in _loads(results, row):
            if isinstance(load, str):
                unread += 1
                yield f"{name}: not written: {load}"
                continue
            document: object = requests(load) if kind == CDP_JSON else None
            if kind == HAR:
                bodies = sites.of(load, row)
                bodiless[sites.lacking(row)] += bodies is None
                index_s = indexes.get((row["trial"], row["attempt"]))
                started = _started(load, row)
                document = writer.har(load, started, speed_index_s=index_s, bodies=bodies)
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps(document, indent=1) + "\n"
            disk.write_output(folder / f"{name}{_SUFFIX[kind]}", text.encode())
            written += 1
    if not written and not unread:
        reason = "has no page load in a valid attempt"
        remedy = 'see httpbed report --status; a [workload] with kind = "page" loads pages'
        if results.artifacts.directory is None:
            reason, remedy = "is an archive, which keeps no page loads", "export the campaign"
        raise ConfigError([Mistake(str(results.directory), reason, remedy)])
    for why, count in bodiless.items():
        if count:
            yield f"{format_count(count, 'load')} without bodies: {why}"
    yield f"{format_count(written, 'load')} written to {folder}"


def _require_own(folder: Path, kind: str) -> None:
    """Raise ConfigError if a folder has anything but loads of this form."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    if foreign := [path for path in found if path.suffix != _SUFFIX[kind] or not path.is_file()]:
        reason = f"has other files, such as {foreign[0].name}"
        raise ConfigError([Mistake(f"-o {folder}", reason, "name a new or empty folder")])
    require_none(output_file.kind_mistakes(folder, {path.name: _KINDS[kind] for path in found}))


def _speed_indexes(results: Results) -> dict[tuple[str, int], float]:
    """Return each attempt's Speed Index in seconds, by trial and attempt number."""
    return {
        (row["trial"], row["attempt"]): row["value"]
        for row in results.observations.to_pylist()
        if row["metric"] == "speed_index"
    }


def _loads(results: Results, row: Mapping[str, Any]) -> Iterator[tuple[str, BrowserLoad | str]]:
    """Yield each load of an attempt, or why it cannot be read, with its name.

    The name is ``BLOCK-TRIAL``, followed by the part's name if several parts load pages.
    """
    folders = sorted(file.parent for file in results.artifact_folder(row).glob(f"*/{LOAD}"))
    for place in folders:
        part = f"-{place.name}" if len(folders) > 1 else ""
        name = f"{row['block']:04d}-{row['trial']}{part}"
        if altered := results.artifacts.altered(row, place.name):
            yield name, str(altered)
            continue
        try:
            yield name, driver_output.read(place)
        except LoadError as error:
            yield name, str(error)


def _started(load: BrowserLoad, row: Mapping[str, Any]) -> datetime:
    """Return the start of the navigation; if unknown, of the attempt, some seconds earlier."""
    if load.navigated_at is None:
        return datetime.fromisoformat(row["started"])
    return datetime.fromtimestamp(load.navigated_at, UTC)


class SiteBodies:
    """The sites of a campaign's pages; each is looked up once."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._sites: dict[str, CachedSite | None] = {}

    def of(self, load: BrowserLoad, row: Mapping[str, Any]) -> Bodies | None:
        """Return the bodies of a load; None if they are not known. ``row`` is of its attempt."""
        cached = self._site(row)
        if cached is None or cached.site.skeleton:
            return None
        responses: dict[tuple[str, str], list[Resource]] = {}
        for one in cached.site.resources:
            responses.setdefault((cached.site.origins[one.origin], one.path), []).append(one)
        asked = Counter[tuple[str, str]]()
        found: dict[str, tuple[bytes, bool]] = {}
        for request in load.requests:
            key = (request.host, request.path)
            if known := responses.get(key):
                # A replay sends several responses in order, and the last one repeatedly.
                resource = known[min(asked[key], len(known) - 1)]
                asked[key] += request.is_on_network
                body = _body(request, resource, cached)
                if body is not None:
                    found[request.id] = (body, not _is_text(body, request.mime_type))
        return found

    def lacking(self, row: Mapping[str, Any]) -> str:
        """Return why a load has no bodies."""
        return SKELETON if self._site(row) else NOT_CACHED

    def _site(self, row: Mapping[str, Any]) -> CachedSite | None:
        load = scenario(self._results, self._results.levels(row)).workload
        if not isinstance(load, PageLoad):
            return None
        if load.key not in self._sites:
            seed = self._results.seeds.get(row["block"], self._results.experiment.seed)
            self._sites[load.key] = catalog.cached(load.page, seed)
        return self._sites[load.key]


def _body(request: PageRequest, resource: Resource, cached: CachedSite) -> bytes | None:
    """Return the decoded body of a response that came whole; None if it is another."""
    status = resource.answer.status if resource.answer else SUCCESS
    if request.failed or request.status != status:
        return None
    headers = resource.answer.headers if resource.answer else ()
    coding = next((value for name, value in headers if name.lower() == "content-encoding"), "")
    content = (cached.folder / FILES / resource.file).read_bytes()
    return bodies.decoded(content, coding, request.body_bytes)


def _is_text(body: bytes, mime_type: str) -> bool:
    if not bodies.is_text(mime_type):
        return False
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
