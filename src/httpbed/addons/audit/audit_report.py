"""What an audit found: the terminal's table."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from httpbed.addons.audit.audit_session import Audit, AuditedTreatment, Verdict
from httpbed.experiment.experiment import Experiment
from httpbed.report import phrasing
from httpbed.report.terminal import Console
from httpbed.results.log_ratio import EQUIVALENCE_MARGIN as MARGIN
from httpbed.results.sample import Bounded

KEY_WIDTH = 9
STYLES: dict[Verdict, str] = {"same": "green", "disturbed": "red", "open": "yellow"}


def show(audit: Audit, experiment: Experiment, jobs: str, out: Console) -> None:
    """Print a line for each treatment, then what the verdict rests on.

    ``jobs`` is the value of ``--jobs``.
    """
    metric = experiment.report.metric
    varying = [name for name in experiment.factors if _varies(audit, name)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in varying:
        table.add_column(phrasing.title(name))
    for name in ("n", f"{phrasing.title(metric)} alone", "side by side", "90 % interval"):
        table.add_column(name, justify="right")
    table.add_column("")
    number = phrasing.number_format(
        metric, [treatment.alone for treatment in audit.treatments if treatment.n]
    )
    for treatment in audit.treatments:
        levels = [treatment.levels[name] for name in varying]
        alone = (
            phrasing.DASH
            if math.isnan(treatment.alone)
            else number.bounded(Bounded(treatment.alone))
        )
        ends = [*levels, str(treatment.n), alone, _ratio(treatment), _interval(treatment)]
        table.add_row(*map(Text, ends), Text(treatment.verdict, STYLES[treatment.verdict]))
    out.print(table)
    out.print()
    for key, line in closing(audit, jobs):
        out.print(Text(f"{key:<{KEY_WIDTH}}  {line}"), soft_wrap=True)


def closing(audit: Audit, jobs: str) -> Iterator[tuple[str, str]]:
    """Yield what the verdict rests on, line by line, and the verdict."""
    yield "compared", _compared(audit)
    yield "null", _null(audit)
    for name, (alone, beside) in audit.claims.items():
        yield "claim", f"{name}: {alone} one at a time, {beside} side by side"
    if audit.lost:
        yield "lost", f"{audit.lost} blocks have a value one at a time, but not side by side"
    yield "cost", _cost(audit)
    yield "verdict", _verdict(audit, jobs)


def _compared(audit: Audit) -> str:
    total = len(audit.treatments)
    return (
        f"within {phrasing.percent(MARGIN)} of one at a time: {audit.same} of {total} treatments;"
        f" disturbed: {audit.disturbed}; not settled: {total - audit.same - audit.disturbed}"
    )


def _null(audit: Audit) -> str:
    return (
        f"both runs side by side differ in {audit.differing_nulls} of {len(audit.treatments)}"
        f" treatments; chance explains {audit.most_nulls}"
    )


def _cost(audit: Audit) -> str:
    beside = [phrasing.brief_duration(one.lasted_s) for one in audit.beside]
    invalid = [str(one.invalid) for one in (audit.alone, *audit.beside)]
    return (
        f"{phrasing.brief_duration(audit.alone.lasted_s)} one at a time,"
        f" {' and '.join(beside)} side by side ({audit.speed_up:.1f}x as fast);"
        f" invalid attempts {', '.join(invalid)}"
    )


def _verdict(audit: Audit, jobs: str) -> str:
    if audit.failed:
        return f"--jobs {jobs} changes the numbers of these trials: try fewer"
    if not audit.passed:
        return "open: no treatment is known to be the same; more replicates may settle it"
    return f"--jobs {jobs} gives the numbers of one at a time here"


def _varies(audit: Audit, name: str) -> bool:
    return len({one.levels[name] for one in audit.treatments}) > 1


def _ratio(one: AuditedTreatment) -> str:
    return phrasing.DASH if math.isnan(one.ratio) else f"{one.ratio:.3f}x"


def _interval(one: AuditedTreatment) -> str:
    if math.isinf(one.high):
        return phrasing.DASH
    return f"{one.low:.3f} .. {one.high:.3f}"
