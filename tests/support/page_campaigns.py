"""Campaigns of page loads: recorded loads with known figures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from campaigns import Ending, campaign
from httpbed.addons.pages import loads
from httpbed.store.results import Results

RECORDED = Path(__file__).parents[1] / "recorded" / "chromium-headless-shell-156.0.8078.79"
"""One cold load of a page over each HTTP version."""
PAGES = """
schema = 1
name = "pages"
question = "Does HTTP/3 show a page sooner than HTTP/2 when the link loses packets?"
replicates = 6
seed = 1

[report]
metric = "speed_index"

[factors]
http_version = ["1.1", "2", "3"]
loss = ["0 %", "2 %"]

[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
rate = "10 Mbit/s"
delay = "25 ms"
loss = { factor = "loss" }

[roles.client]
implementation = "chromium-headless-shell"
http_version = { factor = "http_version" }

[roles.server]
implementation = "nginx"

[workload]
kind = "page"
page = { objects = 64, size = "10 kB" }
"""
GRID = (
    PAGES.replace(
        'http_version = ["1.1", "2", "3"]',
        'http_version = ["2", "3"]\nobjects = ["2", "16", "128"]\nsize = ["100 B", "10 kB"]',
    )
    .replace(
        '{ objects = 64, size = "10 kB" }',
        '{ objects = { factor = "objects" }, size = { factor = "size" } }',
    )
    .replace('metric = "speed_index"', 'metric = "page_load_time"')
)
"""The size and the number of objects are factors."""
SECONDS = {"1.1": 6.4, "2": 3.6, "3": 3.0}

Ends = Callable[[Mapping[str, str], int], Ending]


def usual(levels: Mapping[str, str], block: int) -> Ending:
    """Return figures that differ slightly between blocks."""
    seconds = SECONDS[levels["http_version"]] * (1 + block / 100)
    seconds *= {"0 %": 1.0, "2 %": 1.4}[levels["loss"]]
    return Ending({"speed_index": seconds, "page_load_time": 1.2 * seconds})


def page_campaign(
    folder: Path,
    text: str = PAGES,
    ends: Ends = usual,
    evil: str = "",
    only: Mapping[str, object] | None = None,
) -> Results:
    """Make a campaign with recorded loads, of all trials or of the rows that match ``only``.

    ``evil`` becomes the title, reason, dialog, note and URL of every load.
    """
    results = campaign(ends, text, folder)
    for row in results.trials.to_pylist():
        if (only or {}).items() <= row.items():
            _leave(loads.folder(results, row), row["http_version"], evil)
    return results


def _leave(into: Path, version: str, evil: str) -> None:
    shutil.copytree(RECORDED / f"h{version[0]}", into)
    if evil:
        told = json.loads((into / "load.json").read_text())
        told |= {"title": evil, "reason": evil, "url": f"https://server.httpbed.test/{evil}"}
        told["dialogs"] = [{"type": "alert", "message": evil}]
        (into / "load.json").write_text(json.dumps(told))
        events = (into / "cdp.jsonl").read_text()
        quoted = json.dumps(evil)[1:-1]
        (into / "cdp.jsonl").write_text(events.replace("app.js", f"{quoted}.js"))
