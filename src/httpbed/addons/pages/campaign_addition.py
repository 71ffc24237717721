"""What page loads add to campaigns: their pages are read first, and their sites built."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from httpbed.addons.pages import campaign_sites
from httpbed.addons.pages.page import PageLoad, RecordedPage
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.campaign.addition import CampaignAddition, NamedFiles, Say
from httpbed.experiment.workload import Workload


@dataclass(frozen=True)
class PagesAddition(CampaignAddition):
    """The pages of an experiment."""

    name: str = "pages"

    def files(self, folder: Path) -> NamedFiles:
        """Return a reader of the pages that an experiment names."""
        return campaign_sites.Pages(folder)

    def origins(self, workloads: Iterable[Workload]) -> set[str]:
        """Return every origin of replayed sites."""
        pages = [one.page for one in workloads if isinstance(one, PageLoad)]
        recorded = [page for page in pages if isinstance(page, RecordedPage)]
        return {name for page in recorded for name in page.origins or ()}

    def sites(
        self, workloads: Iterable[Workload], seed: int, folder: Path, say: Say
    ) -> dict[str, CachedSite]:
        """Build or find the site of every page."""
        return campaign_sites.ensure_all(workloads, seed, folder, say)


ADDITION = PagesAddition()
