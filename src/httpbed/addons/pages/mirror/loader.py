"""One cold load of a site by a browser over a link without impairments, and its requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpbed.addons.pages.load import driver_output
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.load.driver_output import LoadError
from httpbed.addons.pages.page import PageLoad
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.site import Site
from httpbed.base import untrusted_files
from httpbed.base.errors import BedError, ConfigError, Mistake
from httpbed.campaign import campaign_setup, preparation
from httpbed.experiment.workload import OWN_ORIGIN
from httpbed.programs.catalog import Catalog, unknown
from httpbed.trial import plan
from httpbed.trial.plan import CampaignSetup
from httpbed.trial.run import runner

TIME_LIMIT_S = 60.0
_OWN = f"https://{OWN_ORIGIN}"

Say = Callable[[str], None]


@dataclass(frozen=True)
class LoadedRequests:
    """The requests of one page load."""

    paths: dict[str, int]
    """Paths on the page's own origin with a complete response, and how many requests each had."""
    missing: tuple[str, ...]
    """Paths on that origin without one."""
    outside: tuple[str, ...]
    """URLs on other origins."""
    ended: str
    """Why the load failed, or is not known completely; empty for a complete load."""
    in_parts: tuple[str, ...] = ()
    """Paths with requests for parts, as players send."""
    unfinished: Mapping[str, str] = field(default_factory=dict)
    """Paths that were found but not read to the end, and the browser's reason."""
    broken: tuple[str, ...] = ()
    """Paths of images that the browser cannot decode; they have complete responses."""


class BrowserLoader:
    """Loads pages, each as a trial."""

    def __init__(self, catalog: Catalog, browser: str, server: str, say: Say) -> None:
        """Use a client that loads pages and a server, by the names of their recipes."""
        self._catalog, self._browser, self._server, self._say = catalog, browser, server, say
        self._number = 0

    def load(self, site: Path, scratch: Path) -> LoadedRequests:
        """Load a site once; artifacts stay below ``scratch``.

        Raises:
            BedError: The bed failed.
            HostError: This machine cannot run the load.
        """
        # The site is served in place: it is not finished, and no campaign needs a copy.
        page = {"folder": str(site.absolute())}
        return requests_of(self.load_page(page, CachedSite(sites.read(site), site), scratch))

    def load_page(self, page: Mapping[str, str], site: CachedSite, scratch: Path) -> BrowserLoad:
        """Load a page as an experiment names it; raises as :meth:`load`."""
        self._number += 1
        document = _experiment(page, self._browser, self._server)
        loaded = preparation.load(document, self._catalog)
        stored_sites = {one.key: site for one in loaded.workloads() if isinstance(one, PageLoad)}
        loaded = replace(loaded, sites=stored_sites)
        setup = campaign_setup.make_setup(loaded, self._catalog, say=self._say)
        artifacts = scratch / f"load-{self._number}"
        asyncio.run(self._run(loaded, setup, artifacts))
        try:
            return driver_output.read(artifacts / "client")
        except LoadError as error:
            last_line = untrusted_files.last_line(artifacts / "client", "chromium-output.txt")
            raise BedError(
                f"{self._browser} wrote no record of its load: {error} ({last_line})"
            ) from None

    async def _run(
        self, loaded: preparation.LoadedExperiment, setup: CampaignSetup, artifacts: Path
    ) -> None:
        planned = setup.plan(loaded.trials[0])
        sandbox = plan.sandbox_spec(setup, planned, artifacts)
        await runner.run(sandbox, planned.attempt, artifacts)


def requests_of(load: BrowserLoad) -> LoadedRequests:
    """Sort the requests of a load."""
    paths: dict[str, int] = {}
    missing, outside, in_parts, broken = list[str](), list[str](), list[str](), list[str]()
    unfinished = dict[str, str]()
    for request in load.requests:
        if not request.url.startswith(("http:", "https:", "ws:", "wss:")):
            continue
        path = request.url.removeprefix(_OWN).partition("#")[0]
        if not request.url.startswith(_OWN + "/"):
            outside.append(request.url)
        elif request.status == _PARTIAL:
            in_parts.append(path)
        elif request.status != _OK:
            missing.append(path)
        elif request.failed:
            unfinished[path] = request.failed
        else:
            paths[path] = paths.get(path, 0) + 1
            broken += [path] if request.is_left else []
    wrong = [] if load.ended == "loaded" else [f"{load.ended}: {load.reason}"]
    ended = "; ".join([*wrong, *load.notes])
    return LoadedRequests(
        paths,
        missing=_once(missing),
        outside=_once(outside),
        ended=ended,
        in_parts=_once(in_parts),
        unfinished=unfinished,
        broken=_once(broken),
    )


def differences(site: Site, load: LoadedRequests) -> list[str]:
    """Return how the requests of a cold load differ from those that its site lists."""
    listed = {one.path: one.requested for one in site.resources if one.requested}
    found = [
        f"{path} was requested {load.paths.get(path, 0)} times instead of {listed.get(path, 0)}"
        for path in sorted({*listed, *load.paths})
        if load.paths.get(path, 0) != listed.get(path, 0)
    ]
    found += [f"{path} was requested and does not exist" for path in load.missing]
    found += [f"{url} on another origin was requested" for url in load.outside]
    found += [f"{path} was requested in parts" for path in load.in_parts]
    found += [f"{path} was not read to its end: {why}" for path, why in load.unfinished.items()]
    return found + ([f"the load ended: {load.ended}"] if load.ended else [])


def broken_images(paths: Iterable[str]) -> Iterator[str]:
    """Yield what a user reads of images that no browser can decode: loads have them, too."""
    for path in paths:
        yield f"{path}: a broken image: the browser cannot decode it; loads request it as it is"


def _once(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))


_OK, _PARTIAL = 200, 206


def require(catalog: Catalog, *, browser: str, server: str) -> None:
    """Check programs before a page is loaded.

    Raises:
        ConfigError: One is unknown, or cannot load or serve pages.
    """
    mistakes = [
        *_mistakes(catalog, "--browser", browser, "client"),
        *_mistakes(catalog, "--server", server, "server"),
    ]
    if mistakes:
        raise ConfigError(mistakes)


def _mistakes(catalog: Catalog, option: str, name: str, role: str) -> list[Mistake]:
    able = [
        one.name
        for one in catalog.recipes.values()
        if role in one.roles and "page" in one.workloads
    ]
    if name in able:
        return []
    if name not in catalog.recipes:
        return [Mistake(option, *unknown(name, able))]
    action = "load" if role == "client" else "serve"
    return [Mistake(option, f"{name} cannot {action} pages", f"use one of: {', '.join(able)}")]


def _experiment(page: Mapping[str, str], browser: str, server: str) -> str:
    """Return the experiment; a JSON string is also a TOML string."""
    table = ", ".join(f"{key} = {_quoted(value)}" for key, value in page.items())
    return _EXPERIMENT.format(
        browser=_quoted(browser), server=_quoted(server), page=table, time_limit=TIME_LIMIT_S
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


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
page = {{ {page} }}
"""
