"""The part of the results page on the suites: a matrix of senders and properties for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.addons.conformance.certificate import RECORD
from httpbed.programs import catalog
from httpbed.report.phrasing import listed
from markdown_table import table

TITLES = {
    "bbr": "The cases of BBR's draft, by sender",
    "bcp133": "BCP 133, by sender",
}
"""The suites, in the page's order."""
MANY = 999.5
"""Three digits would need an exponent from here on."""
OPENING = (
    "Each sender ran in virtual time; a cell is the figure of one trial. **Bold** is out of the"
    " bounds, *not seen* means that no trial shows it, and an empty cell means that the sender did"
    " not run in that network."
)
BOUNDS = {
    "bbr": "Each sender is judged by the bounds of the version of BBR that it shows.",
    "bcp133": "Rows are the criteria with a bound ([how](guides/conformance.md#bcp-133)).",
}


def section(folder: Path) -> Iterator[str]:
    """Yield a matrix for each suite, with the commands that repeat it; nothing without any."""
    files = sorted(folder.rglob("*.json"))
    tests = [json.loads(file.read_text()) | {"folder": _folder(file)} for file in files]
    for suite, title in TITLES.items():
        own = [test for test in tests if test["suite"] == suite]
        if own:
            own.sort(key=lambda one: (-len(one["findings"]), one["command"]))
            yield f"## {title}"
            yield f"{OPENING} {BOUNDS[suite]}"
            yield _matrix(own)
            yield "\n".join(_line(one) for one in own)
            yield _lacking(own)


def _folder(file: Path) -> str:
    """Return the folder of a certificate, from the page; empty for a record without one."""
    return f"../results/senders/suites/{file.parent.name}" if file.name == RECORD else ""


def _lacking(tests: Sequence[Mapping[str, Any]]) -> str:
    """Name the senders of the toolbox that did not run."""
    known = catalog.load()
    ran = {one["sender"]["implementation"] for one in tests}
    senders = {name for name, one in known.recipes.items() if {"server", "proxy"} & set(one.roles)}
    lacking = sorted(senders - ran - known.tunnel_ends())
    return f"Not run: {listed(lacking)}." if lacking else "Every sender of the toolbox ran."


def _matrix(tests: Sequence[Mapping[str, Any]]) -> str:
    bounded = [one for test in tests for one in test["findings"] if not _is_open(one)]
    properties = dict.fromkeys(_place(one) for one in bounded)
    asked = {
        place: dict.fromkeys(_asked(one) for one in bounded if _place(one) == place)
        for place in properties
    }
    has_networks = any(network for _, network in properties)
    head = ["property", *(["network"] if has_networks else []), "asked", *map(_named, tests)]
    rows = [
        [
            name,
            *([network] if has_networks else []),
            "; ".join(asked[name, network]),
            *(_cell(test, (name, network)) for test in tests),
        ]
        for name, network in properties
    ]
    passed = ["within bounds", *([""] if has_networks else []), "", *map(_within, tests)]
    return table(head, [*rows, passed])


def _place(finding: Mapping[str, Any]) -> tuple[str, str]:
    return finding["name"], finding.get("network", "")


def _is_open(finding: Mapping[str, Any]) -> bool:
    return finding["low"] is None and finding["high"] is None


def _asked(finding: Mapping[str, Any]) -> str:
    low, high, unit = finding["low"], finding["high"], finding["unit"]
    if high is None:
        return f"{_figure(low)} or more {unit}".strip()
    bounds = f"{_figure(low)} to {_figure(high)}" if low else f"at most {_figure(high)}"
    return f"{bounds} {unit}".strip()


def _figure(value: float) -> str:
    """Write a figure with three digits, a large one as a whole number."""
    return f"{value:.3g}" if abs(value) < MANY else f"{value:.0f}"


def _cell(test: Mapping[str, Any], place: tuple[str, str]) -> str:
    for one in test["findings"]:
        if _place(one) == place:
            if one["observed"] is None:
                return "*not seen*"
            text = _figure(one["observed"])
            return f"**{text}**" if one["passed"] is False else text
    return ""


def _within(test: Mapping[str, Any]) -> str:
    judged = [one for one in test["findings"] if one["passed"] is not None]
    return f"{sum(one['passed'] for one in judged)} of {len(judged)}"


def _named(test: Mapping[str, Any]) -> str:
    sender = test["sender"]
    over = "QUIC" if sender["transport"] == "quic" else "TCP"
    name = f"{sender['implementation']} {over} {sender['congestion_control']}"
    return ", ".join([name, *_knobs(test)])


def _knobs(test: Mapping[str, Any]) -> list[str]:
    """Return the knobs that the command sets."""
    words = test["command"].split()
    return [words[place + 1] for place, word in enumerate(words) if word == "--knob"]


def _line(test: Mapping[str, Any]) -> str:
    sender = test["sender"]
    of = f"{sender['implementation']} {sender['version']}"
    made = f"{of}, {sender['kernel']}, {test['date'][:10]}"
    if test["folder"]:
        made += f"; [certificate]({test['folder']}/conformance.md)"
    return f"- {_named(test)}: `{test['command']}` ({made})"
