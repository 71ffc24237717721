"""The page of the published results, from the verdicts and archives in ``results/``.

The answers and the matrix of claims are in ``results_answers``, what is needed to cite a campaign
and to repeat it in ``results_campaigns``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import results_answers
import results_campaigns
import results_clocks
import results_competition
import results_explained
import results_senders
import results_suites
from httpbed.addons.claims.claims_report import block_numbers
from httpbed.report.phrasing import listed
from markdown_table import table
from results_archives import PUBLISHED, ROOT, Claim, PublishedExperiment, studies, whole
from results_clocks import claims_of

RULE = "decisions/0041-one-rule-for-regions-and-verdicts.md"
REMARKS = "remarks.toml"
"""What the evidence suggests where a claim does not come out, by the claim's id."""
UNTESTED = "untested.toml"
"""What the papers say and no claim tests, by study, with the reason."""
AGAIN = (
    "liu2024/single-stream ran twice with the same seed: of 51 treatments the ratios of 2 differ"
    " from 1, where 2.9 are expected by chance"
    " ([command and values](measurements/campaigns.md#a-campaign-run-twice))."
)
EXTENDED = (
    "Nine campaigns were changed after their verdicts had been seen, one of them three times."
    " Three got further blocks: in liu2024/pages, in real time, all conditions but one got a"
    " sixth, one a seventh; liu2024/migration in virtual time got 17, and ranjan2019/pages 20,"
    " because L-30 and R-4 were open. Eight were replaced: liu2024/single-stream, of scale"
    " standard in real time, and with 82 of 984 cells in virtual time; liu2024/migration and"
    " liu2024/pages, with 71 of 184 and 378 of 756 cells in virtual time; biswal2016/networks in"
    " virtual time, whose pages came from nginx alone; and those whose servers had not announced"
    " HTTP/3: zhang2023/rates and zhang2023/losses in real time, and ranjan2019/pages in virtual"
    " time. That was replaced again, because it had 36 of 64 cells."
)


def page(found: Sequence[PublishedExperiment], published: Path = PUBLISHED) -> str:
    """Return the page as Markdown."""
    if not found:
        return "# Results\n\nNo results are published yet.\n"
    remarks = tomllib.loads((published / REMARKS).read_text())
    explained = published / results_explained.CELLS
    parts = ["# Results", *_opening(found, explained)]
    for study, own in studies(found).items():
        parts += _study(study, own, remarks)
    parts += results_explained.section(explained)
    parts += [*results_campaigns.section(found), *results_senders.section(published / "senders")]
    parts += results_suites.section(published)
    parts += results_competition.section(published)
    return "\n\n".join(parts) + "\n"


def _opening(found: Sequence[PublishedExperiment], explained: Path) -> Iterator[str]:
    yield "Written by `make docs` from the archives and verdicts in `results/`."
    yield results_answers.summary(found)
    for study, own in studies(found).items():
        yield results_answers.of_paper(study, own)
    yield from results_explained.summary(explained)
    yield results_answers.matrix(found)
    yield results_answers.overview(found)
    yield (
        "A *cell* is one condition, such as a page in a network; a *block* runs each of them once;"
        " an *arm* is the same claim under a condition that may matter."
        " A verdict compares the interval of an estimate with the region in which the claim would"
        " be right ([how](guides/claims.md)). *No difference*: the interval lies within 2 % of"
        " none, or that of a part without which the claim does not hold."
        " *Open* was measured and not settled, or *refused*: invalid attempts fell on one program"
        " more than on the others, so its results may be"
        " [selected](concepts/evidence.md#selection-by-invalid-attempts); *not run* lacks trials."
        " *Robust* means reproduced in"
        " every control arm, too: with another server, another congestion control, or another"
        " reading of the paper. *Refuted attribution*: the same comes out without what the"
        " paper names as the cause. In brackets is the interval, of about 95 %; n is the number of"
        " blocks. Of a claim about each of several cells, such as networks or sites, the tables"
        " show all values of up to three, or else the one that lies farthest from the claim, and of"
        " how many the estimate is as claimed. A share or number of cells is that of our medians;"
        " its interval is that of a repetition with the paper's loads, which are no pairs as ours"
        " are. So the share may lie outside of its interval. The reports have the values of single"
        " cells. One rule makes regions of the papers' words"
        f" ([decision 41]({RULE}))."
    )
    yield results_answers.multiplicity(found)
    yield results_clocks.summary(whole(claims_of(found)))
    yield AGAIN
    yield EXTENDED


def _study(
    study: str, found: Sequence[PublishedExperiment], remarks: Mapping[str, str]
) -> Iterator[str]:
    yield f"## {results_answers.title(study)}"
    yield (
        f"[What the paper did, what differs here](../experiments/{study}/README.md). Reports: "
        + ", ".join(
            f"[{_archive(experiment)}](../results/{experiment.place}/report.html)"
            for experiment in found
        )
        + "."
    )
    claims = claims_of(found)
    yield from _fault(found, claims)
    clocks = results_clocks.have_several(claims)
    head = ["claim", "", "published", "measured here", "n", "verdict", "in control arms"]
    head += results_clocks.HEAD if clocks else []
    yield table(head, [_row(claim, clocks=clocks) for claim in claims])
    yield from results_clocks.section(claims)
    noted = [(claim, remarks[claim["id"]]) for claim in claims if claim["id"] in remarks]
    if noted:
        yield "### What the evidence suggests"
        yield "\n".join(
            f"* **{claim['id']}** ({claim['verdict']}): {text.strip()}" for claim, text in noted
        )
    yield from _untested(study)
    yield "### Figures"
    yield "They show the clock by which more cells ran. The reports show both clocks."
    first = [one for one in found if not one.is_repetition]
    for name in dict.fromkeys(one.name for one in first):
        by_clock = (one for one in first if one.name == name)
        yield from _figures(max(by_clock, key=_cells))  # of equals, real time comes first


def _archive(one: PublishedExperiment) -> str:
    """Name an archive: its experiment, and what it differs in from the first one."""
    differs = ["in virtual time"] if one.clock == "virtual" else []
    differs += [f"seed {', '.join(map(str, one.seeds))}"] if one.is_repetition else []
    beside = f" ({', '.join(differs)})" if differs else ""
    return f"{one.folder.name}{beside}"


def _untested(study: str) -> Iterator[str]:
    """Yield the statements of a study that are no claims, with the reason."""
    stated = tomllib.loads((PUBLISHED / UNTESTED).read_text()).get(study, {})
    if stated:
        yield "### What the paper says and no claim tests"
        yield "\n".join(f"* {says}: {why}" for says, why in stated.items())


def _fault(found: Sequence[PublishedExperiment], claims: Sequence[Claim]) -> Iterator[str]:
    unannounced = [_archive(experiment) for experiment in found if experiment.is_unannounced]
    if not unannounced:
        return
    resting = [claim["id"] for claim in claims if claim["unannounced"]]
    yield (
        f"**Measured with a fault:** {listed(unannounced)}. The servers did not announce HTTP/3"
        " to the browser, which real ones do. Chromium then holds requests of low priority back"
        " over HTTP/3, and not over HTTP/2. This lengthens loads over HTTP/3 with many resources"
        " at long round trips, up to 1.6 times where it was measured"
        " ([decision 65](decisions/0065-servers-announce-http3-to-browsers.md)). "
        + (
            f"The verdicts on {listed(resting)} rest on them; all others on campaigns without it."
            if resting
            else "No verdict rests on them: each has run again, in virtual time."
        )
    )


def _row(claim: Mapping[str, Any], *, clocks: bool) -> list[str]:
    source = f" ({claim['source']})" if claim["source"] else ""
    return [
        claim["id"],
        f"{claim['says']}{source}",
        claim["published"],
        claim["effect"],
        block_numbers(claim["estimate"]["blocks"]) if claim["estimate"] else "",
        "; ".join(filter(None, (f"**{claim['verdict']}**", claim["outlook"]))),
        _arms(claim),
        *(results_clocks.columns(claim) if clocks else ()),
    ]


def _arms(claim: Mapping[str, Any]) -> str:
    """Say whether control arms agree; where the claim itself is open, so is that."""
    if claim["verdict"] not in {"reproduced", "contradicted"}:
        return ""
    return claim["robustness_in_words"] or "no arm"


def _cells(one: PublishedExperiment) -> int:
    return one.ran.cells if one.ran else 0


def _figures(one: PublishedExperiment) -> Iterator[str]:
    for figure in one.stated.figures:
        file = one.folder / "figures" / f"declared-{figure.id}.svg"
        if file.exists():
            link = f"[{figure.title}](../{file.relative_to(ROOT)})"
            clock = "in virtual time" if one.clock == "virtual" else ""
            caption = ", ".join(filter(None, (figure.source, clock)))
            yield f"!{link}\n\n*{': '.join(filter(None, (caption, link)))}.*"
