"""The page of the published results, from the verdicts and archives in ``results/``."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import results_senders
from httpbed.experiment import parser
from httpbed.experiment.experiment import Experiment
from httpbed.report.claims import block_numbers
from httpbed.store import query
from httpbed.store.results import Results
from markdown_table import table

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "results"
REMARKS = "remarks.toml"
"""What the evidence suggests where a claim does not come out, by the claim's id."""
VERDICTS = ("reproduced", "contradicted", "inconclusive", "not judged")
PAPERS = {
    "liu2024": ("Liu et al. 2024 and 2025", "HTTP/3 and HTTP/2, with and without a proxy"),
    "biswal2016": ("Biswal and Gnawali 2016", "does QUIC make the web faster?"),
    "zhang2023": ("Zhang and Song 2023", "HTTP/3 and HTTP/1.1 under congestion"),
    "ranjan2019": ("Ranjan 2019", "pages of few and many images"),
}
"""Authors and years of a study's papers, and its subject."""
EXTENDED = (
    "Two campaigns were changed after their verdicts had been seen: liu2024/pages got blocks 6 and"
    " 7, and liu2024/single-stream replaces an earlier campaign at scale standard."
)
NUMBER = re.compile(r"[A-Z]+-\d+")
"""A paper's claim by its number; what follows names a part of it or another reading."""


@dataclass(frozen=True)
class PublishedExperiment:
    """One experiment's results: its archive and the verdicts on its claims."""

    folder: Path
    results: Results
    claims: Sequence[Mapping[str, Any]]

    @property
    def study(self) -> str:
        """The name of the study's folder."""
        return self.folder.parent.name

    @cached_property
    def stated(self) -> Experiment:
        """What its experiment file says today."""
        file = ROOT / "experiments" / self.study / f"{self.folder.name}.toml"
        found = parser.read_valid(file.read_text()).experiment
        if found is None:
            raise ValueError(file)
        return found


def read(published: Path = PUBLISHED) -> list[PublishedExperiment]:
    """Read all published results, in the order of the folders' names."""
    return [
        PublishedExperiment(file.parent, query.read(file.parent), _claims(file.parent))
        for file in sorted(published.glob("*/*/manifest.json"))
    ]


def _claims(folder: Path) -> list[dict[str, Any]]:
    file = folder / "claims.json"
    claims: list[dict[str, Any]] = json.loads(file.read_text())["claims"] if file.exists() else []
    return claims


def page(found: Sequence[PublishedExperiment], published: Path = PUBLISHED) -> str:
    """Return the page as Markdown."""
    if not found:
        return "# Results\n\nNo results are published yet.\n"
    remarks = tomllib.loads((published / REMARKS).read_text())
    parts = ["# Results", *_opening(found), overview(found), *_how(found)]
    for study in dict.fromkeys(one.study for one in found):
        parts += _study([one for one in found if one.study == study], remarks)
    parts += results_senders.section(published / "senders")
    return "\n\n".join(parts) + "\n"


def _opening(found: Sequence[PublishedExperiment]) -> Iterator[str]:
    yield "Written by `make docs` from the archives and verdicts in `results/`."
    yield summary(found)
    yield (
        "A verdict compares the interval of an estimate with the region in which the claim would be"
        " right ([how](guides/claims.md)). *Robust* means reproduced in every control arm, too:"
        " with another server, another congestion control, or another reading of the paper."
        " *Not judged* names the reason, such as too few blocks. In brackets is the interval, of 90"
        " to 95 %; n is the number of blocks. The reports have the values of single cells."
    )
    yield EXTENDED


def summary(found: Sequence[PublishedExperiment]) -> str:
    """Count all verdicts in one sentence."""
    claims = _whole([claim for one in found for claim in one.claims])
    verdicts = Counter(claim["verdict"] for claim in claims)
    robust = sum(claim["robustness"] == "robust" for claim in claims)
    counted = [
        f"{count} {'is' if count == 1 else 'are'} {verdict}"
        for verdict in VERDICTS
        if (count := verdicts[verdict])
    ]
    if verdicts["reproduced"]:
        counted[0] += f" ({robust} of them robust)"
    return f"Of {len(claims)} claims of the papers, {', '.join(counted)}."


def _whole(claims: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Leave out parts and further readings of claims, such as L-34a2 and B-18-grid."""
    return [claim for claim in claims if NUMBER.fullmatch(claim["id"])]


def overview(found: Sequence[PublishedExperiment], page: str = "") -> str:
    """Return a table of each study's verdicts; ``page`` is the path to the results."""
    every = Counter(claim["verdict"] for one in found for claim in _whole(one.claims))
    others = [verdict for verdict in VERDICTS[1:] if every[verdict]]
    rows = []
    for study in dict.fromkeys(one.study for one in found):
        claims = _whole([claim for one in found if one.study == study for claim in one.claims])
        verdicts = Counter(claim["verdict"] for claim in claims)
        robust = sum(claim["robustness"] == "robust" for claim in claims)
        counts = (len(claims), verdicts["reproduced"], robust, *(verdicts[one] for one in others))
        link = f"[{PAPERS.get(study, (study,))[0]}]({page}#{_slug(_title(study))})"
        rows.append([link, *map(str, counts)])
    return table(["study", "claims", "reproduced", "of these robust", *others], rows)


def _how(found: Sequence[PublishedExperiment]) -> Iterator[str]:
    yield "## The campaigns"
    head = [
        "experiment",
        "scale",
        "trials",
        "completed",
        "failed",
        "timed out",
        "without a valid attempt",
        "invalid attempts",
        "blocks",
        "begun",
        "treatments of scale paper",
        "its trials",
    ]
    yield table(head, [_campaign(one) for one in found])
    yield _certificates([one.results.manifest for one in found])
    hosts = {_host(one.results.manifest) for one in found}
    yield (
        f"Machine: {'; '.join(sorted(hosts))}. The manifest in each report says how many trials ran"
        " side by side."
    )


def _campaign(one: PublishedExperiment) -> list[str]:
    results, rows = one.results, one.results.trials.to_pylist()
    last = results.last_attempts
    outcomes = Counter(row["outcome"] for row in last)
    repeated = sum(row["outcome"] == "invalid" for row in rows)
    missing = results.planned - len(last) + outcomes["invalid"]
    valid = [row["block"] for row in rows if row["outcome"] != "invalid"]
    return [
        f"[{one.study}/{one.folder.name}](../results/{one.study}/{one.folder.name}/report.html)",
        scale_of(results.manifest),
        str(results.planned),
        *(str(outcomes[kind]) for kind in ("completed", "failed", "timed out")),
        str(missing),
        str(repeated),
        str(len(set(valid))),
        str(results.manifest.get("started", ""))[:10],
        *(f"{ran} of {planned}" for ran, planned in coverage(one)),
    ]


def scale_of(manifest: Mapping[str, Any]) -> str:
    """Return which trials of its experiment a campaign has."""
    scale = str(manifest.get("scale") or "all")
    return f"{scale}, what claims need" if manifest.get("for_claims") else scale


def coverage(one: PublishedExperiment) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how many treatments, and trials, of the paper's design ran, and how many it has."""
    paper = one.stated.at_scale("paper")
    wanted = {frozenset(treatment.items()) for treatment in paper.treatments()}
    names = [*one.stated.factors]
    valid = [row for row in one.results.last_attempts if row["outcome"] != "invalid"]
    blocks = Counter(frozenset((name, row[name]) for name in names) for row in valid)
    ran = [min(blocks[key], paper.blocks) for key in wanted if blocks[key]]
    return (len(ran), len(wanted)), (sum(ran), len(wanted) * paper.blocks)


def _certificates(manifests: Sequence[Mapping[str, Any]]) -> str:
    """Say how many campaigns cite a link certificate, and whether it passed."""
    cited = [one["link_certificate"] for one in manifests if one.get("link_certificate")]
    passed = sum(bool(one["passed"]) for one in cited)
    return (
        f"{len(cited)} of {len(manifests)} campaigns cite a link certificate of their machine;"
        f" {passed} of these passed in all conditions. The others ran without one."
    )


def _host(manifest: Mapping[str, Any]) -> str:
    host = manifest["host"]
    gigabytes = host["memory_bytes"] / 1e9
    return (
        f"{host['cpu']}, {host['cores']} cores, {gigabytes:.0f} GB, {host['distribution']},"
        f" Linux {host['kernel'].partition('-')[0]}"
    )


def _study(found: Sequence[PublishedExperiment], remarks: Mapping[str, str]) -> Iterator[str]:
    study = found[0].study
    yield f"## {_title(study)}"
    yield (
        f"[What the paper did, what differs here](../experiments/{study}/README.md). Reports: "
        + ", ".join(
            f"[{one.folder.name}](../results/{study}/{one.folder.name}/report.html)"
            for one in found
        )
        + "."
    )
    head = ["claim", "", "published", "measured here", "n", "verdict", "in control arms"]
    yield table(head, [_row(claim) for one in found for claim in one.claims])
    noted = [
        (claim, remarks[claim["id"]])
        for one in found
        for claim in one.claims
        if claim["id"] in remarks
    ]
    if noted:
        yield "### What the evidence suggests"
        yield "\n".join(
            f"* **{claim['id']}** ({claim['verdict']}): {text.strip()}" for claim, text in noted
        )
    for one in found:
        yield from _figures(one)


def _title(study: str) -> str:
    return ": ".join(PAPERS.get(study, (study,)))


def _slug(title: str) -> str:
    """Return the anchor of a heading, as the source host and the site make it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _row(claim: Mapping[str, Any]) -> list[str]:
    source = f" ({claim['source']})" if claim["source"] else ""
    return [
        claim["id"],
        f"{claim['says']}{source}",
        claim["published"],
        claim["measured_briefly"],
        block_numbers(claim["estimate"]["blocks"]) if claim["estimate"] else "",
        "; ".join(filter(None, (f"**{claim['verdict']}**", claim["outlook"]))),
        _arms(claim),
    ]


def _arms(claim: Mapping[str, Any]) -> str:
    """Say whether control arms agree; where the claim itself is open, so is that."""
    if claim["verdict"] not in {"reproduced", "contradicted"}:
        return ""
    return claim["robustness_in_words"] or "no arm"


def _figures(one: PublishedExperiment) -> Iterator[str]:
    for figure in one.stated.figures:
        file = one.folder / "figures" / f"declared-{figure.id}.svg"
        if file.exists():
            link = f"[{figure.title}](../{file.relative_to(ROOT)})"
            caption = ", ".join(filter(None, (link, figure.source)))
            yield f"!{link}\n\n*{caption}.*"
