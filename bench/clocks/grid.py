"""The grid of stacks and networks on which virtual time is compared with real time."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.base.clock import Clock

CLOCKS: tuple[Clock, ...] = ("real", "virtual")
BLOCKS = 10
Cell = tuple[str, str, str, str]
"""Size, stack, loss and delay: the levels of a trial, in the order in which cells run."""


@dataclass(frozen=True)
class Stack:
    """The programs of a transfer, and what sends to the client."""

    client: str
    http_version: str
    server: str
    control: str = ""
    """The server's congestion control; empty: the program's default."""
    proxy: str = ""

    def level(self) -> str:
        """Return the level of the factor ``stack``, in TOML."""
        control = f', congestion_control = "{self.control}"' if self.control else ""
        proxies = f'proxies = [{{ implementation = "{self.proxy}" }}], ' if self.proxy else ""
        return (
            f'{{ client = {{ implementation = "{self.client}", http_version ='
            f' "{self.http_version}" }}, {proxies}server ='
            f' {{ implementation = "{self.server}"{control} }} }}'
        )


STACKS: Mapping[str, Stack] = {
    "H2 reno": Stack("curl", "2", "nginx", "reno"),
    "H2 cubic": Stack("curl", "2", "nginx", "cubic"),
    "H2 bbr": Stack("curl", "2", "nginx", "bbr"),
    "H3 nginx": Stack("curl", "3", "nginx"),
    "H3 Caddy": Stack("curl", "3", "caddy"),
    "H3 quiche": Stack("httpbed-quiche", "3", "httpbed-quiche"),
    "H3 aioquic": Stack("aioquic", "3", "aioquic"),
    "H3 Envoy": Stack("curl", "3", "nginx", proxy="envoy"),
    "H2 HAProxy": Stack("curl", "2", "nginx", proxy="haproxy"),
}
LOSSES = ("0 %", "4 %")
DELAYS = ("0 ms", "50 ms")
SIZES = ("100 kB", "1 MB", "10 MB")

LAYOUTS: Mapping[str, Sequence[str]] = {
    "direct": ("client", "server"),
    "proxied": ("client", "proxy", "server"),
}
"""Hosts in a row, by the name of the experiment. The first link has the impairments."""

_EXPERIMENT = """
schema = 1
name = "clocks-{layout}"
question = "Does virtual time give the numbers of real time?"
replicates = {blocks}
seed = 20261123
time_limit = "900 s"
roles = {{ factor = "stack" }}

[factors]
size = {sizes}
loss = {losses}
delay = {delays}

[factors.stack]
{stacks}

[topology]
hosts = {hosts}

[[topology.links]]
between = ["client", "{neighbour}"]
rate = "10 Mbit/s"
delay = {{ factor = "delay" }}
loss = {{ factor = "loss" }}
{further}
[workload]
kind = "download"
size = {{ factor = "size" }}

[report]
metric = "request_time"
"""


def experiment(layout: str) -> str:
    """Write the experiment with every cell of a layout; a run chooses among its trials."""
    hosts = list(LAYOUTS[layout])
    stacks = {name: one for name, one in STACKS.items() if layout == layout_of(name)}
    further = [f"\n[[topology.links]]\nbetween = {hosts[1:]}\n"] if hosts[2:] else []
    return _EXPERIMENT.format(
        layout=layout,
        blocks=BLOCKS,
        sizes=list(SIZES),
        losses=list(LOSSES),
        delays=list(DELAYS),
        stacks="\n".join(f'"{name}" = {one.level()}' for name, one in stacks.items()),
        hosts=hosts,
        neighbour=hosts[1],
        further="".join(further),
    )


def layout_of(stack: str) -> str:
    """Return the layout that a stack needs."""
    return "proxied" if STACKS[stack].proxy else "direct"


def cell_of(levels: Mapping[str, str]) -> Cell:
    """Return the cell of a treatment."""
    return levels["size"], levels["stack"], levels["loss"], levels["delay"]


def cells(
    sizes: Collection[str],
    stacks: Collection[str],
    losses: Collection[str],
    delays: Collection[str],
) -> Iterator[Cell]:
    """Yield the chosen cells in the order of the grid, small files first."""
    chosen = (sizes, stacks, losses, delays)
    for cell in itertools.product(SIZES, STACKS, LOSSES, DELAYS):
        if all(level in levels for level, levels in zip(cell, chosen, strict=True)):
            yield cell


def title(cell: Cell) -> str:
    """Return a cell's name for people."""
    size, stack, loss, delay = cell
    return f"{stack}, {loss}, {delay}, {size}"
