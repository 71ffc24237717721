"""The answers of the page of results: sentences for each paper, and a sign for each claim."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from httpbed.addons.claims.claims_section_report import SHAPES
from httpbed.addons.claims.verdict import WORST_SIDE
from markdown_table import table
from results_archives import PAPERS, Claim, PublishedExperiment, claims_of, studies, whole

HEADLINES = {
    "liu2024": ("L-22", "L-28"),  # both abstracts: 81.5 % and 88.36 %
    "biswal2016": ("B-13", "B-14"),  # the abstract: 90 % of pages in India, 60 % in the US
    "zhang2023": ("Z-1", "Z-3"),  # section 5: rates and losses
    "ranjan2019": ("R-2", "R-3"),  # observations 2 and 1
}
"""The results that a paper's abstract, or else its summary, names first."""
ROBUST, REFUTED = "robust", "refuted"


def title(study: str) -> str:
    """Return the heading of a study's chapter."""
    return ": ".join(PAPERS.get(study, (study,)))


def summary(found: Sequence[PublishedExperiment]) -> str:
    """Count all verdicts in one sentence."""
    return _counted(whole(claims_of(found)), "the papers")


def of_paper(study: str, found: Sequence[PublishedExperiment]) -> str:
    """Answer for one study: how many claims hold, and what became of its headlines."""
    claims = whole(claims_of(found))
    by_id = {claim["id"]: claim for claim in claims}
    headlines = [by_id[name] for name in HEADLINES.get(study, ()) if name in by_id]
    name = PAPERS.get(study, (study,))[0]
    return " ".join([f"**{_counted(claims, name)}**", *map(_headline, headlines)])


def _counted(claims: Sequence[Claim], name: str) -> str:
    verdicts = Counter(claim["verdict"] for claim in claims)
    kinds = Counter(claim["robustness"] for claim in claims)
    notes = [
        *([f"{kinds[ROBUST]} of them robust"] if kinds[ROBUST] else []),
        *([f"{kinds[REFUTED]} with a refuted attribution"] if kinds[REFUTED] else []),
    ]
    counted = [
        f"{count} {_is(verdict, count)} {verdict}"
        + (f" ({', '.join(notes)})" if verdict == "reproduced" and notes else "")
        for verdict in SHAPES
        if (count := verdicts[verdict])
    ]
    return f"Of {len(claims)} claims of {name}, {', '.join(counted)}."


def _is(verdict: str, count: int) -> str:
    if verdict == "no difference":
        return "shows" if count == 1 else "show"
    return "is" if count == 1 else "are"


def multiplicity(found: Sequence[PublishedExperiment]) -> str:
    """Say how many verdicts may be wrong by chance."""
    claims = whole(claims_of(found))
    settled = [claim for claim in claims if claim["verdict"] not in {"open", "not run"}]
    sides = [(1 - claim["estimate"]["coverage"]) / 2 for claim in settled if claim["estimate"]]
    most = sum(sides) + WORST_SIDE * (len(settled) - len(sides))
    return (
        f"Each verdict may be wrong with a probability of 2.5 to 5 %, and no rate covers all of"
        f" them together: if each of the {len(settled)} settled claims were at the edge of its"
        f" region, {most:.1f} verdicts would be wrong by chance."
    )


def _headline(claim: Claim) -> str:
    """Write one claim with its verdict and its effect."""
    everywhere = claim["verdict"] == "reproduced" and claim["robustness"] == ROBUST
    where = ", also in every control arm" if everywhere else ""
    if claim["robustness"] == REFUTED:
        where = ", but also without the cause that the paper names, so the attribution is refuted"
    published = f" Published: {claim['published']}." if claim["published"] else ""
    says = f"\N{LEFT DOUBLE QUOTATION MARK}{claim['says']}\N{RIGHT DOUBLE QUOTATION MARK}"
    verb = _is(claim["verdict"], 1)
    return f"{says} {verb} {claim['verdict']}{where}: {claim['effect']} ({claim['id']}).{published}"


def matrix(found: Sequence[PublishedExperiment]) -> str:
    """Return a sign for each claim of the papers, a row for each study."""
    rows = [
        [PAPERS.get(study, (study,))[0], " ".join(map(_sign, whole(claims_of(own))))]
        for study, own in studies(found).items()
    ]
    seen = {claim["verdict"] for claim in claims_of(found)}
    signs = [f"{shape} {verdict}" for verdict, shape in SHAPES.items() if verdict in seen]
    legend = f"{', '.join(signs)}; bold: in every control arm, too"
    return f"{table(['study', 'claims'], rows)}\n\n{legend}."


def _sign(claim: Claim) -> str:
    number = claim["id"].partition("-")[2]
    sign = f"{SHAPES.get(claim['verdict'], '?')}\N{NO-BREAK SPACE}{number}"
    return f"**{sign}**" if claim["robustness"] == ROBUST else sign


def overview(found: Sequence[PublishedExperiment], page: str = "") -> str:
    """Return a table of each study's verdicts; ``page`` is the path to the results."""
    every = Counter(claim["verdict"] for claim in whole(claims_of(found)))
    others = [verdict for verdict in SHAPES if every[verdict] and verdict != "reproduced"]
    rows = []
    for study, own in studies(found).items():
        claims = whole(claims_of(own))
        verdicts = Counter(claim["verdict"] for claim in claims)
        robust = sum(claim["robustness"] == ROBUST for claim in claims)
        refuted = sum(claim["robustness"] == REFUTED for claim in claims)
        counts = [len(claims), verdicts["reproduced"], robust, refuted]
        counts += [verdicts[one] for one in others]
        link = f"[{PAPERS.get(study, (study,))[0]}]({page}#{slug(title(study))})"
        rows.append([link, *map(str, counts)])
    head = ["study", "claims", "reproduced", "of these robust", "refuted attribution", *others]
    return table(head, rows)


def slug(heading: str) -> str:
    """Return the anchor of a heading, as the source host and the site make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
