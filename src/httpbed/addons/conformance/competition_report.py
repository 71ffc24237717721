"""The result of a competition: each sender's share of the bottleneck, by queue length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from rich.table import Table
from rich.text import Text

from httpbed.addons.conformance.competition import ONE_WAY_S, RATE_BIT_S, Competition, level
from httpbed.addons.conformance.split import Split
from httpbed.base import units
from httpbed.report.terminal import Console

KEY_WIDTH = 10


def show(competition: Competition, out: Console) -> None:
    """Print a line for each length of the queue, with the medians of its trials."""
    link = f"{units.format_rate(RATE_BIT_S)}, {units.format_duration(2 * ONE_WAY_S)} round trip"
    out.print(Text(f"{'bottleneck':<{KEY_WIDTH}}  {link}, droptail"))
    out.print()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("queue")
    for name in competition.flows:
        table.add_column(name, justify="right")
    for name in ("Jain", "queue delay p50", "p95", "used", "n"):
        table.add_column(name, justify="right")
    for queue in competition.queues_bdp():
        table.add_row(*map(Text, _cells(queue, competition)))
    out.print(table)
    out.print()
    for reason in competition.unreadable:
        out.print(Text(f"{'note':<{KEY_WIDTH}}  not read: {reason}"), soft_wrap=True)


def _cells(queue: float, competition: Competition) -> list[str]:
    trials = competition.of(queue)
    shares = [
        units.format_share(round(_of(trials, lambda one, name=name: one.shares[name]), 3))  # type: ignore[misc]
        for name in competition.flows
    ]
    return [
        level(queue),
        *shares,
        f"{_of(trials, lambda one: one.jain):.2f}",
        _delay(trials, "p50"),
        _delay(trials, "p95"),
        units.format_share(round(_of(trials, lambda one: one.utilisation), 3)),
        str(len(trials)),
    ]


def _delay(trials: Sequence[Split], quantile: str) -> str:
    seconds = _of(trials, lambda one: one.queue_delay_s.get(quantile, 0.0))
    return units.format_duration(seconds, units.SHORT_DIGITS)


def _of(trials: Sequence[Split], figure: Callable[[Split], float]) -> float:
    return median(map(figure, trials))
