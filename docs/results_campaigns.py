"""What is needed to cite the published campaigns, to check their files, and to repeat them."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from httpbed.report.manifest import under_test
from httpbed.report.phrasing import listed
from markdown_table import table
from results_archives import ROOT, PublishedExperiment

SUMS = "SHA256SUMS"
"""The digests of an archive's files, as ``sha256sum --check`` reads them."""
NOT_RECORDED = "not recorded"
_SCALE = re.compile(r"--scale (\S+)")


def section(found: Sequence[PublishedExperiment]) -> Iterator[str]:
    """Yield the chapter on the campaigns."""
    yield "## The campaigns"
    head = ["experiment", "clock", "seed", "scale", "cells of scale paper", "its trials"]
    rows = [_coverage(experiment) for experiment in found]
    yield table([*head, "the paper's cells", "its runs"], [*rows, *_together(found)])
    yield (
        "Scale *paper* is the paper's own design, and what its claims name beside it. Programs that"
        " no distribution packages are absent from it."
    )
    yield table(
        [
            *("experiment", "clock", "trials", "completed", "failed", "timed out"),
            *("invalid", "not run", "blocks", "invalid attempts", "why they are invalid"),
        ],
        [_trials(experiment) for experiment in found],
    )
    yield "An attempt is invalid if a check of the bed failed; httpbed keeps it and tries again."
    real = [experiment.results.manifest for experiment in found if experiment.clock == "real"]
    yield _certificates(real)
    yield from _to_cite(found)


def scale_of(one: PublishedExperiment) -> str:
    """Return which trials of its experiment a campaign has: a campaign may grow by another scale.

    The manifest has the scale of one of the runs.
    """
    asked = dict.fromkeys(found[1] for text in _commands(one) if (found := _SCALE.search(text)))
    manifest = one.results.manifest
    scale = " and ".join(asked) or str(manifest.get("scale") or "all")
    return f"{scale}, what claims need" if manifest.get("for_claims") else scale


def _link(one: PublishedExperiment) -> str:
    return f"[{one.name}](../results/{one.place}/report.html)"


def _seeds(one: PublishedExperiment) -> str:
    return ", ".join(map(str, one.seeds))


def _coverage(one: PublishedExperiment) -> list[str]:
    ran = one.ran
    head = [_link(one), one.clock, _seeds(one), scale_of(one)]
    if ran is None:
        return [*head, *[""] * 4]
    cells, runs = (ran.published.cells, ran.published.runs) if ran.published else ("", None)
    return [
        *head,
        f"{ran.cells} of {ran.of_cells}",
        f"{ran.trials} of {ran.of_trials}",
        str(cells),
        str(runs or "not stated"),
    ]


def _together(found: Sequence[PublishedExperiment]) -> Iterator[list[str]]:
    """Yield a row for each clock: the sums over its experiments, without repetitions."""
    for clock in ("real", "virtual"):
        own = [one for one in found if one.clock == clock and not one.is_repetition]
        ran = [covered for experiment in own if (covered := experiment.ran)]
        if not ran:
            continue
        yield [
            f"together, {len(own)} of {len({experiment.name for experiment in found})}",
            *(clock, "", ""),
            f"{sum(part.cells for part in ran)} of {sum(part.of_cells for part in ran)}",
            f"{sum(part.trials for part in ran)} of {sum(part.of_trials for part in ran)}",
            str(sum(part.published.cells for part in ran if part.published)),
            str(sum(part.published.runs or 0 for part in ran if part.published)),
        ]


def _trials(one: PublishedExperiment) -> list[str]:
    results, rows = one.results, one.results.trials.to_pylist()
    last = results.last_attempts
    outcomes = Counter(row["outcome"] for row in last)
    invalid = [row for row in rows if row["outcome"] == "invalid"]
    valid = [row["block"] for row in rows if row["outcome"] != "invalid"]
    why = Counter(str(row["reason"]).partition(":")[0] for row in invalid)
    return [
        _link(one),
        one.clock,
        str(results.planned),
        *(str(outcomes[kind]) for kind in ("completed", "failed", "timed out", "invalid")),
        str(results.planned - len(last)),
        str(len(set(valid))),
        str(len(invalid)),
        ", ".join(f"{reason} {count}" for reason, count in why.most_common()),
    ]


def _certificates(manifests: Sequence[Mapping[str, Any]]) -> str:
    """Say how many campaigns in real time cite a link certificate, and whether it passed."""
    cited = [
        manifest["link_certificate"] for manifest in manifests if manifest.get("link_certificate")
    ]
    passed = sum(bool(one["passed"]) for one in cited)
    return (
        f"{len(cited)} of {len(manifests)} campaigns in real time cite a link certificate of their"
        f" machine; {passed} of these passed in all conditions. The others ran without one. No"
        " certificate covers virtual time."
    )


def _to_cite(found: Sequence[PublishedExperiment]) -> Iterator[str]:
    yield "### To cite and to repeat"
    yield (
        "`CITATION.cff` says how to cite httpbed. A campaign is cited by its name here and by the"
        f" SHA-256 of `{SUMS}` beside its report, which has the digest of every file there. In the"
        f" folder of an archive `sha256sum --check {SUMS}` checks all of them. Campaigns of before"
        " httpbed recorded its commit have none."
    )
    yield _block(
        [f"{_digest(experiment)}  results/{experiment.place}/{SUMS}" for experiment in found]
    )
    head = ["experiment", "begun", "httpbed", "commit", "clock", "seeds", "trials side by side"]
    yield table(head, [_identity(experiment) for experiment in found])
    yield "The commands of all runs of each campaign:"
    yield _block(
        [f"{experiment.place}: {text}" for experiment in found for text in _commands(experiment)]
    )
    hosts = {_host(experiment.results.manifest) for experiment in found}
    yield f"Machine: {'; '.join(sorted(hosts))}."
    yield _loads(found)
    yield "The programs under test, with their versions; reports have the digests of their files:"
    yield table(["program", "version", "experiments"], _programs(found))


FORMS = {".har": "HAR", ".json": "CDP"}
"""The forms of a published load, by the file's suffix."""


def _loads(found: Sequence[PublishedExperiment]) -> str:
    """Name the page loads that are published as files, and the command that makes them."""
    links = {
        experiment.place: [
            f"[{FORMS[file.suffix]}](../{file.relative_to(ROOT)})"
            for file in sorted((experiment.folder / "loads").glob("*"))
        ]
        for experiment in found
    }
    loads = [f"{place} ({listed(forms)})" for place, forms in links.items() if forms]
    examples = f" Published are loads of {listed(loads)}." if loads else ""
    return (
        "Archives have tables, not the files of single trials. Of a campaign that has run here,"
        " `httpbed export CAMPAIGN --format har -o loads` writes each page load as HAR, and"
        f" `--format cdp-json` its requests as the browser's protocol has them.{examples}"
    )


def _block(lines: Sequence[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


def _digest(one: PublishedExperiment) -> str:
    return hashlib.sha256((one.folder / SUMS).read_bytes()).hexdigest()


def _identity(one: PublishedExperiment) -> list[str]:
    manifest = one.results.manifest
    return [
        _link(one),
        str(manifest.get("started", ""))[:10],
        str(manifest.get("httpbed", "")),
        str(manifest.get("commit") or NOT_RECORDED)[:12],
        one.clock,
        _seeds(one),
        ", ".join(dict.fromkeys(str(run["jobs"]) for run in _runs(one))),
    ]


def _runs(one: PublishedExperiment) -> list[Mapping[str, Any]]:
    file = one.folder / "runs.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


def _commands(one: PublishedExperiment) -> list[str]:
    own = [str(run["command"]) for run in _runs(one)]
    return list(dict.fromkeys(own or [str(one.results.manifest.get("command", ""))]))


def _host(manifest: Mapping[str, Any]) -> str:
    host = manifest["host"]
    gigabytes = host["memory_bytes"] / 1e9
    return (
        f"{host['cpu']}, {host['cores']} cores, {gigabytes:.0f} GB, {host['distribution']},"
        f" Linux {host['kernel'].partition('-')[0]}"
    )


def _programs(found: Sequence[PublishedExperiment]) -> list[list[str]]:
    used: dict[tuple[str, str], list[str]] = {}
    for experiment in found:
        for program in under_test(experiment.results.manifest):
            names = used.setdefault((program["name"], program["version"]), [])
            names += [] if experiment.name in names else [experiment.name]
    return [[name, version, ", ".join(names)] for (name, version), names in sorted(used.items())]
