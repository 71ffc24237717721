"""One cold load of a folder's page by a browser, on a bed of its own without impairments."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from httpbed.campaign import preparation
from httpbed.experiment.errors import BedError
from httpbed.experiment.page import OWN_ORIGIN, PageLoad
from httpbed.host.sandbox import untrusted_files
from httpbed.programs.catalog import Catalog
from httpbed.trial.plan import CampaignSetup
from httpbed.trial.run import runner
from httpbed.web.load import driver_output
from httpbed.web.load.browser_load import BrowserLoad
from httpbed.web.load.driver_output import LoadError
from httpbed.web.sites import site as sites
from httpbed.web.sites.catalog import CachedSite

TIME_LIMIT_S = 60.0
_OWN = f"https://{OWN_ORIGIN}"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What a load asked for."""

    paths: dict[str, int]
    """Paths on the page's own origin that were answered -> how often."""
    missing: tuple[str, ...]
    """Paths on it that were not."""
    outside: tuple[str, ...]
    """URLs elsewhere."""
    ended: str
    """Why the load did not end well, or is not known as a whole; empty if it did and is."""
    in_parts: tuple[str, ...] = ()
    """Paths of which parts were asked for, as players do."""


class Loader:
    """Loads pages, each as a trial."""

    def __init__(self, catalog: Catalog, browser: str, server: str, say: Say) -> None:
        """Take the names of a client that loads pages and of a server that has them."""
        self._catalog, self._browser, self._server, self._say = catalog, browser, server, say
        self._number = 0

    def load(self, site: Path, scratch: Path) -> Asked:
        """Load a site, leaving what was seen below ``scratch``.

        Raises:
            BedError: The bed failed.
            HostError: This machine cannot.
        """
        self._number += 1
        document = _experiment(site, self._browser, self._server)
        loaded = preparation.load(document, self._catalog)
        # Served from where it is, for no campaign needs a copy of what is still in the making.
        stored = CachedSite(sites.read(site), site)
        found = {one.key: stored for one in loaded.workloads() if isinstance(one, PageLoad)}
        loaded = replace(loaded, sites=found)
        bed = preparation.make_bed(loaded, self._catalog, capture=False, say=self._say)
        artifacts = scratch / f"load-{self._number}"
        asyncio.run(self._run(loaded, bed, artifacts))
        try:
            return asked(driver_output.read(artifacts / "client"))
        except LoadError as error:
            said = untrusted_files.last_line(artifacts / "client", "chromium-output.txt")
            raise BedError(f"{self._browser} left nothing of its load: {error} ({said})") from None

    async def _run(self, loaded: preparation.Loaded, bed: CampaignSetup, artifacts: Path) -> None:
        await runner.run(bed.plan(loaded.trials[0]), bed, artifacts)


def asked(load: BrowserLoad) -> Asked:
    """Sort what a load asked for."""
    paths: dict[str, int] = {}
    missing, outside, in_parts = list[str](), list[str](), list[str]()
    for request in load.requests:
        if not request.url.startswith(("http:", "https:", "ws:", "wss:")):
            continue
        path = request.url.removeprefix(_OWN).partition("#")[0]
        if not request.url.startswith(_OWN + "/"):
            outside.append(request.url)
        elif request.status == _PARTIAL:
            in_parts.append(path)
        elif request.failed or request.status != _OK:
            missing.append(path)
        else:
            paths[path] = paths.get(path, 0) + 1
    wrong = [] if load.ended == "loaded" else [f"{load.ended}: {load.reason}"]
    ended = "; ".join([*wrong, *load.notes])
    return Asked(paths, _once(missing), _once(outside), ended, _once(in_parts))


def _once(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))


_OK, _PARTIAL = 200, 206


def _experiment(site: Path, browser: str, server: str) -> str:
    """Write the experiment: JSON's texts are TOML's, too."""
    said: dict[str, Any] = {"browser": browser, "server": server, "folder": str(site.absolute())}
    quoted = {name: json.dumps(text, ensure_ascii=False) for name, text in said.items()}
    return _EXPERIMENT.format(**quoted, time_limit=TIME_LIMIT_S)


_EXPERIMENT = """
schema = 1
name = "mirror"
question = "What does this page ask for?"
seed = 1
replicates = 1
time_limit = "{time_limit:g} s"

[topology]
hosts = ["client", "server"]
links = [{{ between = ["client", "server"], rate = "1 Gbit/s", delay = "1 ms" }}]

[roles.client]
implementation = {browser}
http_version = "2"

[roles.server]
implementation = {server}

[workload]
kind = "page"
page = {{ folder = {folder} }}
"""
