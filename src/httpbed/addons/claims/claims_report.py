"""The verdicts on a campaign's claims, on the terminal and as JSON values."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from httpbed.addons.claims import compiled_claim
from httpbed.addons.claims.claim_evidence_report import ClaimEvidence
from httpbed.addons.claims.claim_outlook import MAX_BLOCKS
from httpbed.addons.claims.claim_verdict import (
    CELLS,
    VERDICTS,
    CellValue,
    ClaimEstimate,
    ClaimVerdict,
)
from httpbed.addons.claims.judging import ArmJudgement, JudgedClaim
from httpbed.addons.claims.region import PLAIN, Region, parse_region
from httpbed.addons.claims.stated_claim import StatedClaim
from httpbed.addons.conformance import senders_report as senders
from httpbed.base.errors import visible
from httpbed.report.manifest import certificate, uncovered
from httpbed.report.phrasing import (
    counted,
    few,
    in_one_line,
    listed,
    number_format,
    treatment,
)
from httpbed.report.terminal import Console
from httpbed.store import layout
from httpbed.store.results import Results

COLOURS = {"reproduced": "green", "contradicted": "red", "no difference": "cyan", "open": "yellow"}
SIDES = ("above", "below", "both")
OPEN_END = "?"
INDENT = "    "
MAX_VALUES = 3
"""Cells whose values are all written."""
NOTHING = "nothing, for lack of trials"


def show(results: Results, judged: Sequence[JudgedClaim], out: Console) -> None:
    """Print each claim with its verdict, then what limits all of them."""
    evidence = ClaimEvidence(results)
    for claim in judged:
        for line in _of_claim(claim, evidence, out.width):
            out.print(line)
        out.print()
    out.print(Text(summed_up(judged)))
    for note in notes(results):
        out.print(Text(visible(f"note: {note}")))


def summed_up(judged: Sequence[JudgedClaim]) -> str:
    """Count the claims by their verdicts, and how many of the reproduced ones are robust."""
    text = counted("claim", [claim.main.verdict for claim in judged], VERDICTS)
    robust = sum(claim.robustness == "robust" for claim in judged)
    return f"{text}; robust: {robust}" if robust else text


def values(results: Results, judged: Sequence[JudgedClaim]) -> dict[str, Any]:
    """Return the verdicts for :func:`json.dumps`."""
    evidence, shown = ClaimEvidence(results), effects(judged)
    return {
        "directory": str(results.directory),
        "experiment": results.experiment.name,
        "scale": results.manifest.get("scale"),
        "for_claims": bool(results.manifest.get("for_claims")),
        "claims": [
            {**_values(claim, evidence), "effect": shown[claim.stated.id]} for claim in judged
        ],
        "notes": list(notes(results)),
    }


def notes(results: Results) -> Iterator[str]:
    """Yield what limits all claims: damage, conformance of senders, calibration."""
    yield from layout.damage_lines(results.damaged, results.directory)
    yield from in_one_line(senders.failed(results.manifest), "senders")
    yield from senders.untested(results.manifest, results.directory)
    if reasons := uncovered(results.manifest):
        yield f"not covered by the link certificate: {listed(reasons)}"
    elif not results.manifest.get("link_certificate"):
        yield certificate(results.manifest)


def _of_claim(judged: JudgedClaim, evidence: ClaimEvidence, width: int) -> Iterator[Text]:
    stated, main = judged.stated, judged.main
    line = Text(f"{visible(stated.id)}  ", "bold")
    line.append(main.verdict, COLOURS.get(main.verdict, "dim"))
    if words := robustness(judged):
        line.append(f"; {visible(words)}")
    yield line
    for text in _sentences(judged):
        yield from _indented(text, width)
    for text in limits(judged, evidence):
        yield from _indented(f"note: {text}", width, "dim")


def limits(judged: JudgedClaim, evidence: ClaimEvidence) -> Iterator[str]:
    """Yield each warning once, with the arms that it is about."""
    about: dict[str, list[str]] = {}
    for name, arm in [("as stated", judged.main), *((arm.name, arm) for arm in judged.arms)]:
        for warning in evidence.warnings(arm):
            about.setdefault(warning, []).append(name)
    for warning, names in about.items():
        yield warning if names == ["as stated"] else f"{_where(names)}: {warning}"


def _sentences(judged: JudgedClaim) -> Iterator[str]:
    stated = judged.stated
    yield stated.says
    context = [f"published {stated.published}"] if stated.published else []
    context += [f"expected {stated.expect}"] if stated.expect else []
    context += [stated.source] if stated.source else []
    found = "measured" if judged.main.estimate else "because"
    yield "; ".join([f"{found} {measured(stated, judged.main)}", *context])
    for arm in judged.arms:
        kind = f" ({arm.kind})" if arm.kind != "control" else ""
        yield f"{_where([arm.name])}{kind}: {arm.verdict}, {measured(stated, arm)}"


def _indented(text: str, width: int, style: str = "") -> Iterator[Text]:
    room = max(20, width - len(INDENT))
    for line in textwrap.wrap(visible(text), room, subsequent_indent=INDENT):
        yield Text(f"{INDENT}{line}", style)


def robustness(judged: JudgedClaim) -> str:
    """Return in words whether the verdict is the same in all arms; empty without arms."""
    arms = {"as stated": judged.main, **{control.name: control for control in judged.controls}}
    by = {
        verdict: [name for name, one in arms.items() if one.verdict == verdict]
        for verdict in VERDICTS
    }
    match judged.robustness:
        case "refuted":
            where = _where([judgement.name for judgement in judged.refuting])
            return f"attribution refuted: the same {where}, without the stated cause"
        case "robust":
            return f"robust: the same {_where([control.name for control in judged.controls])}"
        case "depends":
            failed = [*by["contradicted"], *by["no difference"]]
            return f"holds only {_where(by['reproduced'])}, not {_where(failed)}"
        case "contradicted":
            side = judged.main.side
            return "contradicted in every arm" + (f", {side} the region" if side else "")
        case "open":
            return _open_arms(by, arms)
    return ""


def _open_arms(by: Mapping[ClaimVerdict, Sequence[str]], arms: Mapping[str, ArmJudgement]) -> str:
    """Say which arms leave it open whether a verdict is robust, and why."""
    undecided = [
        f"{verdict} {_where(names)}"
        for verdict in ("no difference", "open", "not run")
        if (names := by[verdict])
    ]
    if undecided:
        return f"robustness open: {'; '.join(undecided)}"
    sides = {side: [name for name, one in arms.items() if one.side == side] for side in SIDES}
    text = "; ".join(f"{side} the region {_where(names)}" for side, names in sides.items() if names)
    return f"contradicted in every arm, not on one side: {text}"


def _where(names: Sequence[str]) -> str:
    own = ["as stated"] if "as stated" in names else []
    arms = [f'"{name}"' for name in names if name != "as stated"]
    word = "arm" if len(arms) == 1 else "arms"
    return listed([*own, *([f"in {word} {listed(arms)}"] if arms else [])])


def measured(stated: StatedClaim, arm: ArmJudgement) -> str:
    """Write an estimate with its interval and number of blocks, or why there is none."""
    if arm.estimate is None:
        return arm.reason
    estimate = arm.estimate
    value, low, high = numbers(stated, estimate)
    interval = f"{100 * estimate.coverage:.0f} % interval {low} .. {high}"
    text = f"{value} ({interval}, n = {block_numbers(estimate.blocks)})"
    if estimate.unit == CELLS and arm.cells:
        text += _exceptions(stated, arm)
    return "; ".join(filter(None, (text, outlook(arm))))


def briefly(stated: StatedClaim, arm: ArmJudgement) -> str:
    """Write the effect with its interval, or why there is none."""
    estimate = arm.estimate
    if estimate is None:
        return NOTHING if arm.verdict == "not run" else arm.reason
    if estimate.unit == CELLS and arm.cells:
        return of_cells(stated, arm)
    value, low, high = numbers(stated, estimate)
    if arm.verdict == "not run":
        # Bounds on what did not run are no measurement.
        ran = named(stated, value, estimate.judged_cells)
        return f"{ran} in the {estimate.judged_cells} of {estimate.cells} cells that ran"
    return f"{named(stated, value, estimate.cells)} [{low}, {high}]"


def effects(judged: Sequence[JudgedClaim]) -> dict[str, str]:
    """Return what each claim measured, by its id; of a combination what its parts measured."""
    own = {claim.stated.id: briefly(claim.stated, claim.main) for claim in judged}
    return own | {
        claim.stated.id: "; ".join(f"{part} {own[part]}" for part in claim.stated.parts)
        for claim in judged
        if claim.stated.parts
    }


def whole(judged: Sequence[JudgedClaim]) -> list[JudgedClaim]:
    """Leave out the parts of combinations, which count with the whole."""
    parts = {part for claim in judged for part in claim.stated.parts}
    return [claim for claim in judged if claim.stated.id not in parts]


def block_numbers(blocks: Sequence[int]) -> str:
    """Write from how many blocks an estimate comes: at least and at most."""
    fewest, most = blocks
    return str(fewest) if fewest == most else f"{fewest} to {most}"


def outlook(arm: ArmJudgement) -> str:
    """Say what would settle an estimate; empty where it is settled."""
    estimate = arm.estimate
    if arm.verdict not in {"open", "not run"} or estimate is None:
        return ""
    if estimate.not_run:
        return f"{estimate.not_run} of {estimate.cells} cells did not run"
    if arm.reason:
        return arm.reason
    if arm.blocks_to_settle is None:
        return ""
    if arm.blocks_to_settle > MAX_BLOCKS:
        return f"even {MAX_BLOCKS} blocks may not settle it"
    return f"about {arm.blocks_to_settle} blocks would settle it"


def _exceptions(stated: StatedClaim, arm: ArmJudgement) -> str:
    """Write the values of the cells, and name those that are not in the region."""
    values = [cell.value.value for cell in arm.cells]
    number, unit = _form(stated, compiled_claim.cell_unit(stated), values)
    low, high = (f"{number(value)}{unit}" for value in (min(values), max(values)))
    text = f", values {low} to {high}" if low != high else f", value {low}"
    outside = [
        f"{treatment(cell.levels, cell.levels)} ({number(value)}{unit})"
        for cell, value in zip(arm.cells, values, strict=True)
        if not cell.is_inside
    ]
    return f"{text}; outside: {'; '.join(few(outside, 'cells'))}" if outside else text


def _form(
    stated: StatedClaim, unit: str, values: Sequence[float]
) -> tuple[Callable[[float], str], str]:
    """Return how some values of a claim are written, and what follows a value with its unit."""
    if unit != PLAIN and stated.metric:
        form = number_format(stated.metric, values)
        return (
            lambda value: form.number(value) if math.isfinite(value) else OPEN_END,
            f" {form.unit}".rstrip(),
        )
    if not is_share(stated):
        return lambda value: _plain(value, 3), ""
    # 36.8 % of the cells less 89.5 % are 52.7 points less, and 59 % less.
    return lambda value: _plain(100 * value, 3), " points" if _is_difference(stated) else " %"


def numbers(stated: StatedClaim, estimate: ClaimEstimate) -> tuple[str, str, str]:
    """Write an estimate and the ends of its interval."""
    ends = (estimate.value.value, estimate.low, estimate.high)
    if estimate.unit == CELLS:
        _, low, high = (_plain(end, 0) for end in ends)
        return f"{estimate.value.value:.0f} of {estimate.cells} cells", low, high
    beyond = f"{estimate.value.beyond} " if estimate.value.beyond else ""
    number, unit = _form(stated, estimate.unit, ends)
    value, low, high = map(number, ends)
    return f"{beyond}{value}{unit}", low, f"{high}{unit}"


def _is_difference(stated: StatedClaim) -> bool:
    last = stated.compare[-1].by if stated.compare and not stated.share_in else ""
    return bool(stated.minus or stated.minus_other) or last == "difference"


def is_share(stated: StatedClaim) -> bool:
    """Whether an estimate without unit is a share of something."""
    if stated.share_in or stated.flip or stated.estimate == "violation":
        return True
    if stated.count_in or stated.rank_of or stated.take == "spread" or stated.trend or stated.knee:
        return False
    is_gain = any(contrast.by == "gain" for contrast in stated.compare)
    is_ratio = bool(stated.compare) and stated.compare[-1].by == "ratio"
    return stated.estimate == "success" or (is_gain and not is_ratio)


def _plain(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return OPEN_END
    return f"{value:.{digits}g}" if digits else f"{value:.0f}"


def _values(judged: JudgedClaim, evidence: ClaimEvidence) -> dict[str, Any]:
    stated = judged.stated
    return {
        "id": stated.id,
        "says": stated.says,
        "source": stated.source,
        "published": stated.published,
        "expected": stated.expect,
        "parts": list(stated.parts),
        "robustness": judged.robustness,
        "robustness_in_words": robustness(judged),
        **_arm_values(stated, judged.main, evidence),
        "arms": [
            {"name": arm.name, "kind": arm.kind, **_arm_values(stated, arm, evidence)}
            for arm in judged.arms
        ],
    }


def _arm_values(
    stated: StatedClaim, arm: ArmJudgement, evidence: ClaimEvidence
) -> Mapping[str, Any]:
    estimate, trials = arm.estimate, evidence.trials(arm)
    return {
        "verdict": arm.verdict,
        "reason": arm.reason,
        "estimate": estimate_values(estimate) if estimate else None,
        "measured": measured(stated, arm),
        "outlook": outlook(arm),
        "blocks_to_settle": arm.blocks_to_settle,
        "cells": [_cell_values(cell) for cell in arm.cells],
        "trials": {"planned": trials.planned, **dict(sorted(trials.outcomes.items()))},
        "warnings": list(evidence.warnings(arm)),
    }


def _cell_values(cell: CellValue) -> Mapping[str, Any]:
    ends = {"low": cell.low, "high": cell.high}
    return {
        "levels": dict(cell.levels),
        "value": cell.value.value,
        "beyond": cell.value.beyond,
        **{name: finite(end) for name, end in ends.items()},
        "is_inside": cell.is_inside,
    }


def finite(value: float) -> float | None:
    """Return a number that JSON has; None for an infinite one."""
    return value if math.isfinite(value) else None


def estimate_values(estimate: ClaimEstimate) -> Mapping[str, Any]:
    """Return an estimate for :func:`json.dumps`."""
    return {
        "value": estimate.value.value,
        "beyond": estimate.value.beyond,
        "low": finite(estimate.low),
        "high": finite(estimate.high),
        "coverage": estimate.coverage,
        "unit": estimate.unit,
        "blocks": list(estimate.blocks),
        "cells": estimate.cells,
        "judged_cells": estimate.judged_cells,
    }


def named(stated: StatedClaim, value: str, cells: int) -> str:
    """Say what an estimate without unit is: a ratio, a correlation, so many of all cells."""
    if stated.count_in:
        return f"{value} of {cells}"
    if stated.rank_of:
        return f"rank {value} of {cells + 1}"  # the cells are its rivals
    return f"{_statistic(stated)}{value}{_times(stated)}"


def _statistic(stated: StatedClaim) -> str:
    """Name a statistic that is no value of the metric, nor a change of one."""
    if stated.trend:
        return "correlation " if stated.estimate == "correlation" else "rank correlation "
    if stated.knee:
        return "exponent lower by "
    if stated.estimate == "variation" and not stated.share_in:
        return "coefficient of variation " + ("higher by " if stated.minus else "")
    return ""


def _times(stated: StatedClaim) -> str:
    if stated.take == "spread":
        return "x"
    is_of_several = stated.share_in or stated.minus or stated.minus_other
    if is_of_several or not compiled_claim.is_change(stated):
        return ""
    return "x" if stated.compare[-1].by == "ratio" else ""


def of_cells(stated: StatedClaim, arm: ArmJudgement) -> str:
    """Write the effect: ``17.0 s [16.8, 17.3] and 17.2 s [17.0, 17.3]``, or ``worst of 18: ...``.

    The worst cell is the one farthest outside the claim's region, or nearest to its ends.
    """
    texts = [_cell_text(stated, arm, cell) for cell in arm.cells]
    if len(texts) <= MAX_VALUES:
        return listed(texts)
    region = parse_region(stated.expect or "", compiled_claim.cell_unit(stated))
    worst = max(range(len(texts)), key=lambda at: _outside(arm.cells[at].value.value, region))
    inside = sum(cell.is_inside for cell in arm.cells)
    lacking = arm.estimate.cells - len(texts) if arm.estimate else 0
    absent = f", {lacking} missing" if lacking else ""
    return f"worst of {len(texts)}: {texts[worst]}; {inside} of {len(texts)} as claimed{absent}"


def _outside(value: float, region: Region) -> float:
    """Return how far a value lies outside a region; negative inside."""
    return max(region.low - value, value - region.high)


def _cell_text(stated: StatedClaim, arm: ArmJudgement, cell: CellValue) -> str:
    values = [one.value.value for one in arm.cells]
    cell_unit = compiled_claim.cell_unit(stated)
    number, unit = _form(stated, cell_unit, values)
    if cell_unit != PLAIN and stated.metric:
        value = number_format(stated.metric, values).bounded(cell.value)
    else:
        value = named(stated, f"{cell.value.beyond}{number(cell.value.value)}{unit}", 0)
    return f"{value} [{number(cell.low)}, {number(cell.high)}]"
