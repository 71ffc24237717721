"""The notes on replayed pages: what a skeleton cannot show, and how a replay differs."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.addons.pages.page_check_table import RECORDING
from httpbed.addons.pages.page_checks import SKELETON
from httpbed.report.document import NoteMaker, ReportInput

MAX_CHANGES = 600
"""Characters of the sentences on one page."""
WITHOUT_MEANING = (
    "parsing, scripts and paints are not the page's, so there is no Speed Index and no paint"
)


def _notes(source: ReportInput) -> Iterator[str]:
    """Yield a note for each recorded page, with its deviations from the HAR file."""
    rows = [row for row in source.results.checks.to_pylist() if row["check"] == RECORDING.id]
    for figure, limit in dict.fromkeys((row["figure"], row["limit"]) for row in rows):
        name, _, changes = str(figure).partition("; ")
        if limit == SKELETON:
            yield f"{name}: {SKELETON} requests its resources; {WITHOUT_MEANING}"
        if changes:
            shown = changes if len(changes) <= MAX_CHANGES else f"{changes[: MAX_CHANGES - 1]}…"
            yield f"{name}: {shown}"


NOTES = NoteMaker("recordings", 85, _notes)
