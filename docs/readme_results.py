"""The counts of verdicts in the README, from the verdicts and archives in ``results/``."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import marked
import results_answers
from results_archives import ROOT, PublishedExperiment

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
    faulty = {experiment.name for experiment in found if experiment.is_unannounced}
    again = {
        experiment.name
        for experiment in found
        if experiment.clock == "virtual" and not experiment.is_unannounced
    }
    note = textwrap.fill(
        f"**Not final:** {len(faulty)} campaigns loaded pages from servers that did not announce"
        f" HTTP/3 to the browser ([decision 65]({FAULT})). {len(faulty & again)} of them have run"
        " again in virtual time; the page of results names each.",
        LINE,
        break_on_hyphens=False,
    )
    parts = [sentence, results_answers.overview(found, RESULTS)]
    return "\n\n".join([*parts, note] if faulty else parts)


def _campaigns(folder: Path, studies: set[str]) -> int:
    """Count the experiment files of some studies: each is a campaign."""
    return sum(path.parent.name in studies for path in folder.glob("*/*.toml"))
