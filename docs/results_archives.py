"""The published archives with their verdicts, in the papers' order.

An experiment may have several archives: one in real time in ``results/STUDY/EXPERIMENT``, one in
virtual time in ``results/virtual``, and some with other seeds in ``results/repeated``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from httpbed.addons.claims.claims_section_report import Coverage, coverage
from httpbed.experiment import parser
from httpbed.experiment.experiment import Experiment
from httpbed.store import query
from httpbed.store.results import Results

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "results"
VIRTUAL, REPEATED = "virtual", "repeated"
PAPERS = {
    "liu2024": ("Liu et al. 2024 and 2025", "HTTP/3 and HTTP/2, with and without a proxy"),
    "biswal2016": ("Biswal and Gnawali 2016", "does QUIC make the web faster?"),
    "zhang2023": ("Zhang and Song 2023", "HTTP/3 and HTTP/1.1 under congestion"),
    "ranjan2019": ("Ranjan 2019", "pages of few and many images"),
}
"""Authors and years of a study's papers, and its subject, in the order of the page."""
ANNOUNCED_SINCE = "2026-11-28T11:40"
"""Since when servers announce HTTP/3 to browsers."""
_ID = re.compile(r"([A-Z]+)-(\d+)(.*)")
Claim = Mapping[str, Any]
Clock = Literal["real", "virtual"]


@dataclass(frozen=True)
class PublishedExperiment:
    """One archive of an experiment, and the verdicts on its claims."""

    folder: Path
    results: Results
    claims: Sequence[Claim]

    @property
    def study(self) -> str:
        """The name of the study's folder."""
        return self.folder.parent.name

    @property
    def name(self) -> str:
        """The names of the study and of the experiment."""
        return f"{self.study}/{self.folder.name}"

    @property
    def place(self) -> str:
        """The path of the archive below ``results/``."""
        above = self.folder.parent.parent
        return f"{above.name}/{self.name}" if above.name in {VIRTUAL, REPEATED} else self.name

    @property
    def clock(self) -> Clock:
        """The clock of its trials."""
        return "virtual" if self.results.manifest.get("clock") == "virtual" else "real"

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of its blocks."""
        return tuple(sorted({*self.results.seeds.values()} or {self.results.experiment.seed}))

    @property
    def is_repetition(self) -> bool:
        """Whether it has another seed than the first archive of its clock."""
        return self.place.startswith(f"{REPEATED}/")

    @property
    def is_unannounced(self) -> bool:
        """Whether it has page loads from servers that did not announce HTTP/3 (decision 65)."""
        manifest = self.results.manifest
        return bool(manifest.get("sites")) and manifest["started"] < ANNOUNCED_SINCE

    @cached_property
    def stated(self) -> Experiment:
        """What its experiment file says today."""
        file = ROOT / "experiments" / f"{self.name}.toml"
        found = parser.read_valid(file.read_text()).experiment
        if found is None:
            raise ValueError(file)
        return found

    @cached_property
    def ran(self) -> Coverage | None:
        """How much of the paper's design it has."""
        return coverage(self.results, self.stated)


def read(published: Path = PUBLISHED) -> list[PublishedExperiment]:
    """Read the published archives of studies, in the papers' order; those in real time come first.

    An archive without claims, such as that of the matrix of stacks, is no study's.
    """
    above = (published, published / VIRTUAL, published / REPEATED)
    found = [
        PublishedExperiment(file.parent, query.read(file.parent), _claims(file.parent))
        for folder in above
        for file in folder.glob("*/*/manifest.json")
        if file.parent.parent.name not in {VIRTUAL, REPEATED}
    ]
    return sorted(
        (experiment for experiment in found if experiment.claims or experiment.study in PAPERS),
        key=_place,
    )


def _claims(folder: Path) -> list[dict[str, Any]]:
    file = folder / "claims.json"
    claims: list[dict[str, Any]] = json.loads(file.read_text())["claims"] if file.exists() else []
    return claims


def _place(one: PublishedExperiment) -> tuple[int, tuple[int, str], str, bool, str]:
    """Order experiments as their papers order the claims."""
    known = [*PAPERS]
    rank = known.index(one.study) if one.study in known else len(known)
    first = min((place(claim) for claim in one.claims), default=(0, ""))
    return rank, first, one.name, one.is_repetition, one.clock


def place(claim: Claim) -> tuple[int, str]:
    """Return the place of a claim in its paper: L-1, L-1a, L-2."""
    found = _ID.fullmatch(claim["id"])
    return (int(found[2]), found[3]) if found else (0, claim["id"])


def studies(found: Sequence[PublishedExperiment]) -> dict[str, list[PublishedExperiment]]:
    """Group archives by study."""
    grouped: dict[str, list[PublishedExperiment]] = {}
    for experiment in found:
        grouped.setdefault(experiment.study, []).append(experiment)
    return grouped


def whole(claims: Sequence[Claim]) -> list[Claim]:
    """Leave out parts and further readings of claims, such as L-34a2 and B-18-grid."""
    return [claim for claim in claims if (found := _ID.fullmatch(claim["id"])) and not found[3]]
