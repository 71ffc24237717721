"""What a campaign has that nothing installed reads: data of addons that are not there."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.experiment import parser
from httpbed.experiment.check import CHECK_BY_ID
from httpbed.experiment.metric import METRICS
from httpbed.store.results import Results


def unread(results: Results) -> Iterator[str]:
    """Name each kind of unread data."""
    if tables := parser.unread_tables(results.document):
        yield f"the tables {', '.join(tables)} of the experiment"
    for what, column, known in (
        ("metrics", results.observations["metric"], METRICS.keys()),
        ("checks", results.checks["check"], CHECK_BY_ID.keys()),
    ):
        if names := sorted({*column.unique().to_pylist()} - known):
            yield f"the {what} {', '.join(names)}"
