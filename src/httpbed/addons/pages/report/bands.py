"""Bands of the Speed Index in words: how many loads were fast, moderate and slow."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.addons.handover.handovers_report import Column
from httpbed.addons.pages.load.speed_index import MODERATE_FROM_S, SLOW_ABOVE_S, Band
from httpbed.report.phrasing import DASH
from httpbed.results.findings import Findings, Row

HEADER = "loads by band"
NAMES: tuple[Band, ...] = ("fast", "moderate", "slow")
MEANING = (
    f"Loads are fast with a Speed Index below {MODERATE_FROM_S} s, moderate up to {SLOW_ABOVE_S} s,"
    " and slow above (Liu et al. 2024, section 4.4)."
)


def brief(findings: Findings) -> Iterator[Column]:
    """Yield the column of bands, where loads have a Speed Index."""
    rows = [row for _, row in findings.rows()]
    if any(row.bands for row in rows):
        yield Column(HEADER, tuple(cell(row) for row in rows), right=False)


def cell(row: Row) -> str:
    """Count a treatment's loads in each band: ``4 fast, 1 slow``."""
    texts = [f"{row.bands[band]} {band}" for band in NAMES if row.bands and row.bands[band]]
    return ", ".join(texts) or DASH
