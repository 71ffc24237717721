"""The bodies of a page load, from the site that its server had.

A measured browser keeps no bodies, because that takes time. But the page is one of ours: its site
is in the cache, and the trial names its digest or its version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.page import PageLoad
from httpbed.addons.pages.sites import catalog
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.replay import bodies
from httpbed.addons.pages.sites.site import FILES, Resource
from httpbed.results.sample import scenario
from httpbed.store.results import Results

Bodies = Mapping[str, tuple[bytes, bool]]
"""Body by the browser's number of the request, and whether it is binary."""
SKELETON = "a skeleton replays the page, and has no bodies"
NOT_CACHED = "their page is not in this machine's cache; load it here once, with httpbed run"
SUCCESS = 200


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
        load = scenario(
            self._results, {name: row[name] for name in self._results.experiment.factors}
        ).workload
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
