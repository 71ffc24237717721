"""Columns of the workload: files, or a page with its weight."""

from __future__ import annotations

from pathlib import PurePath

from httpbed.addons.dataset.column import Cells, DatasetColumn, described, place
from httpbed.addons.pages.page import (
    FolderPage,
    KnownPage,
    NamedPage,
    PageLoad,
    RecordedPage,
    SyntheticPage,
)
from httpbed.base import units
from httpbed.experiment.impairments.descriptor import FeatureKind
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.workload import Download

SOURCE = "experiment file"


def cells(scenario: Scenario) -> Cells:
    """Return the workload of a scenario."""
    workload = scenario.workload
    kind = f"{described(Download, 'kind')} {described(PageLoad, 'kind')}"
    resumption = described(Download, "resumption")
    total = "Total length of all bodies of the workload."
    found: Cells = {
        _column("kind", "string", kind): workload.kind,
        _column("body_bytes", "integer", total, "byte"): workload.body_bytes() or None,
        _column("resumption", "string", resumption): workload.resumes,
    }
    if isinstance(workload, Download):
        found |= _download(workload)
    elif isinstance(workload, PageLoad):
        found |= _page(workload)
    return found


def _download(download: Download) -> Cells:
    return {
        _column("size_bytes", "integer", described(Download, "size"), "byte"): download.size,
        **{
            _column(name, "integer", described(Download, name), "1"): getattr(download, name)
            for name in ("files", "connections", "rounds")
        },
    }


def _page(load: PageLoad) -> Cells:
    weight, requests = described(KnownPage, "weight"), described(KnownPage, "requests")
    return {
        _column("page", "string", described(PageLoad, "page")): page_name(load.page),
        _column("page_bytes", "integer", weight, "byte"): load.page.load_bytes() or None,
        _column("page_requests", "integer", requests, "1"): load.requests(),
        _column("visit", "string", described(PageLoad, "visit")): load.visit,
        _column("viewport", "string", described(PageLoad, "viewport")): load.viewport,
    }


def page_name(page: KnownPage) -> str:
    """Name a page in a few words, without the folders of the machine."""
    match page:
        case NamedPage():
            return page.name
        case SyntheticPage():
            return f"{page.objects} images of {units.format_size(page.size)}"
        case FolderPage():
            return PurePath(page.folder).name
        case RecordedPage():
            return PurePath(page.har).name
    return ""


def _column(name: str, kind: FeatureKind, description: str, unit: str = "") -> DatasetColumn:
    """Return a column with a prefix, because some metrics have the same names."""
    return DatasetColumn(f"workload_{name}", kind, description, SOURCE, unit, place("workload"))
