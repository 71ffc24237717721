"""The senders by suite: the part of the results page, and the page of matrices it leads to.

The page is ``results/senders/README.md``: for each suite a matrix of senders and properties. Each
sender leads to its certificate, which has every figure and the command that repeats it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import results_senders
from httpbed.addons.conformance.bcp133 import TITLES as KERNELS
from httpbed.addons.conformance.certificate import RECORD
from httpbed.programs import catalog
from httpbed.programs.catalog import Catalog
from httpbed.programs.recipe import Recipe
from httpbed.report.phrasing import listed
from markdown_table import table

SUITES, PAGE = "senders/suites", "senders/README.md"
"""Places below ``results/``."""
TITLES = {"bbr": "The cases of BBR's draft", "bcp133": "BCP 133", "envelope": "Envelopes"}
"""The suites, in the page's order."""
MANY = 999.5
"""Three digits would need an exponent from here on."""
GUIDE = "../../docs/guides/conformance.md"
CELLS = (
    "Columns are the properties that some sender fails. **Bold** is out of the bounds, *not seen*"
    " means that no trial shows it."
)
MEANINGS = {
    "bbr": f"{CELLS} Each sender is judged by the bounds of the version of BBR that it shows or is"
    " said to be; nginx TCP reno is a control, judged as BBR"
    f" ([how]({GUIDE}#the-cases-of-bbrs-draft)).",
    "bcp133": f"{CELLS} Most criteria have no bound: the certificates have their figures beside"
    f" those of the kernel's Reno and CUBIC ([how]({GUIDE}#bcp-133)).",
    "envelope": "Each row compares the delay and throughput of a sender beside a flow of the kernel"
    f" with those of the kernel's sender in its place ([how]({GUIDE}#envelopes))."
    " Conformance is the share of both envelopes' points that lie in the other; conformance-T is"
    " that after the best move, and the last two figures are the move. Where the kernel's sender is"
    " beside its own kind, the figures are the control: they compare the two flows of one trial.",
}
UNITS = {"of 1": "", "ms": " ms", "Mbit/s": " Mbit/s"}
Test = Mapping[str, Any]
Finding = Mapping[str, Any]
Place = tuple[str, str]
"""Name and network of a property."""
Bounds = Mapping[Place, Sequence[Finding]]


def section(published: Path) -> Iterator[str]:
    """Yield the part of the results page: who is within the bounds, and a link."""
    by_suite = read(published / SUITES)
    if not by_suite:
        return
    yield "## Senders by suite"
    yield (
        "Whole [suites](guides/conformance.md#the-cases-of-bbrs-draft) ask more of a sender than"
        " its name: the cases of BBR's draft, the criteria of BCP 133, and its envelope."
        f" [The matrices](../results/{PAGE}) lead to the certificate of each, with every figure"
        " and the command that repeats it."
    )
    yield "\n".join(
        f"- **{TITLES[suite]}**, {len(tests)} senders. {answer(tests)}".strip()
        for suite, tests in by_suite.items()
    )


def write(published: Path) -> None:
    """Write the page, if there are tests."""
    if by_suite := read(published / SUITES):
        (published / PAGE).write_text("\n\n".join(page(by_suite)) + "\n")


def page(by_suite: Mapping[str, Sequence[Test]]) -> Iterator[str]:
    """Yield the paragraphs of the page."""
    yield "# Senders by suite"
    yield (
        "Each sender ran in virtual time, and sends over QUIC unless TCP is said. A cell is the"
        " figure of one trial. Written by `make docs` from the certificates in `suites/`."
    )
    known = catalog.load()
    for suite, tests in by_suite.items():
        yield f"## {TITLES[suite]}"
        yield f"{answer(tests)} {MEANINGS[suite]}".strip()
        if bounds := _bounds(tests):
            yield _matrix(tests, bounds)
            yield _passed_by_all(bounds)
        else:
            yield _envelopes(tests)
        yield _lacking(suite, tests, known)


def answer(tests: Sequence[Test]) -> str:
    """Say which senders are within every bound; empty for a suite without bounds."""
    outside, within = dict[str, int](), list[str]()
    for test in tests:
        judged = results_senders.verdicts(test)
        if not all(judged):
            outside[_named(test)] = judged.count(False)
        elif judged:
            within.append(_named(test))
    parts = []
    if within:
        parts.append(f"Within every bound: {listed(within)}.")
    if outside:
        worst_first = sorted(outside, key=lambda name: -outside[name])
        names = listed([f"{name} ({outside[name]})" for name in worst_first])
        parts.append(f"Out of some: {names}.")
    return " ".join(parts)


def read(folder: Path) -> dict[str, list[Test]]:
    """Return the tests of each suite that has any, by their commands."""
    by_suite = defaultdict[str, list[Test]](list)
    for file in sorted(folder.glob(f"*/{RECORD}")):
        test = json.loads(file.read_text())
        by_suite[test["suite"]].append(test | {"folder": file.parent.name})
    return {
        suite: sorted(by_suite[suite], key=lambda test: test["command"])
        for suite in TITLES
        if suite in by_suite
    }


def _lacking(suite: str, tests: Sequence[Test], known: Catalog) -> str:
    """Name the servers of the toolbox that could run and did not, as far as its suite asks them."""
    ran = {one["sender"]["implementation"] for one in tests}
    senders = {name: one for name, one in known.recipes.items() if "server" in one.roles}
    asked = {name for name, one in senders.items() if suite != "bbr" or _has_bbr(one)}
    lacking = sorted(asked - ran - known.tunnel_ends())
    return f"Not run: {listed(lacking)}." if lacking else "Every server of the toolbox ran."


def _has_bbr(recipe: Recipe) -> bool:
    """Tell whether it has a BBR of its own; that of the kernel is the same under every server."""
    return any("bbr" in name for name in recipe.congestion_control.allowed("quic"))


def _envelopes(tests: Sequence[Test]) -> str:
    """Return a row for each sender, the kernel's first, with the figures of each network."""
    findings = [finding for test in tests for finding in test["findings"]]
    places = dict.fromkeys((one["network"], one["name"], one["unit"]) for one in findings)
    kernels = dict.fromkeys(name for one in findings for name in one["references"])
    head = ["sender", *(f"{network}: {name.split(': ')[1]}" for network, name, _ in places)]
    rows = [
        [f"the kernel's {KERNELS[kernel]}", *_row(tests[0], places, kernel)] for kernel in kernels
    ] + [[_linked(test), *_row(test, places)] for test in tests]
    return table(head, rows)


def _row(test: Test, places: Iterable[tuple[str, str, str]], kernel: str = "") -> Iterator[str]:
    """Yield the figures of a sender, or of a kernel in its place."""
    seen = {(one["network"], one["name"]): one for one in test["findings"]}
    for network, name, unit in places:
        one = seen.get((network, name), {"observed": None, "references": {}})
        value = one["references"].get(kernel) if kernel else one["observed"]
        # Adding zero turns a rounded -0.0 into 0.
        yield "*not seen*" if value is None else f"{round(value, 2) + 0:.2f}{UNITS[unit]}"


def _matrix(tests: Sequence[Test], bounds: Bounds) -> str:
    """Return a row for each sender, with the properties with a bound that some sender fails."""
    shown = [place for place, findings in bounds.items() if _is_failed(findings)]
    head = ["sender", *map(_title, shown), "within bounds"]
    asked = ["*asked*", *(_asked(bounds[place]) for place in shown), ""]
    rows = [
        [_linked(test), *(_cell(test, place) for place in shown), results_senders.within(test)]
        for test in tests
    ]
    return table(head, [asked, *rows])


def _passed_by_all(bounds: Bounds) -> str:
    names = [_title(place) for place, findings in bounds.items() if not _is_failed(findings)]
    return f"No sender fails: {'; '.join(names)}." if names else "Some sender fails each property."


def _bounds(tests: Sequence[Test]) -> Bounds:
    """Return what the senders show of each property with a bound."""
    bounds = defaultdict[Place, list[Finding]](list)
    for test in tests:
        for finding in test["findings"]:
            if finding["low"] is not None or finding["high"] is not None:
                bounds[_place(finding)].append(finding)
    return bounds


def _place(finding: Finding) -> Place:
    return finding["name"], finding.get("network", "")


def _is_failed(findings: Sequence[Finding]) -> bool:
    return any(one["passed"] is False for one in findings)


def _title(place: Place) -> str:
    """Name a property, with its network where the name does not say it."""
    name, network = place
    return name if not network or network in name else f"{name} ({network})"


def _asked(findings: Sequence[Finding]) -> str:
    """Say what is asked of a property: one bound, that of each version, or those of each network.

    A bound that follows from Reno and CUBIC differs where a proxy is in the path.
    """
    lows, highs = ({one[end] for one in findings} for end in ("low", "high"))
    if any(one.get("references") for one in findings) and len(lows) * len(highs) > 1:
        is_upper = lows <= {None, 0.0}
        bounds = highs if is_upper else lows
        span = " to ".join(dict.fromkeys(map(_figure, (min(bounds), max(bounds)))))
        written = f"at most {span}" if is_upper else f"{span} or more"
        return f"{written} {findings[0]['unit']}".strip()
    return "; ".join(dict.fromkeys(map(_bound, findings)))


def _bound(finding: Finding) -> str:
    low, high, unit = finding["low"], finding["high"], finding["unit"]
    if high is None:
        return f"{_figure(low)} or more {unit}".strip()
    bounds = f"{_figure(low)} to {_figure(high)}" if low else f"at most {_figure(high)}"
    return f"{bounds} {unit}".strip()


def _figure(value: float) -> str:
    """Write a figure with three digits, a large one as a whole number."""
    return f"{value:.3g}" if abs(value) < MANY else f"{value:.0f}"


def _cell(test: Test, place: Place) -> str:
    for one in test["findings"]:
        if _place(one) == place:
            if one["observed"] is None:
                return "*not seen*"
            text = _figure(one["observed"])
            return f"**{text}**" if one["passed"] is False else text
    return ""


def _named(test: Test) -> str:
    sender = test["sender"]
    over = "" if sender["transport"] == "quic" else " TCP"
    name = f"{sender['implementation']}{over} {sender['congestion_control']}"
    return ", ".join([name, *_knobs(test)])


def _knobs(test: Test) -> list[str]:
    """Return the knobs that the command sets."""
    words = test["command"].split()
    return [words[place + 1] for place, word in enumerate(words) if word == "--knob"]


def _linked(test: Test) -> str:
    return f"[{_named(test)}](suites/{test['folder']}/conformance.md)"
