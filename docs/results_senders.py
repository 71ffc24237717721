"""The part of the results page on the studies' senders, from the tests in ``results/senders``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markdown_table import table

AT_LOSS = ("0.5 %", "4 %")
"""The conditions whose throughput the table shows: the least and the most loss of a test."""
RTT = "50 ms"
MAX_NAMES = 3


def section(folder: Path) -> Iterator[str]:
    """Yield a table of the tests, worst first; nothing without any."""
    tests = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    if not tests:
        return
    yield "## The senders"
    yield (
        "Does the congestion control of each sender behave as its name says? `httpbed conformance`"
        " tests it from packets alone ([how](guides/conformance.md)). The response to loss is what"
        " most verdicts above depend on: the throughput is given as a multiple of what the"
        " algorithm's response function allows at this loss and a round trip of 50 ms, where 0.5 to"
        " 2 is within tolerance."
    )
    head = [
        "sender",
        "over",
        "congestion control",
        "within tolerance",
        *(f"throughput at {loss}" for loss in AT_LOSS),
        "out of tolerance",
        "tested",
    ]
    yield table(head, [_row(test) for test in sorted(tests, key=_order)])


def verdicts(test: Mapping[str, Any]) -> list[bool]:
    """Return whether each property with a verdict passed."""
    return [one["passed"] for one in test["findings"] if one["passed"] is not None]


def within(test: Mapping[str, Any]) -> str:
    """Write how many properties passed, of those with a verdict."""
    judged = verdicts(test)
    return f"{sum(judged)} of {len(judged)}"


def _order(test: Mapping[str, Any]) -> tuple[Any, ...]:
    sender = test["sender"]
    return (-verdicts(test).count(False), sender["implementation"], sender["http_version"])


def _row(test: Mapping[str, Any]) -> list[str]:
    sender, findings = test["sender"], test["findings"]
    over = "QUIC" if sender["transport"] == "quic" else f"TCP, HTTP/{sender['http_version']}"
    return [
        f"{sender['implementation']} {sender['version']}".strip(),
        over,
        sender["congestion_control"],
        within(test),
        *(_throughput(findings, loss) for loss in AT_LOSS),
        _few([finding["name"] for finding in findings if finding["passed"] is False]),
        f"{test['date'][:10]}, {test['scale']}",
    ]


def _throughput(findings: Sequence[Mapping[str, Any]], loss: str) -> str:
    name = f"throughput, {loss}, {RTT}"
    seen = [finding["observed"] for finding in findings if finding["name"] == name]
    return f"{seen[0]:.2f}x" if seen and seen[0] is not None else "not seen"


def _few(names: Sequence[str]) -> str:
    if len(names) <= MAX_NAMES:
        return "; ".join(names) or "none"
    return f"{'; '.join(names[:MAX_NAMES])} and {len(names) - MAX_NAMES} more"
