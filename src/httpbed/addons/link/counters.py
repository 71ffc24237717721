"""The counters of a link as a small table, from the emulator's result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.addons.link.options import FAR
from httpbed.base import units
from httpbed.experiment.impairments.registry import CAUSES, COUNTERS

_ODD = {
    "malformed_packets": "malformed packets",
    "stray_frames": "stray frames",
    "oversize_frames": "oversize frames",
}

Row = tuple[str, str, str]


def table(result: Mapping[str, Any]) -> str:
    """Write the counters as a table with a column for each direction."""
    ways = sorted(result["directions"], key=lambda way: way["to"] != FAR)
    rows = [("httpbed link", "up", "down"), *_rows(ways)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        f"{name:<{widths[0]}}  {up:>{widths[1]}}  {down:>{widths[2]}}" for name, up, down in rows
    ]
    return "\n".join([*lines, *_oddities(result), _emulator(result)])


def _oddities(result: Mapping[str, Any]) -> Iterator[str]:
    """Report frames that were no proper packets of the link, if there were any."""
    odd = ", ".join(f"{result[key]} {words}" for key, words in _ODD.items() if result.get(key))
    if odd:
        yield f"  odd: {odd}"


def _rows(ways: list[Mapping[str, Any]]) -> Iterator[Row]:
    yield _row("sent", [_amount(way, "in") for way in ways])
    yield _row("delivered", [_amount(way, "delivered") for way in ways])
    for cause in CAUSES:
        key = cause.counter
        if key == "lost" or any(way["packets"].get(key) for way in ways):
            yield _row(cause.words, [_share(way, key) for way in ways])
    for key in COUNTERS:
        counts = [way.get(key, way["packets"].get(key, 0)) for way in ways]
        if any(counts):
            yield _row(key, [f"{count}" for count in counts])
    if any(way["packets"]["in_flight"] for way in ways):
        yield _row("on the way", [f"{way['packets']['in_flight']}" for way in ways])
    if any(way["utilisation"] is not None for way in ways):
        yield _row("largest queue", [f"{way['queue_packets_max']} packets" for way in ways])
        yield _row("utilisation", [_percent(way["utilisation"]) for way in ways])


def _row(name: str, cells: list[str]) -> Row:
    return f"  {name}", cells[0], cells[1]


def _amount(way: Mapping[str, Any], fate: str) -> str:
    size = units.format_size(way["bytes"][fate], units.SHORT_DIGITS)
    return f"{way['packets'][fate]} packets, {size}"


def _share(way: Mapping[str, Any], cause: str) -> str:
    count, sent = way["packets"].get(cause, 0), way["packets"]["in"]
    return f"{count} ({_percent(count / sent)})" if count and sent else f"{count}"


def _percent(share: float | None) -> str:
    return "unlimited" if share is None else f"{share * 100:.2f} %"


def _emulator(result: Mapping[str, Any]) -> str:
    late = result["lateness_ns"]
    if not late["count"]:
        return "  emulator saw no packet"
    quantiles = ", ".join(f"{name} {late[name] / 1e3:.0f} us" for name in ("p50", "p99", "max"))
    overrun = result["socket_drops"] + result["send_failures"]
    warned = f"; {overrun} packets were beyond this machine: the counters miss them"
    return f"  emulator late: {quantiles}{warned if overrun else ''}"
