"""The counts of verdicts in the README, from the verdicts and archives in ``results/``."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import marked
import results_answers
import results_explained
from httpbed.report.phrasing import listed
from results_archives import PUBLISHED, ROOT, PublishedExperiment, whole
from results_clocks import claims_of

README = ROOT / "README.md"
RESULTS = "docs/results.md"
FAULT = "docs/decisions/0065-servers-announce-http3-to-browsers.md"
LINE = 120


def page(text: str, found: Sequence[PublishedExperiment]) -> str:
    """Return the README with the verdicts of today."""
    return marked.replaced(text, "verdicts", "verdicts", _section(found))


def _section(found: Sequence[PublishedExperiment]) -> str:
    stated = _campaigns(ROOT / "experiments", {experiment.study for experiment in found})
    names = {experiment.name for experiment in found}
    run = f"{len(names)} of {stated} campaigns are [published with their tables]({RESULTS})."
    sentence = textwrap.fill(
        f"{run} {results_answers.summary(found)}", LINE, break_on_hyphens=False
    )
    parts = [sentence, results_answers.overview(found, RESULTS)]
    parts += [
        textwrap.fill(text, LINE, break_on_hyphens=False)
        for text in results_explained.summary(PUBLISHED / results_explained.CELLS, RESULTS)
    ]
    if faulty := [claim["id"] for claim in whole(claims_of(found)) if claim["unannounced"]]:
        note = (
            f"**Not final:** {listed(faulty)} rest on page loads from servers that did not announce"
            f" HTTP/3 to the browser ([decision 65]({FAULT}))."
        )
        parts.append(textwrap.fill(note, LINE, break_on_hyphens=False))
    return "\n\n".join(parts)


def _campaigns(folder: Path, studies: set[str]) -> int:
    """Count the experiment files of some studies: each is a campaign."""
    return sum(path.parent.name in studies for path in folder.glob("*/*.toml"))
