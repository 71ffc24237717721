"""The answers of the page of results: sentences for each paper, and a sign for each claim."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from httpbed.addons.claims.claim_verdict import WORST_SIDE
from httpbed.addons.claims.claims_section_report import SHAPES
from httpbed.report.phrasing import listed
from markdown_table import table
from results_archives import PAPERS, Claim, PublishedExperiment, studies, whole
from results_clocks import ROBUST, claims_of

HEADLINES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "liu2024": {  # both abstracts
        "L-22": (
            "that at 12 % loss HTTP/3 needs 81.5 % less time than HTTP/2 for twenty downloads",
            "{effect} less",
        ),
        "L-28": (
            "that with loss, delay and a new address HTTP/3 takes 88.36 % less than wget resuming",
            "{effect} less, with wget over HTTP/1.1",
        ),
    },
    "biswal2016": {  # the abstract
        "B-13": (
            "that in India's 2G and 3G more than 90 % of pages are faster over QUIC",
            "{effect} of pages, and {arms[Envoy for both]} from Envoy, which has Google's QUIC",
        ),
        "B-14": (
            "that in the US' 3G and 4G 60 % of pages are",
            "{effect} of pages, and {arms[Envoy for both]} from Envoy",
        ),
    },
    "zhang2023": {  # section 5: rates and losses
        "Z-1": (
            "that HTTP/3's throughput is better overall, at rates from 50 kbit/s to 10 Gbit/s",
            "that it is higher in {effect} of cases",
        ),
        "Z-3": (
            "that with loss HTTP/3 matches or beats HTTP/1.1 in the majority of cases",
            "that it does in {effect} of cases",
        ),
    },
    "ranjan2019": {  # observations 2 and 1
        "R-2a": (
            "that at 2 % loss many large images load faster over HTTP/3",
            "{effect} the time of HTTP/2",
        ),
        "R-3": (
            "that with 100 ms more each way many small images load faster over HTTP/3",
            "a lower median in {inside} of {cells} networks",
        ),
    },
}
"""The results that a paper's abstract, or else its summary, names first: what it says, and how the
measured effect continues "httpbed measures"; ``arms`` has those of the control arms."""
REFUSED = "refused:"
REFUTED = "refuted"


def title(study: str) -> str:
    """Return the heading of a study's chapter."""
    return ": ".join(PAPERS.get(study, (study,)))


def summary(found: Sequence[PublishedExperiment]) -> str:
    """Count all verdicts in one sentence."""
    return _counted(whole(claims_of(found)), "the papers")


def of_paper(study: str, found: Sequence[PublishedExperiment]) -> str:
    """Answer for one study: how many claims hold, and what became of its headlines."""
    claims = claims_of(found)
    by_id = {claim["id"]: claim for claim in claims}
    name = PAPERS.get(study, (study,))[0]
    reported = [
        _headline(by_id[claim], *words)
        for claim, words in HEADLINES.get(study, {}).items()
        if claim in by_id
    ]
    return " ".join([f"**{_counted(whole(claims), name)}**", *reported])


def _counted(claims: Sequence[Claim], name: str) -> str:
    """Write ``httpbed reproduces 2 of the 6 claims of ...; it contradicts 2; 2 are open``."""
    verdicts = Counter(claim["verdict"] for claim in claims)
    kinds = Counter(claim["robustness"] for claim in claims)
    number, robust, refuted = verdicts["reproduced"], kinds[ROBUST], kinds[REFUTED]
    notes = [
        *([f"{_of(robust, number)}in every control arm, too"] if robust else []),
        *([f"{refuted} also without the cause that the paper names"] if refuted else []),
    ]
    text = f"httpbed reproduces {number or 'none'} of the {len(claims)} claims of {name}"
    parts = ["".join([text, *(f", {note}" for note in notes)])]
    if count := verdicts["contradicted"]:
        parts.append(f"it contradicts {count}")
    if count := verdicts["no difference"]:
        parts.append(f"it finds no difference for {count}")
    if count := verdicts["open"]:
        refused = sum(map(is_refused, claims))
        parts.append(f"{count} {_is(count)} open" + (f", {refused} refused" if refused else ""))
    if count := verdicts["not run"]:
        parts.append(f"{count} {_is(count)} not run")
    return f"{'; '.join(parts)}."


def _of(some: int, number: int) -> str:
    return "" if some == number else f"{some} of them "


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def is_refused(claim: Claim) -> bool:
    """Whether a claim is open because invalid attempts may have selected its results."""
    return claim["verdict"] == "open" and REFUSED in claim["effect"]


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


def _headline(claim: Claim, says: str, measures: str) -> str:
    """Write one claim for a reader who reads nothing else."""
    inside = sum(cell["is_inside"] for cell in claim["cells"])
    arms = {arm["name"]: arm["measured"].partition(" (")[0] for arm in claim["arms"]}
    measured = measures.format(
        effect=claim["effect"], inside=inside, cells=len(claim["cells"]), arms=arms
    )
    verdict = f"{claim['verdict']}, {claim['id']}"
    if claim["robustness"] == ROBUST:
        verdict = f"{claim['verdict']}, also in every control arm, {claim['id']}"
    text = f"The paper reports {says}; httpbed measures {measured} ({verdict})."
    if claim["robustness"] != REFUTED:
        return text
    without = listed(
        [
            str(arm["name"])
            for arm in claim["arms"]
            if arm["kind"] == "negative control" and arm["verdict"] == "reproduced"
        ]
    )
    return f"{text} It measures the same {without}, so the cause is another one."


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
        counts += [verdicts[verdict] for verdict in others]
        link = f"[{PAPERS.get(study, (study,))[0]}]({page}#{slug(title(study))})"
        rows.append([link, *map(str, counts)])
    head = ["study", "claims", "reproduced", "in every control arm", "without the paper's cause"]
    return table([*head, *others], rows)


def slug(heading: str) -> str:
    """Return the anchor of a heading, as the source host and the site make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
