"""One cold load of a site by a browser over a link without impairments, and its requests."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from httpbed.addons.pages.load import driver_output
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.load.driver_output import LoadError
from httpbed.addons.pages.page import PageLoad
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.base import untrusted_files
from httpbed.base.errors import BedError, Mistake, require_none
from httpbed.campaign import campaign_setup, preparation
from httpbed.programs.catalog import Catalog, unknown
from httpbed.trial import plan
from httpbed.trial.plan import CampaignSetup
from httpbed.trial.run import runner

TIME_LIMIT_S = 60.0

Say = Callable[[str], None]


class BrowserLoader:
    """Loads pages, each as a trial."""

    def __init__(self, catalog: Catalog, browser: str, server: str, say: Say) -> None:
        """Use a client that loads pages and a server, by the names of their recipes."""
        self._catalog, self._browser, self._server, self._say = catalog, browser, server, say
        self._number = 0

    def load_page(self, page: Mapping[str, str], site: CachedSite, scratch: Path) -> BrowserLoad:
        """Load a page once, as an experiment names it; artifacts stay below ``scratch``.

        Raises:
            BedError: The bed failed.
            HostError: This machine cannot run the load.
        """
        self._number += 1
        document = _experiment(page, self._browser, self._server)
        loaded = preparation.load(document, self._catalog)
        stored_sites = {
            workload.key: site for workload in loaded.workloads() if isinstance(workload, PageLoad)
        }
        loaded = replace(loaded, sites=stored_sites)
        setup = campaign_setup.make_setup(loaded, self._catalog, say=self._say)
        artifacts = scratch / f"load-{self._number}"
        asyncio.run(self._run(loaded, setup, artifacts))
        try:
            return driver_output.read(artifacts / "client")
        except LoadError as error:
            last_line = untrusted_files.last_line(artifacts / "client", "driver-output.txt")
            raise BedError(
                f"{self._browser} wrote no record of its load: {error} ({last_line})"
            ) from None

    async def _run(
        self, loaded: preparation.LoadedExperiment, setup: CampaignSetup, artifacts: Path
    ) -> None:
        planned = setup.plan(loaded.trials[0])
        sandbox = plan.sandbox_spec(setup, planned, artifacts)
        await runner.run(sandbox, planned.attempt, artifacts)


def differences(cached: CachedSite, load: BrowserLoad) -> list[str]:
    """Return how the requests of a load differ from those that its site lists."""
    listed: Counter[str] = Counter()
    for host, path, number in cached.site.expected():
        listed[f"https://{host}{path}"] += number
    sent = Counter(
        f"https://{request.host}{request.path}"
        for request in load.on_network()
        if not request.failed
    )
    lost = [request.url for request in load.on_network() if request.failed]
    found = [f"{url} is not requested" for url in listed - sent]
    found += [f"{url} is not listed" for url in [*(sent - listed), *lost]]
    ended = [] if load.ended == "loaded" else [f"its load ended: {load.ended}: {load.reason}"]
    return found + ended


def require(catalog: Catalog, *, browser: str, server: str) -> None:
    """Check programs before a page is loaded.

    Raises:
        ConfigError: One is unknown, or cannot load or serve pages.
    """
    mistakes = [
        *_mistakes(catalog, "--browser", browser, "client"),
        *_mistakes(catalog, "--server", server, "server"),
    ]
    require_none(mistakes)


def _mistakes(catalog: Catalog, option: str, name: str, role: str) -> list[Mistake]:
    able = [
        recipe.name
        for recipe in catalog.recipes.values()
        if role in recipe.roles and "page" in recipe.workloads
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
