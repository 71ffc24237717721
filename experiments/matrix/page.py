"""Writes the page of the matrix of stacks, ``results/matrix``, from its campaign.

    python experiments/matrix/page.py CAMPAIGN   # which ran with --keep packets
    python experiments/matrix/page.py            # the pages again, from what is kept

``cells.jsonl`` has a line per cell: its levels, its median, its ratio to the base of its network,
why trials failed, what the time was spent on, and the command that runs the cell again.
``index.html`` is one file that a reader filters; ``README.md`` has the same ratios as tables.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from jinja2 import (  # the package's own templates lie inside of it
    Environment,  # noqa: TID251
    FileSystemLoader,
    StrictUndefined,
)

from httpbed.base.errors import visible_lines
from httpbed.cli.report import read_stated
from httpbed.results.sample import Sample, samples
from httpbed.store import query
from httpbed.store.results import Results

HERE = Path(__file__).parent
FILE = HERE / "matrix.toml"
STATED = read_stated(FILE)
PAGES = HERE.parents[1] / "results/matrix"
CELLS = PAGES / "cells.jsonl"
METRIC = "request_time"
NEAR = 0.1
"""Relative difference to the base up to which a cell counts as equal; a reader's threshold."""
TIME_LIMIT_S = 3600
AXES = ("network", "http_version", "client", "server")
Cell = Mapping[str, Any]


def main(words: Sequence[str]) -> int:
    """Keep a campaign's cells, if one is given, and write the pages."""
    if words:
        found = cells(Path(words[0]))
        PAGES.mkdir(parents=True, exist_ok=True)
        CELLS.write_text("".join(f"{json.dumps(cell)}\n" for cell in found))
    kept = [json.loads(line) for line in CELLS.read_text().splitlines()]
    (PAGES / "README.md").write_text("\n\n".join(markdown(kept)) + "\n")
    (PAGES / "index.html").write_text(html(kept))
    return 0


def cells(campaign: Path) -> list[dict[str, Any]]:
    """Return a campaign's cells in the order of its factors."""
    results = query.read(campaign)
    times = samples(results, METRIC)
    base = results.experiment.report.base
    denominators = {
        sample.levels["network"]: sample.observed
        for sample in times.values()
        if base.items() <= sample.levels.items()
    }
    sentences = explained(campaign)
    return [
        {
            "levels": dict(sample.levels),
            **_measured(sample, denominators[sample.levels["network"]]),
            "failed": {reason: count for (_, reason), count in sample.tally.reasons.items()},
            "explained": sentences.get(key(sample.levels), ""),
            "command": command(results, sample.levels),
        }
        for sample in times.values()
    ]


def key(levels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the name of a cell."""
    return tuple(level for _, level in sorted(levels.items()))


def _measured(sample: Sample, base: Mapping[int, float]) -> dict[str, Any]:
    """Return a cell's median in s, and the median over blocks of its ratio to the base."""
    times = sample.observed
    ratios = [value / base[block] for block, value in times.items() if block in base]
    return {
        "n": len(times),
        "median_s": round(median(times.values()), 4) if times else None,
        "ratio": round(median(ratios), 4) if ratios else None,
    }


def explained(campaign: Path) -> dict[tuple[str, ...], str]:
    """Return what ``httpbed explain`` says of each cell's typical trial."""
    line = ["httpbed", "explain", str(campaign), "--no-run", "--format", "json"]
    ran = subprocess.run(line, stdout=subprocess.PIPE, check=True, timeout=TIME_LIMIT_S)
    return {key(one["levels"]): one["sentence"] for one in json.loads(ran.stdout)["explained"]}


def command(results: Results, levels: Mapping[str, str]) -> str:
    """Return the line that runs a cell again; of a rate that varies, the line of the whole file."""
    factors = results.document["factors"]
    link, server = factors["network"][levels["network"]], factors["server"][levels["server"]]
    if isinstance(link["rate"], Mapping):
        return "httpbed run experiments/matrix/matrix.toml --clock virtual"
    client = f"{levels['client']}:h{levels['http_version'][0]}"
    options = {
        "--server": server["implementation"],
        "--cc": server.get("congestion_control"),
        "--rate": link["rate"].removesuffix("/s"),
        "--delay": link["delay"],
        "--queue": link["queue"]["limit"],
        "--loss": link.get("loss"),
        "--size": results.document["workload"]["size"],
        "--clock": "virtual",
    }
    given = (f"{name} {value.replace(' ', '')}" for name, value in options.items() if value)
    return " ".join(["httpbed compare", client, *given])


def markdown(kept: Sequence[Cell]) -> Iterator[str]:
    """Yield the page's paragraphs: the answer, then a table per network and HTTP version."""
    yield "# The matrix of stacks"
    yield f"{introduction()} {further()}"
    yield summary(kept)
    yield slowest_by_server(kept)
    for network in levels_of("network", kept):
        yield f"## {network}"
        for version in levels_of("http_version", kept):
            yield f"HTTP/{version}"
            yield "\n".join(table(network, version, kept))
    yield "\n".join(failing(kept))


def introduction() -> str:
    """Return what the ratios are, from the experiment file."""
    base = STATED.report.base
    return (
        f"{STATED.question} Each number is a request time over that of"
        f" {base['client']} from {base['server']} over HTTP/{base['http_version']} in the same"
        " network (5 MB, virtual time, so computing takes none): 0.50 is twice as fast, 2.00"
        " half as fast."
    )


def further() -> str:
    """Return where the rest is."""
    return (
        "[One filterable page](index.html) has each cell's median, what its time was spent on, and"
        " the command that runs it again; [the file](../../experiments/matrix/matrix.toml) has the"
        " networks, and the archive `results/virtual/matrix/matrix` the tables. Written by"
        " `python experiments/matrix/page.py`."
    )


def summary(kept: Sequence[Cell]) -> str:
    """Return one sentence on all cells."""
    ratios = [cell["ratio"] for cell in kept if cell["ratio"] is not None]
    near = sum(abs(ratio - 1) <= NEAR for ratio in ratios)
    slow = sum(ratio > 1 + NEAR for ratio in ratios)
    blocks = sorted({cell["n"] for cell in kept if cell["n"]})
    return (
        f"{len(ratios)} of {len(kept)} cells have a time (n = {'-'.join(map(str, blocks))});"
        f" {near} of them are within {NEAR * 100:.0f} % of the base, {slow} slower, and"
        f" {len(ratios) - near - slow} faster."
    )


def slowest_by_server(kept: Sequence[Cell]) -> str:
    """Return a table of the servers over HTTP/3."""
    lines = [
        f"| {server} | {'' if middle is None else f'{middle:.2f}'} | {worst} |"
        for server in levels_of("server", kept)
        for middle, worst in [_of_server(server, kept)]
        if worst
    ]
    head = ["| server, HTTP/3 | median of its cells | its slowest cell |", "| --- | --- | --- |"]
    return "\n".join([*head, *lines])


def _of_server(server: str, kept: Sequence[Cell]) -> tuple[float | None, str]:
    """Return the median ratio of a server's cells over HTTP/3, and its slowest in words."""
    own = [
        cell
        for cell in kept
        if cell["levels"]["server"] == server
        and cell["levels"]["http_version"] == "3"
        and cell["ratio"] is not None
    ]
    if not own:
        return None, ""
    slowest = max(own, key=lambda cell: cell["ratio"])
    levels = slowest["levels"]
    return median(cell["ratio"] for cell in own), (
        f"{slowest['ratio']:.2f} ({levels['client']}, {levels['network']})"
    )


def levels_of(factor: str, kept: Sequence[Cell]) -> list[str]:
    """Return a factor's levels in the order of the file."""
    present = {cell["levels"][factor] for cell in kept}
    return [str(level) for level in STATED.factors[factor] if str(level) in present]


def table(network: str, version: str, kept: Sequence[Cell]) -> Iterator[str]:
    """Yield the lines of one table: clients in rows, servers in columns."""
    where = {"network": network, "http_version": version}
    own = [cell for cell in kept if where.items() <= cell["levels"].items()]
    clients, servers = levels_of("client", own), levels_of("server", own)
    texts = {(cell["levels"]["client"], cell["levels"]["server"]): text(cell) for cell in own}
    yield f"| client | {' | '.join(servers)} |"
    yield f"|{' --- |' * (len(servers) + 1)}"
    for client in clients:
        yield f"| {client} | {' | '.join(texts.get((client, server), '') for server in servers)} |"


def text(cell: Cell) -> str:
    """Return a cell as a table shows it."""
    if cell["ratio"] is None:
        return "failed" if cell["failed"] else "-"
    return f"{cell['ratio']:.2f}" + (" (some failed)" if cell["failed"] else "")


def failing(kept: Sequence[Cell]) -> Iterator[str]:
    """Yield the cells with failed trials, by client, server and reason."""
    counts = Counter[tuple[str, str, str, str]]()
    for cell in kept:
        levels = cell["levels"]
        for reason, count in cell["failed"].items():
            pair = (levels["client"], levels["server"], levels["http_version"])
            counts[(*pair, reason.partition(";")[0])] += count
    yield "## Trials that failed"
    yield ""
    if not counts:
        yield "None."
        return
    yield "| client | server | HTTP | trials | reason |"
    yield "| --- | --- | --- | --- | --- |"
    for (client, server, version, reason), count in sorted(counts.items()):
        yield f"| {client} | {server} | {version} | {count} | {reason.replace('|', '/')} |"


def html(kept: Sequence[Cell]) -> str:
    """Return the page that a reader filters, as one file without any other."""
    pages = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pages.filters["shade"] = shade
    page = pages.get_template("page.html").render(
        introduction=introduction(),
        answer=summary(kept),
        networks=levels_of("network", kept),
        versions=levels_of("http_version", kept),
        clients=levels_of("client", kept),
        servers=levels_of("server", kept),
        cells={tuple(cell["levels"][name] for name in AXES): cell for cell in kept},
        text=text,
    )
    return visible_lines(page)


def shade(cell: Cell) -> str:
    """Return a cell's colour: blue if faster than the base, red if slower, full at a factor 4.

    Cells with one printed ratio have one colour, so 1.00 has none.
    """
    if cell["ratio"] is None:
        return "#ddd"
    ratio = round(cell["ratio"], 2)
    if ratio == 1:
        return "#f4f4f2"
    strength = min(1.0, abs(math.log(ratio)) / math.log(4))
    hue = 8 if ratio > 1 else 212
    return f"hsl({hue} 80% {97 - 32 * strength:.0f}%)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
