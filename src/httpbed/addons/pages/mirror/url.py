"""Mirrors a page on the web: a HAR file with all bodies, whose replay is tried at once.

The replay rebuilds the page with its origins. Where the page itself makes the same requests at each
load, it may make them itself (``order = "its own"``). Otherwise, as with advertisements and clocks,
a skeleton makes them in the recorded order. The file has this order in ``log._order``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from httpbed.addons.pages.har import writer
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.mirror.loader import BrowserLoader, differences
from httpbed.addons.pages.mirror.recorder import PageRecording, Recorder, as_json, record
from httpbed.addons.pages.mirror.way_out import MAX_BYTES
from httpbed.addons.pages.page import Order, RecordedPage
from httpbed.addons.pages.sites import catalog as sites
from httpbed.addons.pages.sites.site import Site
from httpbed.base import disk
from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.machine import scratch

LOADS = 2
"""How often a page must make the recorded requests by itself."""
MAX_NAMED = 5
"""Differences and destinations that are named."""
Say = Callable[[str], None]


def mirror(url: str, target: Path, recorder: Recorder, loader: BrowserLoader) -> Site:
    """Record a page into the HAR file ``target``, try its replay, and return the replayed site.

    Raises:
        ConfigError: It cannot be loaded, or replayed.
    """
    with scratch.temporary("mirror") as place:
        recorder.say(f"recording {url}")
        recording = asyncio.run(record(url, recorder, place / "recording"))
        _require_whole(url, recording, recorder.say)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _tried(_har(recording), target, loader, place, recorder.say)
        except ConfigError:
            target.unlink()
            raise


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
        if request.is_left
    ]
    for line in [*errors[:MAX_NAMED], *images[:MAX_NAMED]]:
        say(line)
    if (more := max(0, len(errors) - MAX_NAMED) + max(0, len(images) - MAX_NAMED)) > 0:
        say(f"{more} further responses are errors or broken images")


def _har(recording: PageRecording) -> dict[str, Any]:
    load = recording.load
    started = datetime.fromtimestamp(load.navigated_at or 0, UTC)
    contents = {number: (body.content, body.is_binary) for number, body in recording.bodies.items()}
    return writer.har(load, started, bodies=contents)


def _tried(har: dict[str, Any], target: Path, loader: BrowserLoader, place: Path, say: Say) -> Site:
    _write(har, "its own", target)
    try:
        return _loaded(target, "its own", loader, place, say)
    except ConfigError as error:
        for mistake in error.mistakes[:MAX_NAMED]:
            say(f"the page cannot make its requests itself: {mistake.reason}")
    say("a skeleton makes them in the recorded order: Speed Index and paints have no meaning")
    _write(har, "recorded", target)
    return _loaded(target, "recorded", loader, place, say)


def _write(har: dict[str, Any], order: Order, target: Path) -> None:
    har["log"]["_order"] = order
    disk.write_output(target, as_json(har))


def _loaded(target: Path, order: Order, loader: BrowserLoader, place: Path, say: Say) -> Site:
    """Load the replay; a page that makes its own requests must make the same each time.

    Raises:
        ConfigError: It does not, or the file cannot be replayed so.
    """
    cached = sites.ensure(RecordedPage(har=target.name), 0, target.parent, say)
    say(f"replay of {cached.site.source}")
    for number in range(1, LOADS + 1 if order == "its own" else 2):
        say(f"loading its replay, time {number}")
        named = {"har": str(target.absolute())}
        if wrong := differences(cached, loader.load_page(named, cached, place)):
            raise ConfigError([Mistake(target.name, one) for one in wrong])
    return cached.site
