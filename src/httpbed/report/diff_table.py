"""The comparison of two campaigns, on the terminal and as JSON values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from httpbed.base.errors import visible
from httpbed.experiment.design import Difference
from httpbed.experiment.metric import METRICS
from httpbed.report.phrasing import DASH, compared_blocks, title, whole_treatment
from httpbed.report.terminal import Console
from httpbed.results.campaign_comparison import TreatmentDifference
from httpbed.store import resume
from httpbed.store.results import Results

_BETTER, _WORSE = "green", "red"


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
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    headers = ("treatment", f"{title(metric)}, B / A", "interval", "blocks", "completed", "change")
    for header in headers:
        table.add_column(header)
    for difference in differences:
        table.add_row(
            Text(visible(whole_treatment(difference.levels))),
            f"{difference.ratio:.3f}" if math.isfinite(difference.ratio) else DASH,
            _interval(difference),
            compared_blocks(difference.pairs, difference.blocks),
            ", ".join(f"{tally.completed}/{tally.ended}" for tally in difference.tallies),
            Text(_words(difference), _colour(difference, metric)),
        )
    out.print(table)


def _interval(difference: TreatmentDifference) -> str:
    if difference.coverage == 0:
        return DASH
    low = f"{difference.low:.3f}" if difference.low else "?"
    high = f"{difference.high:.3f}" if math.isfinite(difference.high) else "?"
    return f"{low} .. {high}, {100 * difference.coverage:.0f} %"


def _words(difference: TreatmentDifference) -> str:
    completes = f"completes {difference.completes}" if difference.completes != "alike" else ""
    if not math.isfinite(difference.ratio):
        return completes or "no ratio: a value is zero or missing"
    return " and ".join(filter(None, (difference.change, completes)))


def _colour(difference: TreatmentDifference, metric: str) -> str:
    if difference.completes != "alike":
        return _WORSE if difference.completes == "less often" else _BETTER
    better = METRICS[metric].better
    if difference.change not in ("lower", "higher") or better == "neither":
        return ""
    return _BETTER if difference.change == better else _WORSE


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
    numbers = {
        "ratio": difference.ratio,
        "low": difference.low or math.nan,
        "high": difference.high,
    }
    return {
        "levels": dict(difference.levels),
        "change": difference.change,
        "completes": difference.completes,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "coverage": difference.coverage,
        "pairs": difference.pairs,
        "blocks": list(difference.blocks),
        "completed": [tally.completed for tally in difference.tallies],
        "recorded": [tally.recorded for tally in difference.tallies],
    }
