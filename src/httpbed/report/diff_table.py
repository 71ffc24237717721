"""The comparison of two campaigns, on the terminal and as JSON values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from httpbed.experiment.design import Difference
from httpbed.experiment.metric import METRICS
from httpbed.report import change_table
from httpbed.report.document import Cell, Column, Tone
from httpbed.report.terminal import Console
from httpbed.results.campaign_comparison import TreatmentDifference
from httpbed.store import resume
from httpbed.store.results import Results


def changes(old: Results, new: Results, settings: Sequence[Difference]) -> list[Difference]:
    """List what differs between the campaigns besides their results: settings and versions."""
    versions = [
        Difference(name, before, now)
        for name, before, now in resume.differences(old.manifest, new.manifest)
    ]
    own = [one.manifest.get("httpbed", "") for one in (old, new)]
    httpbed = [Difference("httpbed", *own)] if own[0] != own[1] else []
    return [*settings, *httpbed, *versions]


def show(differences: Sequence[TreatmentDifference], metric: str, out: Console) -> None:
    """Print a line for each treatment."""
    completed = (
        ", ".join(f"{tally.completed}/{tally.ended}" for tally in one.tallies)
        for one in differences
    )
    words = tuple(Cell(_words(one), tone=_tone(one, metric)) for one in differences)
    last = Column.of("completed", completed), Column("difference", words, wraps=True)
    change_table.show_table(
        change_table.compared_table(differences, metric, *last, sides=("A", "B")), out
    )


def _words(difference: TreatmentDifference) -> str:
    completes = f"completes {difference.completes}" if difference.completes != "alike" else ""
    if not math.isfinite(difference.ratio):
        return completes or "no ratio: a value is zero or missing"
    return " and ".join(filter(None, (difference.change, completes)))


def _tone(difference: TreatmentDifference, metric: str) -> Tone:
    if difference.completes != "alike":
        return "worse" if difference.completes == "less often" else "better"
    better = METRICS[metric].better
    if difference.change not in ("lower", "higher") or better == "neither":
        return ""
    return "better" if difference.change == better else "worse"


def sentence(differences: Sequence[TreatmentDifference]) -> str:
    """Sum up the treatments in one line."""
    kinds = ("lower", "higher", "equal", "open")
    counts = {kind: sum(one.change == kind for one in differences) for kind in kinds}
    found = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    many = len(differences) > 1
    return f"{len(differences)} treatment{'s' * many}: {found}"


def notes(
    differences: Sequence[TreatmentDifference], alone: tuple[int, int], clocks: Collection[str]
) -> Iterator[str]:
    """Yield what limits the comparison of campaigns by these clocks."""
    if "real" in clocks:
        yield (
            "the campaigns ran at different times: changes of the machine between them count as"
            " changes of the programs"
        )
    unpaired = sum(not one.pairs and math.isfinite(one.ratio) for one in differences)
    if unpaired:
        yield (
            f"{unpaired} of {len(differences)} treatments have no trial in common, so their blocks"
            " are not paired; equal seeds and settings pair them"
        )
    for name, count in zip("AB", alone, strict=True):
        if count:
            yield f"{count} treatment{'s' * (count > 1)} only in {name}, not compared"


def values(
    differences: Sequence[TreatmentDifference],
    changed: Sequence[Difference],
    metric: str,
    alone: tuple[int, int],
) -> Mapping[str, Any]:
    """Return the comparison for :func:`json.dumps`."""
    return {
        "schema": 1,
        "metric": metric,
        "changes": [{"key": one.key, "a": one.before, "b": one.now} for one in changed],
        "treatments": [_values(one) for one in differences],
        "only_in": {"a": alone[0], "b": alone[1]},
    }


def _values(difference: TreatmentDifference) -> Mapping[str, Any]:
    return {
        **change_table.compared_values(difference),
        "low": difference.low if 0 < difference.low < math.inf else None,
        "change": difference.change,
        "completes": difference.completes,
        "coverage": difference.coverage,
        "recorded": [tally.recorded for tally in difference.tallies],
    }
