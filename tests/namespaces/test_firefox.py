"""Firefox loads pages: its report has the form of Chromium's, and agrees with nginx's log."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import pages
from browsing import Place, Setting, catalog, place
from httpbed.programs.part import ProgramReport

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

VERSIONS = ("1.1", "2", "3")
NEVER_S = 15.0
"""For a browser to begin on a busy machine, and to go on and on."""
ENDINGS = {
    "dialogs": ("loaded", ""),
    "elsewhere": ("left", "it navigated to https://server.httpbed.test/index.html"),
    "never": ("time limit", "the network was not idle"),
    "download": ("download", "https://server.httpbed.test/file.bin"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.write(tmp_path_factory.mktemp("site"))


def loaded(folder: Path, site: Path, *loads: tuple[str, str, str]) -> tuple[Place, dict[str, Any]]:
    """Load pages one after another, each with a name, a path and a version."""

    async def load() -> tuple[Place, dict[str, Any]]:
        setting = Setting(site, [name for name, *_ in loads], browser="firefox")
        async with place(folder, setting) as made:
            told = {}
            for name, path, version in loads:
                limit_s = NEVER_S if name == "never" else 60
                told[name] = await made.load(name, made.driver(name, path, version, limit_s))
            return made, told

    return asyncio.run(load())


@pytest.fixture(scope="module")
def whole(site: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, dict[str, Any]]:
    loads = [(f"over-{version}", "/index.html", version) for version in VERSIONS]
    return loaded(tmp_path_factory.mktemp("whole"), site, *loads)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_page_comes_whole_over_the_version_that_is_asked(
    whole: tuple[Place, dict[str, Any]], version: str
) -> None:
    made, told = whole[0], whole[1][f"over-{version}"]
    assert (told["ended"], told["reason"]) == ("loaded", "")
    assert told["product"].startswith("Firefox/")
    assert told["title"] == "A page"
    found: ProgramReport = catalog()["firefox"].parse("client", made.folder / f"over-{version}")
    assert not found.complaint
    logged = made.requests(version)
    assert sorted(request.path for request in found.requests) == sorted(
        one["path"] for one in logged
    )
    assert len(logged) == pages.REQUESTS
    assert {request.http_version for request in found.requests} == {version}
    observed = {
        observation.metric: observation.value
        for observation in found.observations
        if not observation.item
    }
    assert 0 < observed["first_contentful_paint"] <= observed["largest_contentful_paint"]
    assert observed["page_time_to_first_byte"] < observed["onload_time"]
    assert "speed_index" not in observed


def test_only_bytes_that_were_counted_as_sent_are_compared(
    whole: tuple[Place, dict[str, Any]],
) -> None:
    """Firefox counts compressed headers as text, so its bytes over HTTP/2 and 3 are unknown."""
    made = whole[0]
    reports = {
        version: catalog()["firefox"].parse("client", made.folder / f"over-{version}")
        for version in VERSIONS
    }
    sent = sum(request["wire_bytes"] for request in made.requests("1.1"))
    assert sum(request.wire_bytes or 0 for request in reports["1.1"].requests) == sent
    for version in ("2", "3"):
        assert {request.wire_bytes for request in reports[version].requests} == {None}


@pytest.mark.slow
def test_every_load_has_an_end(site: Path, tmp_path: Path) -> None:
    _, told = loaded(tmp_path, site, *((name, f"/{name}.html", "2") for name in ENDINGS))
    for name, (kind, reason) in ENDINGS.items():
        assert told[name]["ended"] == kind, (name, told[name]["reason"])
        assert reason in told[name]["reason"]
    dialogs = [(one["type"], one["message"]) for one in told["dialogs"]["dialogs"]]
    assert dialogs == [("alert", "<b>&"), ("confirm", "sure?"), ("prompt", "what?")]
