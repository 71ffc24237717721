"""The experiment of a capacity test: a page that keeps a browser busy.

The link is fast, so that loads compete for processors only. Speed Index suffers first, because the
browser decodes and paints 40 images.
"""

from __future__ import annotations

import json

SEED = 20261122
FACTOR = "http_version"
VERSIONS = ("2", "3")
TIME_LIMIT_S = 60
LEAST_LOADS = 3
"""Loads of each HTTP version that a comparison needs."""


def text(browser: str, blocks: int) -> str:
    """Return the experiment; each block loads the page once in each HTTP version."""
    return f"""\
schema = 1
name = "capacity"
question = "How many loads side by side leave each other undisturbed?"
replicates = {blocks}
seed = {SEED}
time_limit = "{TIME_LIMIT_S} s"

[factors]
{FACTOR} = {json.dumps(VERSIONS)}

[topology]
hosts = ["client", "server"]

[[topology.links]]
between = ["client", "server"]
rate = "20 Mbit/s"
delay = "20 ms"

[roles.client]
implementation = {json.dumps(browser)}
http_version = {{ factor = "{FACTOR}" }}

[roles.server]
implementation = "nginx"

[workload]
kind = "page"
page = {{ objects = 40, size = "25 kB" }}

[report]
metric = "speed_index"
"""
