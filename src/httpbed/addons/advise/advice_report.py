"""Advice on the terminal and as JSON values."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from httpbed.addons.advise import advice_words_report as advice_words
from httpbed.addons.advise.answers import Advice, ConditionsAnswer, ConditionsDistance
from httpbed.addons.advise.question import NEAR_DOUBLINGS, AdviceConditions, PageFacts
from httpbed.addons.advise.ranking import RankedTreatment
from httpbed.addons.claims import claims_report as claims
from httpbed.base import units
from httpbed.base.errors import visible
from httpbed.experiment.metric import METRICS
from httpbed.report.phrasing import number_format
from httpbed.report.terminal import Console

MOST_SHOWN = 3
"""Conditions that are shown; the others are counted."""
LABEL = 11
NOT_MEASURED = "not measured"
RULE = (
    f"conditions are near if no factor differs by more than {NEAR_DOUBLINGS:g} doubling; delay"
    " and loss count after adding 1 ms and 0.1 %"
)


def show(advice: Advice, out: Console) -> None:
    """Print the answer, the nearest conditions first."""
    for label, text in _lines(advice):
        room = max(20, out.width - LABEL)
        wrapped = textwrap.wrap(visible(text), room, break_on_hyphens=False)
        for number, line in enumerate(wrapped or [""]):
            out.print(Text(f"{'' if number else label:<{LABEL}}{line}".rstrip()))


def _lines(advice: Advice) -> Iterator[tuple[str, str]]:
    better = METRICS[advice.metric].better
    title = METRICS[advice.metric].title
    yield "question", f"{conditions(advice.wanted)}; by {title}, {better} is better"
    for one in advice.near[:MOST_SHOWN]:
        yield "", ""
        yield from _answer(one)
    if len(advice.near) > MOST_SHOWN:
        yield "also", f"{len(advice.near) - MOST_SHOWN} more near conditions; --json has all"
    if not advice.near:
        yield from _not_measured(advice)
    yield "", ""
    yield "rule", RULE
    if advice.left_out:
        yield "left out", _left_out(advice.left_out)
    notes = dict.fromkeys(
        note for one in advice.near[:MOST_SHOWN] for note in claims.notes(one.at.measured.results)
    )
    for note in notes:
        yield "note", note


def _answer(one: ConditionsAnswer) -> Iterator[tuple[str, str]]:
    yield "measured", _place(one.at)
    yield "distance", advice_words.differences(one.at)
    yield "answer", advice_words.verdict(one)
    names = advice_words.names(one.at.measured)
    values = [found.estimate.median.value for found in one.ranking.treatments if found.estimate]
    form = number_format(one.ranking.metric, values)
    for found in one.ranking.treatments:
        yield found.standing, f"{names[found.key]}: {advice_words.standing(found, form)}"


def _place(at: ConditionsDistance) -> str:
    beside = "".join(f", {text}" for text in at.measured.beside)
    return f"{conditions(at.measured.conditions)}{beside}; campaign {at.measured.results.directory}"


def conditions(one: AdviceConditions) -> str:
    """Write conditions: ``10 Mbit/s, 25 ms one way, 2 % loss, 1 MB``."""
    network = [
        units.format_rate(one.rate_bit_s),
        f"{units.format_duration(one.delay_s)} one way",
        f"{units.format_share(one.loss)} loss",
    ]
    return ", ".join([*network, _fetched(one.fetched)])


def _fetched(fetched: int | PageFacts) -> str:
    if isinstance(fetched, PageFacts):
        weight = units.format_size(fetched.weight_bytes, units.SHORT_DIGITS)
        return f"page {fetched.name} ({weight}, {fetched.requests} requests)"
    return units.format_size(fetched)


def _not_measured(advice: Advice) -> Iterator[tuple[str, str]]:
    yield "answer", f"{NOT_MEASURED}: no campaign has conditions that are near in every factor"
    is_page = isinstance(advice.wanted.fetched, PageFacts)
    if not advice.far:
        yield "nearest", f"none: they {'load no page' if is_page else 'fetch no single file'}"
    for one in advice.far[:MOST_SHOWN]:
        yield "nearest", f"{_place(one)}: {advice_words.differences(one)}"
    if isinstance(advice.wanted.fetched, int):
        yield "to measure", _command(advice.wanted, advice.wanted.fetched)


def _command(wanted: AdviceConditions, size: int) -> str:
    words = [
        "httpbed",
        "compare",
        "curl:h2",
        "curl:h3",
        f"--rate={units.format_rate(wanted.rate_bit_s).replace(' ', '')}",
        f"--delay={units.format_duration(wanted.delay_s).replace(' ', '')}",
        f"--loss={units.format_share(wanted.loss).replace(' ', '')}",
        f"--size={units.format_size(size).replace(' ', '')}",
    ]
    return shlex.join(words)


def _left_out(left_out: Counter[str]) -> str:
    total = left_out.total()
    reasons = ", ".join(f"{name} ({number})" for name, number in left_out.most_common())
    plural = "s" * (total != 1)
    return f"{total} treatment{plural} with properties that no question names: {reasons}"


def values(advice: Advice) -> dict[str, Any]:
    """Return the advice for :func:`json.dumps`."""
    return {
        "schema": 1,
        "question": _condition_values(advice.wanted),
        "metric": advice.metric,
        "unit": METRICS[advice.metric].unit,
        "better": METRICS[advice.metric].better,
        "answer": advice.near[0].ranking.verdict if advice.near else NOT_MEASURED,
        "rule": RULE,
        "near": [_answer_values(one) for one in advice.near],
        "far": [_distance_values(one) for one in advice.far[:MOST_SHOWN]],
        "left_out": dict(advice.left_out),
    }


def _condition_values(one: AdviceConditions) -> dict[str, Any]:
    fetched = one.fetched
    if isinstance(fetched, PageFacts):
        what: dict[str, Any] = {
            "page": fetched.name,
            "page_bytes": fetched.weight_bytes,
            "page_requests": fetched.requests,
        }
    else:
        what = {"size_bytes": fetched}
    return {"rate_bit_s": one.rate_bit_s, "delay_s": one.delay_s, "loss": one.loss, **what}


def _distance_values(at: ConditionsDistance) -> dict[str, Any]:
    return {
        "campaign": str(at.measured.results.directory),
        "conditions": _condition_values(at.measured.conditions),
        "beside": list(at.measured.beside),
        "distance_doublings": claims.finite(at.doublings),
        "differences": {
            one.factor: {
                "wanted": one.wanted,
                "measured": one.measured,
                "doublings": claims.finite(one.doublings),
            }
            for one in at.differences
        },
    }


def _answer_values(one: ConditionsAnswer) -> dict[str, Any]:
    names = advice_words.names(one.at.measured)
    return {
        **_distance_values(one.at),
        "verdict": one.ranking.verdict,
        "verdict_in_words": advice_words.verdict(one),
        "treatments": [
            _treatment_values(one, found, names[found.key]) for found in one.ranking.treatments
        ],
        "notes": list(claims.notes(one.at.measured.results)),
    }


def _treatment_values(one: ConditionsAnswer, found: RankedTreatment, name: str) -> dict[str, Any]:
    scenario = one.at.measured.scenario(found.key)
    interval = found.estimate.interval if found.estimate else None
    tally, ratio = found.sample.tally, found.ratio
    return {
        "name": name,
        "http_version": scenario.roles.client.http_version,
        "congestion_control": advice_words.controls(one.at.measured, found.key),
        "proxies": [proxy.implementation for proxy in scenario.roles.proxies],
        "levels": dict(found.sample.levels),
        "standing": found.standing,
        "n": found.sample.n,
        "completed": tally.completed,
        "planned": tally.planned,
        "median": found.estimate.median.value if found.estimate else None,
        "beyond": found.estimate.median.beyond if found.estimate else "",
        "low": interval.low.value if interval else None,
        "high": interval.high.value if interval else None,
        "coverage": interval.coverage if interval else None,
        "ratio_to_best": claims.estimate_values(ratio.estimate) if ratio.estimate else None,
        "reason": ratio.reason,
        "blocks_to_settle": ratio.blocks_to_settle,
    }
