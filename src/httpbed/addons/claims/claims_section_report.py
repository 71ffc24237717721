"""The verdicts on a campaign's claims, as the first section of its report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims import judging
from httpbed.addons.claims.claim_evidence_report import ClaimEvidence
from httpbed.addons.claims.claim_verdict import ClaimVerdict
from httpbed.addons.claims.judging import JudgedClaim, Robustness
from httpbed.experiment.experiment import Experiment
from httpbed.experiment.factorial import PublishedDesign, treatment_key
from httpbed.report import templating
from httpbed.report.document import Drawn, ReportInput, Section, SectionMaker
from httpbed.report.phrasing import DASH
from httpbed.results import attempts
from httpbed.store.results import Results

SHAPES: Mapping[ClaimVerdict, str] = {
    "reproduced": "✓",
    "contradicted": "✗",
    "no difference": "=",
    "open": "?",
    "not run": DASH,
}


IN_ARMS: Mapping[Robustness, str] = {
    "robust": "in every arm",
    "contradicted": "in every arm",
    "refuted": "attribution refuted",
    "depends": "not in every arm",
    "open": "robustness open",
    "no arms": "",
}
"""Whether the arms have the claim's verdict, too."""


def make(results: Results, judged: Sequence[JudgedClaim]) -> Mapping[str, Any] | None:
    """Return what the section's template shows of a campaign's claims; None without any."""
    if not judged:
        return None
    evidence, whole = ClaimEvidence(results), claims.whole(judged)
    numbers = Counter(claim.main.verdict for claim in whole)
    values = claims.values(results, judged)["claims"]
    return {
        "opening": list(_opening(results, len(whole))),
        "counted": [(name, numbers[name]) for name in SHAPES if numbers[name]],
        "robust": sum(claim.robustness == "robust" for claim in whole),
        "claims": [
            {**value, "limits": list(claims.limits(claim, evidence))}
            for claim, value in zip(judged, values, strict=True)
        ],
    }


def _opening(results: Results, number: int) -> Iterator[str]:
    """Yield the citation, then the scale and the coverage of the campaign."""
    stated = results.stated_experiment
    count = "The claim is" if number == 1 else f"The {number} claims are"
    if stated.citation:
        yield f"{count} from {stated.citation}."
    yield _scale(results)
    if covered := coverage(results):
        yield (
            f"Scale paper, the publication's own design and what its claims name beside it, has"
            f" {covered.of_cells:,} cells and {covered.of_trials:,} trials. Of these"
            f" {covered.cells:,} cells ({100 * covered.cells / covered.of_cells:.0f} %) and"
            f" {covered.trials:,} trials ({100 * covered.trials / covered.of_trials:.0f} %) ran."
        )
        if covered.published:
            runs = f" and {covered.published.runs:,} runs" if covered.published.runs else ""
            yield f"The publication has {covered.published.cells:,} cells{runs}."
        if covered.absent:
            yield f"Absent: {'; '.join(covered.absent)}."


def _scale(results: Results) -> str:
    name = results.manifest.get("scale")
    at = f" at scale {name}" if name else ""
    if results.manifest.get("for_claims"):
        at += ", but only what its claims need" if name else " only what its claims need"
    valid = attempts.valid(results)
    ran = len({treatment_key(row, results.experiment.factors) for row in valid})
    return f"This campaign ran{at}: {len(valid):,} trials of {ran:,} cells."


def _section(source: ReportInput) -> Section | None:
    judged = source.once("claims", lambda: judging.judge(source.results))
    shown = make(source.results, judged)
    if shown is None:
        return None
    folder = shlex.quote(str(source.results.directory))
    return Section(
        "claims",
        "Answer",
        (
            Drawn(
                templating.part(
                    "claims.html.j2", __package__, claims=shown, shapes=SHAPES, in_arms=IN_ARMS
                )
            ),
        ),
        in_contents="Answer and claims",
        line=f"{claims.summed_up(judged)}; httpbed claims {folder} shows each of them",
    )


SECTION = SectionMaker("claims", 10, _section)


PAPER = "paper"
"""The scale that is a publication's own design."""


@dataclass(frozen=True)
class Coverage:
    """Cells and trials of the scale ``paper``: how many ran, and how many it has."""

    cells: int
    of_cells: int
    trials: int
    of_trials: int
    published: PublishedDesign | None
    """What the publication measured."""
    absent: tuple[str, ...]
    """What the publication has and the scale lacks."""


def coverage(results: Results, experiment: Experiment | None = None) -> Coverage | None:
    """Compare what ran with the scale ``paper``; None if the experiment has no such scale.

    A cell that ran has a valid trial. Trials beyond the scale's number of blocks do not count.
    ``experiment`` is the file of today, by default the campaign's own.
    """
    experiment = experiment or results.stated_experiment
    if PAPER not in experiment.scales:
        return None
    scale, reduced = experiment.scales[PAPER], experiment.at_scale(PAPER)
    names = [name for name in experiment.factors if name in results.trials.column_names]
    blocks = Counter(treatment_key(row, names) for row in attempts.valid(results))
    wanted = {treatment_key(treatment, names) for treatment in reduced.treatments()}
    ran = [min(blocks[key], scale.replicates) for key in wanted if blocks[key]]
    return Coverage(
        cells=len(ran),
        of_cells=len(wanted),
        trials=sum(ran),
        of_trials=len(wanted) * scale.replicates,
        published=scale.published,
        absent=tuple(scale.absent),
    )
