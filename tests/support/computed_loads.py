"""Loads of pages over a computed link: what their packets show of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from httpbed.addons.explain.explanation import Place
from httpbed.addons.explain.page_division import ExplainedLoad, PagePackets
from httpbed.addons.explain.transfer import Transfer
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import critical_path_report
from httpbed.experiment.scenario import Scenario
from httpbed.programs import catalog as catalogs
from window_sender import DELAY, MS, RATE

CATALOG = catalogs.load()
CONNECTION = "7"
"""The browser's name of the computed connection."""
LINK = {
    "between": ["client", "server"],
    "rate": f"{RATE // 10**6} Mbit/s",
    "delay": f"{DELAY // MS} ms",
}


def scenario(buffer: str = "14k", version: str = "3") -> Scenario:
    """Return a page load from nginx over the link of a computed sender."""
    client = {"implementation": "chromium-headless-shell", "http_version": version}
    knobs = {"http3_stream_buffer_size": buffer}
    return Scenario.model_validate(
        {
            "topology": {"hosts": ["client", "server"], "links": [LINK]},
            "roles": {"client": client, "server": {"implementation": "nginx", "knobs": knobs}},
            "workload": {"kind": "page", "page": {"objects": 1, "size": "1 MB"}},
        }
    )


def divided(
    transfers: Mapping[str, Transfer],
    load: BrowserLoad,
    described: Scenario,
    metric: str = "page_load_time",
    zero: int = 0,
) -> ExplainedLoad:
    """Divide a load by the packets of its connections, by the browser's names of them."""
    trial = PageTrial(1, "t", 1, {}, "completed", load)
    path = critical_path_report.of_load(trial, described, metric)
    assert path is not None
    known = {name: replace(one, has_small_answers=True) for name, one in transfers.items()}
    return PagePackets(known, zero, described, CATALOG).explained(Place(1, "t", {}, 1), path)
