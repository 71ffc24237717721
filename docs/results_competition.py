"""The page of the competition: senders beside each other on one bottleneck, from its archive.

The page is ``results/matrix/competition.md``. Without a published archive there is none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from httpbed.report.phrasing import listed
from httpbed.results.sample import Sample, samples
from httpbed.store import query
from httpbed.store.layout import EXPERIMENT
from httpbed.store.results import Results
from markdown_table import table

ARCHIVE, PAGE = "virtual/matrix/competition", "matrix/competition.md"
"""Places below ``results/``."""
CELL = "python experiments/matrix/cell.py SENDER BESIDE > cell.toml"
LARGE = 0.6
"""Shares of at least this, in bold; a reader's threshold."""
FAR = 0.1
"""Difference of a share and its mirror from 1 that is worth telling; a reader's threshold."""
Pair = tuple[str, str]
Values = Mapping[Pair, float]


def section(published: Path) -> Iterator[str]:
    """Yield the part of the results page: the answer, and a link; nothing without an archive."""
    if (results := _read(published)) is not None:
        yield "## Competition"
        yield f"{results.experiment.question} {answer(_values(results, 'share'))}"
        yield f"[Shares and queue delays of every pair](../results/{PAGE})."


def write(published: Path) -> None:
    """Write the page, if there is an archive."""
    if (results := _read(published)) is not None:
        (published / PAGE).write_text("\n\n".join(page(results)) + "\n")


def page(results: Results) -> Iterator[str]:
    """Yield the paragraphs of the page."""
    shares, delays = _values(results, "share"), _values(results, "queue_delay_p50")
    network, workload = results.document["topology"]["links"][0], results.document["workload"]
    yield "# Senders beside each other"
    yield (
        f"{results.experiment.question} Both send over one link of {network['rate']} with"
        f" {network['delay']} each way and a queue of {network['queue']['limit']}, in virtual time."
        f" The sender's transfer has {workload['size']}, the other's is longer. A share is that of"
        " all bytes delivered while both were active. Written by `make docs` from"
        f" [the archive](../{ARCHIVE}/report.html); [the file](../../experiments/matrix/"
        f"competition.toml) has the senders.{_lacking(results, shares)}"
    )
    yield answer(shares)
    yield by_sender(shares, delays)
    yield "## Share of the sender"
    yield f"Rows are the sender, columns what is beside it; **bold** is {LARGE:.0%} or more."
    yield matrix(shares, _share)
    yield "## Median queue delay"
    yield "In ms, of the packets on the shared link while the sender's transfer lasts."
    yield matrix(delays, lambda delay_s: f"{delay_s * 1000:.0f}")
    yield "## One cell again"
    yield (
        "A cell has the same seed alone as in the whole file, so in virtual time and with the same"
        " versions of the programs it gives the same share:"
    )
    yield f"```sh\n{CELL}\nhttpbed run cell.toml --clock virtual\n```"
    yield "\n".join(failing(results))


def _lacking(results: Results, shares: Values) -> str:
    """Name the senders of the file that have not run; empty if all have."""
    stated = tomllib.loads((results.directory / EXPERIMENT).read_text())  # with every scale
    senders, ran = stated["factors"]["sender"], {sender for sender, _ in shares}
    lacking = [name for name in senders if name not in ran]
    if not lacking:
        return ""
    return f" Of its {len(senders)} senders, {len(lacking)} have not run: {listed(lacking)}."


def answer(shares: Values) -> str:
    """Return who takes how much in one sentence, and whether the places of a pair matter."""
    others = {pair: share for pair, share in shares.items() if pair[0] != pair[1]}
    if not others:
        return "No pair of different senders has a share."
    most, least = max(others, key=others.__getitem__), min(others, key=others.__getitem__)
    sums = {
        frozenset(pair): share + others[pair[::-1]]
        for pair, share in others.items()
        if pair[::-1] in others
    }
    unequal = sum(abs(total - 1) > FAR for total in sums.values())
    large = sum(_is_large(share) for share in others.values())
    return (
        f"Of {len(others)} cells with two senders, {large} give the sender {LARGE:.0%} or more:"
        f" most {most[0]} beside {most[1]} ({others[most]:.2f}), least {least[0]} beside"
        f" {least[1]} ({others[least]:.2f}). A share and that with the places exchanged add up to 1"
        f" within {FAR:g} in {len(sums) - unequal} of {len(sums)} pairs."
    )


def by_sender(shares: Values, delays: Values) -> str:
    """Return a table of the senders, the largest median share first."""
    rows = []
    for sender in dict.fromkeys(sender for sender, _ in shares):
        own = {b: share for (a, b), share in shares.items() if a == sender != b}
        if not own:
            continue
        waits = [delay * 1000 for (a, b), delay in delays.items() if a == sender != b]
        most, least = max(own, key=own.__getitem__), min(own, key=own.__getitem__)
        middle = median(own.values())
        ends = [f"{own[one]:.2f} ({one})" for one in (most, least)]
        delay = f"{min(waits):.0f} to {max(waits):.0f}" if waits else ""
        rows.append((middle, [sender, f"{middle:.2f}", *ends, delay, str(len(own))]))
    head = ["sender", "median share", "most, beside", "least, beside", "queue delay in ms", "n"]
    return table(head, [row for _, row in sorted(rows, key=lambda one: -one[0])])


def matrix(values: Values, text: Callable[[float], str]) -> str:
    """Return a table with the senders in rows and what is beside them in columns."""
    senders, besides = (list(dict.fromkeys(pair[at] for pair in values)) for at in (0, 1))
    rows = [
        [
            sender,
            *(text(values[sender, one]) if (sender, one) in values else "" for one in besides),
        ]
        for sender in senders
    ]
    return table(["", *besides], rows)


def failing(results: Results) -> Iterator[str]:
    """Yield the lines that name the pairs without a share, with the reason."""
    rows = [
        [*_pair(sample), "; ".join(reason for _, reason in sample.tally.reasons) or "no share"]
        for sample in _ended(results, "share")
        if not sample.observed
    ]
    yield "## Cells without a share"
    yield ""
    yield table(["sender", "beside", "reason"], rows) if rows else "None."


def _is_large(share: float) -> bool:
    """Whether a share is large as it is printed."""
    return round(share, 2) >= LARGE


def _share(share: float) -> str:
    return f"**{share:.2f}**" if _is_large(share) else f"{share:.2f}"


def _values(results: Results, metric: str) -> dict[Pair, float]:
    """Return the median over blocks of each pair that has a value, in the file's order."""
    ended = _ended(results, metric)
    return {_pair(one): median(one.observed.values()) for one in ended if one.observed}


def _ended(results: Results, metric: str) -> Sequence[Sample]:
    return [sample for sample in samples(results, metric).values() if sample.tally.ended]


def _pair(sample: Sample) -> Pair:
    levels: Mapping[str, Any] = sample.levels
    return levels["sender"], levels["beside"]


def _read(published: Path) -> Results | None:
    folder = published / ARCHIVE
    return query.read(folder) if (folder / "manifest.json").exists() else None
