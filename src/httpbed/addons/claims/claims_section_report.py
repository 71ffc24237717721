"""The verdicts on a campaign's claims, as the first section of its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.addons.claims import claims_report as claims
from httpbed.addons.claims import judging
from httpbed.addons.claims.claim_evidence_report import ClaimEvidence
from httpbed.addons.claims.coverage import coverage
from httpbed.addons.claims.judging import JudgedClaim
from httpbed.addons.claims.verdict import ClaimVerdict
from httpbed.report import templating
from httpbed.report.document import Drawn, ReportInput, Section, SectionMaker
from httpbed.report.phrasing import DASH
from httpbed.store.results import Results

SHAPES: Mapping[ClaimVerdict, str] = {
    "reproduced": "✓",
    "contradicted": "✗",
    "no difference": "=",
    "open": "?",
    "not run": DASH,
}


@dataclass(frozen=True)
class ShownArm:
    """A claim under other conditions."""

    name: str
    verdict: str
    shape: str
    measured: str


@dataclass(frozen=True)
class ShownClaim:
    """One claim with its verdict."""

    id: str
    says: str
    verdict: str
    shape: str
    robustness: str
    """In a few words; empty without arms."""
    measured: str
    """The estimate with its interval, or why there is none."""
    published: str
    expected: str
    source: str
    in_full: str
    """All that is measured, in words."""
    arms: tuple[ShownArm, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class ClaimsSection:
    """All claims."""

    opening: tuple[str, ...]
    """From which publication they are, at which scale this campaign ran, and how much of the
    publication's design that is."""
    counted: tuple[tuple[str, str, int], ...]
    """Shape and name of each verdict that occurs, with the number of claims."""
    robust: int
    claims: tuple[ShownClaim, ...]


def make(results: Results, judged: Sequence[JudgedClaim]) -> ClaimsSection | None:
    """Gather what the section shows of a campaign's claims; None without any."""
    if not judged:
        return None
    evidence = ClaimEvidence(results)
    whole, effects = claims.whole(judged), claims.effects(judged)
    numbers = Counter(one.main.verdict for one in whole)
    return ClaimsSection(
        tuple(_opening(results, len(whole))),
        tuple((shape, name, numbers[name]) for name, shape in SHAPES.items() if numbers[name]),
        sum(one.robustness == "robust" for one in whole),
        tuple(_claim(one, effects[one.stated.id], evidence) for one in judged),
    )


def _opening(results: Results, number: int) -> Iterator[str]:
    """Yield the citation, then the scale and the coverage of the campaign."""
    stated = results.stated_experiment
    count = "The claim is" if number == 1 else f"The {number} claims are"
    if stated.citation:
        yield f"{count} from {stated.citation}."
    yield _scale(results)
    if found := coverage(results):
        yield (
            f"Scale paper, the publication's own design and what its claims name beside it, has"
            f" {found.of_cells:,} cells and {found.of_trials:,} trials. Of these {found.cells:,}"
            f" cells ({100 * found.cells / found.of_cells:.0f} %) and {found.trials:,} trials"
            f" ({100 * found.trials / found.of_trials:.0f} %) ran."
        )
        if found.published:
            runs = f" and {found.published.runs:,} runs" if found.published.runs else ""
            yield f"The publication has {found.published.cells:,} cells{runs}."
        if found.absent:
            yield f"Absent: {'; '.join(found.absent)}."


def _scale(results: Results) -> str:
    """Say what the campaign ran."""
    name = results.manifest.get("scale")
    needed = ", but only what its claims need" if results.manifest.get("for_claims") else ""
    at = f" at scale {name}{needed}" if name else needed
    valid = [row for row in results.last_attempts if row["outcome"] != "invalid"]
    ran = len({tuple(row[name] for name in results.experiment.factors) for row in valid})
    return f"This campaign ran{at}: {len(valid):,} trials of {ran:,} cells."


def counted(judged: Sequence[JudgedClaim]) -> str:
    """Count the verdicts in a line; empty without claims."""
    if not judged:
        return ""
    return f"{len(judged)} claim{'s' * (len(judged) > 1)}: {claims.summed_up(judged)}"


def _claim(judged: JudgedClaim, effect: str, evidence: ClaimEvidence) -> ShownClaim:
    stated, main = judged.stated, judged.main
    return ShownClaim(
        id=stated.id,
        says=stated.says,
        verdict=main.verdict,
        shape=SHAPES[main.verdict],
        robustness=_robustness(judged),
        measured=effect,
        published=stated.published,
        expected=stated.expect or "",
        source=stated.source,
        in_full=claims.measured(stated, main),
        arms=tuple(
            ShownArm(arm.name, arm.verdict, SHAPES[arm.verdict], claims.measured(stated, arm))
            for arm in judged.arms
        ),
        warnings=tuple(claims.limits(judged, evidence)),
    )


def _robustness(judged: JudgedClaim) -> str:
    """Say whether the arms have the claim's verdict, too; empty without one, or without arms."""
    if judged.main.verdict == "not run":
        return ""
    return {
        "robust": "in every arm",
        "contradicted": "in every arm",
        "refuted": "attribution refuted",
        "depends": "not in every arm",
        "open": "arms undecided",
        "no arms": "",
    }[judged.robustness]


def _section(source: ReportInput) -> Section | None:
    judged = judging.judge(source.results)
    shown = make(source.results, judged)
    if shown is None:
        return None
    return Section(
        "claims",
        "Answer",
        (Drawn(templating.part("claims.html.j2", __package__, claims=shown)),),
        in_contents="Answer and claims",
        line=f"{counted(judged)}; httpbed claims DIR shows each of them",
    )


SECTION = SectionMaker("claims", 10, _section)
