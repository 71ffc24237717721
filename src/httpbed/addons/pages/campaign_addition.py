"""What page loads add to campaigns: their pages are read first, and their sites built."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from httpbed.addons.pages.page import PageLoad, RecordedPage
from httpbed.addons.pages.sites import catalog
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.site import Outline
from httpbed.base.errors import ConfigError, Mistake
from httpbed.campaign.addition import CampaignAddition, NamedFiles
from httpbed.experiment import parser
from httpbed.experiment.document import replaced, scenario_document
from httpbed.experiment.parser import ParsedExperiment
from httpbed.experiment.workload import Workload
from httpbed.experiment.workload_kinds import parse as workload_of
from httpbed.trial.program_roots import Say


@dataclass(frozen=True)
class PagesAddition(CampaignAddition):
    """The pages of an experiment."""

    name: str = "pages"

    def files(self, folder: Path) -> NamedFiles:
        """Return a reader of the pages that an experiment names."""
        return Pages(folder)

    def origins(self, workloads: Iterable[Workload]) -> set[str]:
        """Return every origin of replayed sites."""
        pages = [workload.page for workload in workloads if isinstance(workload, PageLoad)]
        recorded = [page for page in pages if isinstance(page, RecordedPage)]
        return {name for page in recorded for name in page.origins or ()}

    def sites(
        self, workloads: Iterable[Workload], seed: int, folder: Path, say: Say
    ) -> dict[str, CachedSite]:
        """Return the site of every page, by its key.

        Raises:
            HostError: A site cannot be built on this machine, or not now.
            ConfigError: A site has another digest than the experiment gives.
        """
        built: dict[str, CachedSite] = {}
        for load in workloads:
            if isinstance(load, PageLoad) and load.key not in built:
                built[load.key] = catalog.ensure(load.page, seed, folder, say)
        return built


ADDITION = PagesAddition()
Path_ = tuple[str | int, ...]


class Pages(NamedFiles):
    """The pages of one experiment; each is read once."""

    def __init__(self, folder: Path) -> None:
        """Names of files are relative to ``folder``."""
        self._folder = folder
        self._known: dict[str, Outline | list[Mistake]] = {}

    def mistakes(self, read: ParsedExperiment) -> Iterator[Mistake]:
        """Yield the mistakes in the pages that any treatment loads."""
        for levels in read.treatments:
            document = scenario_document(read.document, levels)
            for path, load in loads(document):
                outline = self._look(load)
                for mistake in outline if isinstance(outline, list) else ():
                    at, reason = (*path, "page"), mistake.reason
                    whole = parser.mistake_at(read.document, at, levels, reason, mistake.remedy)
                    place = f"{whole.place}.{mistake.place}" if mistake.place else whole.place
                    yield replace(whole, place=place)

    def completed(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a scenario's document with what is known of each page, and of each device."""
        for path, load in loads(document):
            outline = self._look(load)
            assert isinstance(outline, Outline)  # noqa: S101 - mistakes() ran before
            at = (*path, "page")
            document = replaced(document, at, {**outline.known(), **_table(document, at)})
            if load.device:  # its figures are part of the trial, not only its name
                device = load.device.model_dump(mode="json")
                document = replaced(document, (*path, "device"), device)
        return document

    def _look(self, load: PageLoad) -> Outline | list[Mistake]:
        if load.key not in self._known:
            try:
                outline = catalog.outline(load.page, self._folder)
                known: Outline | list[Mistake] = [*outline.contradicts(load.page)] or outline
            except ConfigError as error:
                known = list(error.mistakes)
            self._known[load.key] = known
        return self._known[load.key]


def loads(document: Mapping[str, Any]) -> Iterator[tuple[Path_, PageLoad]]:
    """Yield every page that a scenario's document loads; unreadable ones are reported elsewhere."""
    places: list[tuple[Path_, Any]] = [(("workload",), document.get("workload"))]
    competitors = document.get("competitors")
    for index, table in enumerate(competitors if isinstance(competitors, list) else ()):
        own = table.get("workload") if isinstance(table, Mapping) else None
        places.append((("competitors", index, "workload"), own))
    for path, workload in places:
        try:
            load = workload_of(workload)
        except ValidationError:
            continue
        if isinstance(load, PageLoad):
            yield path, load


def _table(document: Any, path: Path_) -> dict[str, Any]:
    """Return the page at ``path`` as a table; a bare name is its short form."""
    page = functools.reduce(operator.getitem, path, document)
    return {"name": page} if isinstance(page, str) else page
