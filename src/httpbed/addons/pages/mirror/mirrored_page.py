"""Mirrors a page on the web: a HAR file with all bodies, whose replay is tried at once.

A browser that reaches nothing but its way out loads the page, and keeps every body. The replay
rebuilds the page with its origins. Where the page itself makes the same requests at each load, it
may make them itself (``order = "its own"``). Otherwise, as with advertisements and clocks, a
skeleton makes them in the recorded order. The file has this order in ``log._order``.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from httpbed.addons.pages.har import writer
from httpbed.addons.pages.load import driver_output, lenient_json
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.load.driver_output import DRIVER_OUTPUT, LoadError
from httpbed.addons.pages.mirror import way_out
from httpbed.addons.pages.mirror.way_out import MAX_BYTES, GuardedProxy
from httpbed.addons.pages.page import Order, PageLoad, RecordedPage
from httpbed.addons.pages.sites import catalog as sites
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.site import Site
from httpbed.base import disk, untrusted_files
from httpbed.base.errors import BedError, ConfigError, Mistake
from httpbed.bed.machine import scratch
from httpbed.bed.sandbox.dialogue import run_tool
from httpbed.bed.sandbox.sandbox_spec import TOOLS, PartSpec, Ports, ProcessSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import sandbox
from httpbed.campaign import campaign_setup, preparation
from httpbed.programs.catalog import Catalog
from httpbed.programs.part import NO_PAGE, Part
from httpbed.trial import plan, program_roots
from httpbed.trial.plan import SANDBOX_BYTES
from httpbed.trial.run import runner

LOADS = 2
"""How often a page must make the recorded requests by itself."""
MAX_NAMED = 5
"""Differences and destinations that are named."""
Say = Callable[[str], None]
BROWSER = "chromium-headless-shell"
RELAY = "browsers.relay"
CLIENT = "client"
RELAY_PORT = 1080
FILE_BYTES = 2**28
"""Upper bound of all that the browser leaves."""
LATE_S = 40.0
"""Time that the driver takes beside the load."""
_SHOWN = "/outside"
"""Where the part sees the folder with the way out's socket."""


def mirror(url: str, target: Path, catalog: Catalog, time_limit_s: float, say: Say) -> Site:
    """Record a page into the HAR file ``target``, try its replay, and return the replayed site.

    Raises:
        ConfigError: It cannot be loaded, or replayed.
        BedError: The bed failed.
        HostError: This machine lacks something.
    """
    with scratch.temporary("mirror") as place:
        say(f"recording {url}")
        folder = place / "recording"
        recording = asyncio.run(record(url, catalog, time_limit_s, folder, say))
        _require_whole(url, recording, say)
        tried = place / target.name  # an interrupted trial leaves no file that looks finished
        site = _tried(_har(recording), tried, catalog, place, say)
        target.parent.mkdir(parents=True, exist_ok=True)
        disk.write_output(target, tried.read_bytes())
        return site


def _require_whole(url: str, recording: PageRecording, say: Say) -> None:
    """Refuse a recording without a page, and say what it lacks."""
    load, way = recording.load, recording.way
    refused = list(way.refused.items())
    for place, reason in refused[:MAX_NAMED]:
        say(f"not reached: {place}: {reason}")
    if len(refused) > MAX_NAMED:
        say(f"not reached: {len(refused) - MAX_NAMED} further destinations")
    if way.is_exhausted:
        reason = f"has more than {MAX_BYTES} bytes"
        raise ConfigError([Mistake(url, reason, "mirror a smaller page")])
    document = next((one for one in load.on_network() if not one.redirected_to), None)
    if document and document.status >= HTTPStatus.BAD_REQUEST:
        reason = f"is answered with status {document.status}"
        raise ConfigError([Mistake(url, reason, "check the URL in a browser without cookies")])
    _say_broken(load, say)
    if load.ended == "loaded" and not load.notes:
        return
    if load.ended == "time limit" and load.onload_s is not None:
        say(
            f"it still sends requests at the time limit, which the mirror leaves out: {load.reason}"
        )
        return
    reasons = "; ".join([f"{load.ended}: {load.reason}", *load.notes])
    raise ConfigError([Mistake(url, f"cannot be recorded: {reasons}", "open it in a browser")])


def _say_broken(load: BrowserLoad, say: Say) -> None:
    """Say which responses are errors and which images are broken: the replay has them, too."""
    errors = [
        f"{request.url}: status {request.status}; its replay has it, too"
        for request in load.on_network()
        if request.status >= HTTPStatus.BAD_REQUEST
    ]
    images = [
        f"{request.url}: a broken image: the browser cannot decode it; loads request it as it is"
        for request in load.on_network()
        if request.is_left and request.status < HTTPStatus.BAD_REQUEST
    ]
    for line in [*errors[:MAX_NAMED], *images[:MAX_NAMED]]:
        say(line)
    if (more := max(0, len(errors) - MAX_NAMED) + max(0, len(images) - MAX_NAMED)) > 0:
        say(f"{more} further responses are errors or broken images")


def _har(recording: PageRecording) -> dict[str, Any]:
    started = datetime.fromtimestamp(recording.load.navigated_at or 0, UTC)
    return writer.har(recording.load, started, bodies=recording.bodies)


def _tried(har: dict[str, Any], target: Path, catalog: Catalog, place: Path, say: Say) -> Site:
    _write(har, "its own", target)
    try:
        return _replayed(target, "its own", catalog, place, say)
    except ConfigError as error:
        for mistake in error.mistakes[:MAX_NAMED]:
            say(f"the page cannot make its requests itself: {mistake.reason}")
    say("a skeleton makes them in the recorded order: Speed Index and paints have no meaning")
    _write(har, "recorded", target)
    return _replayed(target, "recorded", catalog, place, say)


def _write(har: dict[str, Any], order: Order, target: Path) -> None:
    har["log"]["_order"] = order
    disk.write_output(target, (json.dumps(har, indent=1) + "\n").encode())


def _replayed(target: Path, order: Order, catalog: Catalog, place: Path, say: Say) -> Site:
    """Load the replay; a page that makes its own requests must make the same each time.

    Raises:
        ConfigError: It does not, or the file cannot be replayed so.
    """
    cached = sites.ensure(RecordedPage(har=target.name), 0, target.parent, say)
    say(f"replay of {cached.site.source}")
    for number in range(1, LOADS + 1 if order == "its own" else 2):
        say(f"loading its replay, time {number}")
        load = _loaded(target.absolute(), cached, catalog, place / f"{order}-{number}", say)
        if wrong := [*_differences(cached, load)]:
            raise ConfigError([Mistake(target.name, one) for one in wrong])
    return cached.site


def _loaded(har: Path, site: CachedSite, catalog: Catalog, folder: Path, say: Say) -> BrowserLoad:
    """Load a replay once over a link without impairments; its artifacts go into a new folder."""
    page = json.dumps(str(har), ensure_ascii=False)  # a JSON string is also a TOML string
    loaded = preparation.load(_EXPERIMENT.format(browser=BROWSER, page=page), catalog)
    pages = (workload for workload in loaded.workloads() if isinstance(workload, PageLoad))
    loaded = replace(loaded, sites={page.key: site for page in pages})
    setup = campaign_setup.make_setup(loaded, catalog, say=say)
    planned = plan.by_setup(loaded.trials[0], setup)
    asyncio.run(runner.run(plan.sandbox_spec(setup, planned, folder), planned.attempt, folder))
    try:
        return driver_output.read(folder / "client")
    except LoadError as error:
        last_line = untrusted_files.last_line(folder / "client", DRIVER_OUTPUT)
        raise BedError(f"{BROWSER} wrote no record of its load: {error} ({last_line})") from None


def _differences(cached: CachedSite, load: BrowserLoad) -> Iterator[str]:
    """Yield how the requests of a load differ from those that its site lists."""
    listed: Counter[str] = Counter()
    for host, path, number in cached.site.expected():
        listed[f"https://{host}{path}"] += number
    sent = Counter(
        f"https://{request.host}{request.path}"
        for request in load.on_network()
        if not request.failed
    )
    lost = [request.url for request in load.on_network() if request.failed]
    yield from (f"{url} is not requested" for url in listed - sent)
    yield from (f"{url} is not listed" for url in [*(sent - listed), *lost])
    if load.ended != "loaded":
        yield f"its load ended: {load.ended}: {load.reason}"


_EXPERIMENT = """
schema = 1
name = "mirror"
question = "What does this page ask for?"
seed = 1
replicates = 1
time_limit = "60 s"

[topology]
hosts = ["client", "server"]
links = [{{ between = ["client", "server"], rate = "1 Gbit/s", delay = "1 ms" }}]

[roles.client]
implementation = "{browser}"
http_version = "2"

[roles.server]
implementation = "nginx"

[workload]
kind = "page"
page = {{ har = {page} }}
"""


@dataclass(frozen=True)
class PageRecording:
    """A load with the bodies of its responses."""

    load: BrowserLoad
    bodies: dict[str, tuple[bytes, bool]]
    """Each as the browser decoded it, with whether it is binary, by the number of the request; a
    redirect's last response has its number."""
    way: GuardedProxy


async def record(
    url: str, catalog: Catalog, time_limit_s: float, folder: Path, say: Say
) -> PageRecording:
    """Load a URL once, cold, and keep everything that came; ``folder`` is new, for scratch.

    Raises:
        ConfigError: The URL cannot be loaded.
        BedError: The browser or the sandbox failed.
        HostError: This machine lacks something.
    """
    permission = await way_out.permission_of(url)
    programs = program_roots.ensure(catalog, [BROWSER], say=say)
    outside, trial, scratch = (folder / name for name in ("outside", "trial", "sandbox"))
    for each in (folder, outside, trial, scratch):
        each.mkdir()
    outside.chmod(0o755)
    driver = _driver(catalog, url, time_limit_s)
    limits = PartSpec(
        BROWSER,
        CLIENT,
        folders={CLIENT: FILE_BYTES},
        shared={_SHOWN: outside},
        memory_bytes=driver.memory_bytes,
        processes=driver.processes,
    )
    spec = SandboxSpec(
        scratch=scratch,
        trial=trial,
        roots=programs.roots(),
        shared={},
        programs={},
        hosts={CLIENT: {}},
        sysctls={},
        tmpfs_bytes=SANDBOX_BYTES,
        parts={CLIENT: programs.part(limits)},
    )
    async with way_out.open_at(outside, permission) as way, sandbox(spec) as supervisor:
        words = ("ip", "link", "set", "dev", "lo", "up")
        await run_tool(supervisor, ProcessSpec(words, host=CLIENT, root=TOOLS))
        await supervisor.start(_relay(driver))
        ended = await supervisor.run(replace(driver, files={}, timeout_s=time_limit_s + LATE_S))
    left = trial / CLIENT
    try:
        return PageRecording(driver_output.read(left), _bodies(left), way)
    except (LoadError, untrusted_files.UnreadableError) as error:
        last_line = untrusted_files.last_line(left, DRIVER_OUTPUT)
        raise BedError(f"{BROWSER} left no recording: {error} ({ended}; {last_line})") from None


def _driver(catalog: Catalog, url: str, time_limit_s: float) -> ProcessSpec:
    """Plan the browser by its recipe, and add what makes it record."""
    part = Part(
        name=CLIENT,
        role="client",
        host=CLIENT,
        http_version="2",
        server_name=NO_PAGE.origins[0],
        server_address="127.0.0.1",
        port=443,
        fetches=(),
        certificates="/certificates",
        content="",
        time_limit_s=time_limit_s,
        file_bytes=FILE_BYTES,
        page=NO_PAGE,
    )
    planned = catalog[BROWSER].plan(part)
    words = (f"--url={url}", f"--record={RELAY_PORT}")  # the last of equal options counts
    return replace(planned, argv=(*planned.argv, *words), part=CLIENT, host=CLIENT)


def _relay(driver: ProcessSpec) -> ProcessSpec:
    """Plan the program that leads a port of loopback to the way out."""
    program = ("python3", "-m", RELAY)
    words = (str(RELAY_PORT), f"{_SHOWN}/{way_out.SOCKET}")
    ready = Ports(tcp=(RELAY_PORT,))
    return replace(driver, argv=(*program, *words), stdout=None, stderr=None, ready=ready)


def _bodies(left: Path) -> dict[str, tuple[bytes, bool]]:
    content = untrusted_files.data(left / "bodies.bin", most=FILE_BYTES)
    bodies: dict[str, tuple[bytes, bool]] = {}
    begin = 0
    for one in lenient_json.objects(left / "bodies.jsonl"):
        end = begin + lenient_json.count(one, "bytes")
        request = lenient_json.text(one, "requestId", 200)
        bodies[request] = (content[begin:end], one.get("binary") is True)
        begin = end
    return bodies
