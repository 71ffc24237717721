"""The published archives with their verdicts, in the papers' order."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from httpbed.experiment import parser
from httpbed.experiment.experiment import Experiment
from httpbed.store import query
from httpbed.store.results import Results

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "results"
PAPERS = {
    "liu2024": ("Liu et al. 2024 and 2025", "HTTP/3 and HTTP/2, with and without a proxy"),
    "biswal2016": ("Biswal and Gnawali 2016", "does QUIC make the web faster?"),
    "zhang2023": ("Zhang and Song 2023", "HTTP/3 and HTTP/1.1 under congestion"),
    "ranjan2019": ("Ranjan 2019", "pages of few and many images"),
}
"""Authors and years of a study's papers, and its subject, in the order of the page."""
_ID = re.compile(r"([A-Z]+)-(\d+)(.*)")
Claim = Mapping[str, Any]


@dataclass(frozen=True)
class PublishedExperiment:
    """One experiment's results: its archive and the verdicts on its claims."""

    folder: Path
    results: Results
    claims: Sequence[Claim]

    @property
    def study(self) -> str:
        """The name of the study's folder."""
        return self.folder.parent.name

    @property
    def name(self) -> str:
        """The names of both folders."""
        return f"{self.study}/{self.folder.name}"

    @cached_property
    def stated(self) -> Experiment:
        """What its experiment file says today."""
        file = ROOT / "experiments" / f"{self.name}.toml"
        found = parser.read_valid(file.read_text()).experiment
        if found is None:
            raise ValueError(file)
        return found


def read(published: Path = PUBLISHED) -> list[PublishedExperiment]:
    """Read all published results, in the papers' order."""
    found = [
        PublishedExperiment(file.parent, query.read(file.parent), _claims(file.parent))
        for file in published.glob("*/*/manifest.json")
    ]
    return sorted(found, key=_place)


def _claims(folder: Path) -> list[dict[str, Any]]:
    file = folder / "claims.json"
    claims: list[dict[str, Any]] = json.loads(file.read_text())["claims"] if file.exists() else []
    return claims


def _place(one: PublishedExperiment) -> tuple[int, tuple[int, str], str]:
    """Order experiments as their papers order the claims."""
    known = [*PAPERS]
    rank = known.index(one.study) if one.study in known else len(known)
    first = min((place(claim) for claim in one.claims), default=(0, ""))
    return rank, first, one.name


def place(claim: Claim) -> tuple[int, str]:
    """Return the place of a claim in its paper: L-1, L-1a, L-2."""
    found = _ID.fullmatch(claim["id"])
    return (int(found[2]), found[3]) if found else (0, claim["id"])


def studies(found: Sequence[PublishedExperiment]) -> dict[str, list[PublishedExperiment]]:
    """Group experiments by study."""
    grouped: dict[str, list[PublishedExperiment]] = {}
    for one in found:
        grouped.setdefault(one.study, []).append(one)
    return grouped


def claims_of(found: Sequence[PublishedExperiment]) -> list[Claim]:
    """Return the claims of some experiments, in the paper's order."""
    return sorted((claim for one in found for claim in one.claims), key=place)


def whole(claims: Sequence[Claim]) -> list[Claim]:
    """Leave out parts and further readings of claims, such as L-34a2 and B-18-grid."""
    return [claim for claim in claims if (found := _ID.fullmatch(claim["id"])) and not found[3]]
