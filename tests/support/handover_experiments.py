"""Small experiments with hand-overs: a client with two access links to a router, and a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from real_runs import SmallExperiment

WIFI, CELLULAR = "wifi", "cellular"


@dataclass(frozen=True)
class HandoverExperiment(SmallExperiment):
    """A small experiment in which a client moves from one link to the other."""

    handover: str = ""
    """Lines of the hand-over, except its links."""
    versions: tuple[str, ...] = ("2",)
    rate: str = "20 Mbit/s"
    delay: str = "10 ms"
    size: str = "500 kB"
    way: tuple[str, ...] = ("client", "router", "server")
    ip_version: str = "4"
    on_cellular: str = ""
    """Further lines of the second link."""

    def text(self) -> str:
        """Write the experiment file."""
        hosts = '[topology]\nip_version = "' + self.ip_version + '"'
        whole = super().text().replace("[topology]", hosts)
        return f'{whole}\n[handover]\nlinks = ["{WIFI}", "{CELLULAR}"]\n{self.handover}\n'

    def links(self) -> Iterator[str]:
        """Write both access links, and a fast link for each further hop."""
        for name in (WIFI, CELLULAR):
            yield f"""
[[topology.links]]
name = "{name}"
between = ["client", "router"]
rate = "{self.rate}"
delay = "{self.delay}"
queue = {{ limit = "1000 packets" }}
{self.link}
{self.on_cellular if name == CELLULAR else ""}
"""
        for ends in pairwise(self.way[1:]):
            yield f"""
[[topology.links]]
between = {json.dumps(ends)}
rate = "200 Mbit/s"
"""
