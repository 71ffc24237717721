"""A replayed site, loaded by a real browser from a real server over an emulated link."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hars import Said, har
from httpbed.campaign import campaign_setup, preparation
from httpbed.programs import catalog as catalogs
from real_runs import Stage

EXPERIMENT = """
schema = 1
name = "replayed"
question = "Is the site as it was recorded?"
replicates = 1
seed = 3
time_limit = "{time_limit}"
clock = "{clock}"

[factors]
http_version = {versions}

[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
rate = "{rate}"
delay = "{delay}"
queue = {{ limit = "1000 packets" }}

[roles.client]
implementation = "chromium-headless-shell"
http_version = {{ factor = "http_version" }}

[roles.server]
implementation = "{server}"

[workload]
kind = "page"
page = {{ har = "site.har" }}
{more}
"""


DEFAULTS = {
    "versions": '["1.1", "2", "3"]',
    "server": "nginx",
    "time_limit": "30 s",
    "clock": "real",
    "rate": "20 Mbit/s",
    "delay": "10 ms",
    "more": "",
}


def experiment(**settings: str) -> str:
    """Return the file of an experiment that loads the site ``site.har`` beside it."""
    return EXPERIMENT.format(**DEFAULTS | settings)


def stage(folder: Path, entries: Iterable[Said | dict[str, Any]], **settings: str) -> Stage:
    """Make a replayed site of some entries, and prepare its experiment."""
    (folder / "site.har").write_text(har(entries))
    catalog = catalogs.load()
    loaded = preparation.load(experiment(**settings), catalog, folder)
    setup = campaign_setup.make_setup(loaded, catalog, say=lambda _: None)
    return Stage(loaded, setup)
