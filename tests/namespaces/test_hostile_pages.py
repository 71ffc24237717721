"""Hostile scripts in a real browser: every load has an end, and the page writes no number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import hostile_pages
from browsing import CLIENT, SHELL, Setting, catalog, lines, place
from hostile_pages import file_name
from httpbed.programs.part import ProgramReport

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

LIMIT_S = 30.0
LOOP_S = 6.0
MAX_ARTIFACT_BYTES = 48 * 2**20
ENDINGS = {
    "loop": {"time limit"},
    "away": {"left"},
    "late away": {"left"},
    "save": {"download"},
    "title": {"loaded", "time limit"},
    "data URLs": {"loaded", "time limit"},
    "requests": {"loaded", "time limit"},
    "long URLs": {"loaded", "time limit"},
}
"""How loads of attacks may end; others are loaded."""
PAINTS = ("first_contentful_paint", "largest_contentful_paint", "speed_index")
WHOLE = ("plain", "early marks", "late marks", "overrides", "dialogs", "before unload")
"""Attacks that cost a load none of its metrics."""
CLOSE_S = 5.0
"""Between metrics of one load that a script cannot drive apart; a busy machine can, somewhat."""
IN_CI = ("plain", "early marks", "overrides", "reach")


def nightly(attacks: Iterable[str]) -> list[Any]:
    """Return the attacks, all but those of CI as slow tests."""
    return [
        attack if attack in IN_CI else pytest.param(attack, marks=pytest.mark.slow)
        for attack in attacks
    ]


class Loads:
    """Loads of attacks, each made when it is asked for: what the driver and the parser say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._site = hostile_pages.write(folder / "site")
        self._told: dict[str, dict[str, Any]] = {}

    def told(self, attack: str) -> dict[str, Any]:
        """Load the attack's page, once."""
        if attack not in self._told:
            self._told[attack] = asyncio.run(self._load(attack))
        return self._told[attack]

    async def _load(self, attack: str) -> dict[str, Any]:
        name = file_name(attack)
        setting = Setting(self._site, [name], rate="100 Mbit/s", delay="1 ms")
        limit_s = LOOP_S if attack == "loop" else LIMIT_S
        async with place(self.folder / name, setting) as bed:
            return await bed.load(name, bed.driver(name, f"/{name}.html", limit_s=limit_s))

    def artifacts(self, attack: str) -> Path:
        """Return the folder that a load left."""
        self.told(attack)
        return self.folder / file_name(attack) / "trial" / file_name(attack)

    def report(self, attack: str) -> ProgramReport:
        """Read what a load left, as a trial does."""
        return catalog()[SHELL].parse("client", self.artifacts(attack))

    def metrics(self, attack: str) -> dict[str, float]:
        return {
            observation.metric: observation.value
            for observation in self.report(attack).observations
        }


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> Loads:
    return Loads(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("attack", nightly(hostile_pages.SCRIPTS))
def test_every_attack_ends_with_a_load_that_can_be_read(loads: Loads, attack: str) -> None:
    """The driver survives, and what it leaves is bounded."""
    told = loads.told(attack)
    assert told["ended"] in ENDINGS.get(attack, {"loaded"}), told["reason"]
    report = loads.report(attack)
    assert report.complaint or (told["ended"] == "loaded" and not told["truncated"])
    left = loads.artifacts(attack).rglob("*")
    assert sum(path.stat().st_size for path in left) < MAX_ARTIFACT_BYTES


@pytest.mark.parametrize("attack", nightly(WHOLE))
def test_a_script_forges_no_time(loads: Loads, attack: str) -> None:
    """Marks of a script's own and its overrides move no metric, neither back nor ahead."""
    metrics = loads.metrics(attack)
    assert metrics.keys() == loads.metrics("plain").keys()
    # No paint is before the response's first byte, and none long after the load.
    for paint in PAINTS:
        assert metrics["page_time_to_first_byte"] < metrics[paint], paint
        assert metrics[paint] < metrics["onload_time"] + CLOSE_S, paint


def test_the_attack_by_marks_is_real(loads: Loads) -> None:
    """A script's mark stands in the trace, with the navigation's own identifier."""
    trace = lines(loads.artifacts("early marks") / "trace.jsonl")
    paints = [event for event in trace if event["name"] == "firstContentfulPaint"]
    assert len(paints) == 2
    assert len({paint["args"]["data"]["navigationId"] for paint in paints}) == 1


def test_a_page_reaches_nothing_but_its_own_site(loads: Loads) -> None:
    """Neither this machine's ports and files, nor the browser's own pages, nor its debugger."""
    assert loads.told("reach")["title"] in {"reached: ", "reached:", "A page"}
    events = lines(loads.artifacts("reach") / "cdp.jsonl")
    answered = [
        event["params"]["response"]["url"]
        for event in events
        if event.get("method") == "Network.responseReceived"
    ]
    assert answered == ["https://server.httpbed.test/reach.html"]
    words = json.dumps(loads.told("reach")["arguments"])
    assert "--remote-debugging-pipe" in words
    assert "--remote-debugging-port" not in words
    assert CLIENT == "client"
