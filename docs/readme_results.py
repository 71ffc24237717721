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
LINE = 120


def page(text: str, found: Sequence[PublishedExperiment]) -> str:
    """Return the README with the verdicts of today."""
    return marked.replaced(text, "verdicts", "verdicts", _section(found))


def _section(found: Sequence[PublishedExperiment]) -> str:
    stated = _campaigns(ROOT / "experiments", {one.study for one in found})
    names = {one.name for one in found}
    run = f"{len(names)} of {stated} campaigns are [published with their tables]({RESULTS})."
    sentence = textwrap.fill(
        f"{run} {results_answers.summary(found)}", LINE, break_on_hyphens=False
    )
    return f"{sentence}\n\n{results_answers.overview(found, RESULTS)}"


def _campaigns(folder: Path, studies: set[str]) -> int:
    """Count the experiment files of some studies: each is a campaign."""
    return sum(path.parent.name in studies for path in folder.glob("*/*.toml"))
