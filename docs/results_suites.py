"""The part of the results page on the suites: a matrix of senders and properties for each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.addons.conformance.bcp133 import TITLES as KERNELS
from httpbed.addons.conformance.certificate import RECORD
from httpbed.programs import catalog
from httpbed.programs.recipe import Recipe
from httpbed.report.phrasing import listed
from markdown_table import table

TITLES = {
    "bbr": "The cases of BBR's draft, by sender",
    "bcp133": "BCP 133, by sender",
    "envelope": "Envelopes, by sender",
}
"""The suites, in the page's order."""
MANY = 999.5
"""Three digits would need an exponent from here on."""
OPENING = "Each sender ran in virtual time; a cell is the figure of one trial."
CELLS = (
    "**Bold** is out of the bounds, *not seen* means that no trial shows it, and an empty cell"
    " means that the sender did not run in that network."
)
MEANINGS = {
    "bbr": f"{CELLS} Each sender is judged by the bounds of the version of BBR that it shows.",
    "bcp133": f"{CELLS} Rows are the criteria with a bound ([how](guides/conformance.md#bcp-133)).",
    "envelope": "Each row compares the delay and throughput of a sender beside a flow of the kernel"
    " with those of the kernel's sender in its place ([how](guides/conformance.md#envelopes))."
    " Conformance is the share of both envelopes' points that lie in the other; conformance-T is"
    " that after the best move, and the last two figures are the move. Where the kernel's sender is"
    " beside its own kind, the figures are the control: they compare the two flows of one trial.",
}
UNITS = {"of 1": "", "ms": " ms", "Mbit/s": " Mbit/s"}


def section(folder: Path) -> Iterator[str]:
    """Yield a matrix for each suite, with the commands that repeat it; nothing without any."""
    files = sorted(folder.rglob("*.json"))
    tests = [json.loads(file.read_text()) | {"folder": _folder(file)} for file in files]
    for suite, title in TITLES.items():
        own = [test for test in tests if test["suite"] == suite]
        if own:
            own.sort(key=lambda one: (-len(one["findings"]), one["command"]))
            yield f"## {title}"
            yield f"{OPENING} {MEANINGS[suite]}"
            yield _envelopes(own) if suite == "envelope" else _matrix(own)
            yield "\n".join(_line(one) for one in own)
            yield _lacking(suite, own)


def _folder(file: Path) -> str:
    """Return the folder of a certificate, from the page; empty for a record without one."""
    return f"../results/senders/suites/{file.parent.name}" if file.name == RECORD else ""


def _lacking(suite: str, tests: Sequence[Mapping[str, Any]]) -> str:
    """Name the servers of the toolbox that could run and did not, as far as its suite asks them."""
    known = catalog.load()
    ran = {one["sender"]["implementation"] for one in tests}
    senders = {name: one for name, one in known.recipes.items() if "server" in one.roles}
    asked = {name for name, one in senders.items() if suite != "bbr" or _has_bbr(one)}
    lacking = sorted(asked - ran - known.tunnel_ends())
    return f"Not run: {listed(lacking)}." if lacking else "Every server of the toolbox ran."


def _has_bbr(recipe: Recipe) -> bool:
    """Tell whether it has a BBR of its own; that of the kernel is the same under every server."""
    return any("bbr" in name for name in recipe.congestion_control.allowed("quic"))


def _envelopes(tests: Sequence[Mapping[str, Any]]) -> str:
    """Return a row for each sender, the kernel's first, with the figures of each network."""
    findings = [finding for test in tests for finding in test["findings"]]
    places = dict.fromkeys((one["network"], one["name"], one["unit"]) for one in findings)
    kernels = dict.fromkeys(name for one in findings for name in one["references"])
    head = ["sender", *(f"{network}: {name.split(': ')[1]}" for network, name, _ in places)]
    rows = [
        [f"the kernel's {KERNELS[kernel]}", *_row(tests[0], places, kernel)] for kernel in kernels
    ] + [[_named(test), *_row(test, places)] for test in tests]
    return table(head, rows)


def _row(
    test: Mapping[str, Any], places: Iterable[tuple[str, str, str]], kernel: str = ""
) -> Iterator[str]:
    """Yield the figures of a sender, or of a kernel in its place."""
    seen = {(one["network"], one["name"]): one for one in test["findings"]}
    for network, name, unit in places:
        one = seen.get((network, name), {"observed": None, "references": {}})
        value = one["references"].get(kernel) if kernel else one["observed"]
        # Adding zero turns a rounded -0.0 into 0.
        yield "*not seen*" if value is None else f"{round(value, 2) + 0:.2f}{UNITS[unit]}"


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
