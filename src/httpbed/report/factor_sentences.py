"""One sentence for each factor: where its levels differ from a reference, and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from httpbed.report.phrasing import listed, percent, ratio_text, sentence_case, title
from httpbed.report.sentence import Sentence
from httpbed.results.comparison import EQUAL_MARGIN, Ratio
from httpbed.results.effects import FactorEffect, LevelEffect
from httpbed.results.estimate import CONFIDENCE
from httpbed.results.log_ratio import Standing

MOST_LEVELS = 4
"""Of a factor, that a sentence describes one by one."""
MOST_NAMED = 8
"""Levels that a list names."""
EQUAL = f"equal to within {percent(EQUAL_MARGIN)}"


def sentences(metric: str, effects: Iterable[FactorEffect]) -> list[Sentence]:
    """Describe what each factor did to a metric."""
    return [_sentence(metric, effect) for effect in effects]


def less_and_more(metric: str) -> tuple[str, str]:
    """Return what a treatment with a smaller, and with a larger, value did."""
    if metric == "request_time":
        return "needed less time", "needed more time"
    if metric == "page_load_time":
        return "loaded the page in less time", "loaded the page in more time"
    return f"had a lower {title(metric)}", f"had a higher {title(metric)}"


def unsettled(ratios: Sequence[Ratio]) -> str:
    """Return ``not settled with 4 blocks``."""
    return f"not {_settled(ratios)}"


def _settled(ratios: Sequence[Ratio]) -> str:
    sizes = sorted({ratio.n for ratio in ratios})
    n = " to ".join(dict.fromkeys(map(str, (sizes[0], sizes[-1]))))
    return f"settled with {n} block{'s' * (sizes[-1] > 1)}"


def extremes(ratios: Sequence[Ratio]) -> str:
    """Return the smallest and the largest of some ratios: ``0.68x to 0.91x``."""
    ordered = sorted(ratios, key=lambda ratio: ratio.value.value)
    ends = (ratio_text(ordered[0].value), ratio_text(ordered[-1].value))
    return " to ".join(dict.fromkeys(ends))


def _sentence(metric: str, effect: FactorEffect) -> Sentence:
    about, against = sentence_case(title(effect.factor)), f"against {_name(effect)}"
    every = [ratio for one in effect.levels for ratio in one.ratios]
    if not every:
        return Sentence("no two treatments with values differ in this factor alone", about=about)
    judgements = {ratio.judgement for ratio in every}
    if judgements == {"open"}:
        none = {1: "the one cell is", 2: "neither cell is"}.get(len(every))
        text = f"{against}, {none or f'none of {len(every)} cells is'} "
        settled = _settled(every) if len(every) > 1 else unsettled(every)
        return Sentence(f"{text}{settled} ({extremes(every)})", about=about)
    if judgements <= {"equal", "open"}:
        text = f"changed nothing that is settled {against}: {', '.join(_undirected(every))}"
        return Sentence(text if "open" in judgements else _nothing(every, against), about=about)
    if len(effect.levels) > 1 and all(len(one.ratios) == 1 for one in effect.levels):
        return Sentence(f"{against}, {'; '.join(_by_direction(metric, effect))}", about=about)
    return Sentence(f"{against}, {'; '.join(_by_level(metric, effect))}", about=about)


def _nothing(every: Sequence[Ratio], against: str) -> str:
    return f"changed nothing {against}: {EQUAL} in {_of_all(every)}"


def _of_all(ratios: Sequence[Ratio]) -> str:
    count = len(ratios)
    return {1: "the one cell", 2: "both cells"}.get(count, f"all {count} cells")


def _by_level(metric: str, effect: FactorEffect) -> Iterator[str]:
    """Describe the levels with most settled differences, and count the others."""
    ordered = sorted(effect.levels, key=_weight, reverse=True)
    shown = [one for one in ordered if _differing(one)]
    if len(effect.levels) <= MOST_LEVELS:
        shown = list(effect.levels)
    for one in shown[:MOST_LEVELS]:
        yield _level(metric, _text(effect.factor, one.level), one.ratios)
    if more := shown[MOST_LEVELS:]:
        yield f"{_names(effect, more)} differed in some cells"
    if same := [one for one in ordered if one not in shown]:
        yield f"no difference is settled for {_names(effect, same)}"


def _level(metric: str, subject: str, ratios: Sequence[Ratio]) -> str:
    less, more = less_and_more(metric)
    by = {side: [one for one in ratios if one.judgement == side] for side in ("less", "more")}
    other = _undirected(ratios)
    if len(ratios) == 1:
        verb = f"{less if by['less'] else more} ({extremes(ratios)})"
        return f"{subject} {verb}" if by["less"] or by["more"] else f"{subject} was {other[0]}"
    first, second = ("less", "more") if len(by["less"]) >= len(by["more"]) else ("more", "less")
    if not by[first]:
        return f"{subject} differed in no settled cell: {', '.join(other)}"
    verbs = {"less": less, "more": more}
    texts = [f"{subject} {verbs[first]} in {_count(by[first], ratios)} ({extremes(by[first])})"]
    if len(by[first]) < len(ratios):
        found = f"{len(by[second])} ({extremes(by[second])})" if by[second] else "none"
        texts.append(f"{second} in {found}")
    if len(by["less"]) + len(by["more"]) <= (1 - CONFIDENCE) * len(ratios):
        texts.append("no more than chance gives")
    return ", ".join([*texts, *other])


def _count(some: Sequence[Ratio], ratios: Sequence[Ratio]) -> str:
    return _of_all(ratios) if len(some) == len(ratios) else f"{len(some)} of {len(ratios)} cells"


def _undirected(ratios: Sequence[Ratio]) -> list[str]:
    """Count the cells without a direction: equal, or not settled."""
    equal, open_ones = (
        [one for one in ratios if one.judgement == judgement] for judgement in ("equal", "open")
    )
    alone = len(ratios) == 1
    texts = [EQUAL if alone else f"{EQUAL} in {len(equal)}"] if equal else []
    if open_ones:
        texts.append(unsettled(open_ones) if alone else f"{len(open_ones)} {unsettled(open_ones)}")
    return texts


def _by_direction(metric: str, effect: FactorEffect) -> Iterator[str]:
    """Name the levels by what they did, each with its ratio: each has one cell."""
    less, more = less_and_more(metric)
    words: dict[Standing, str] = {"less": less, "more": more, "equal": f"were {EQUAL}"}
    for judgement, verb in words.items():
        if some := [one for one in effect.levels if one.ratios[0].judgement == judgement]:
            was = verb.replace("were", "was") if len(some) == 1 else verb
            yield f"{_names(effect, some, ratios=judgement != 'equal')} {was}"
    if left := [one for one in effect.levels if one.ratios[0].judgement == "open"]:
        verb = "is" if len(left) == 1 else "are"
        yield f"{_names(effect, left)} {verb} {unsettled([one.ratios[0] for one in left])}"


def _names(effect: FactorEffect, levels: Sequence[LevelEffect], *, ratios: bool = False) -> str:
    names = [
        _text(effect.factor, one.level) + (f" ({extremes(one.ratios)})" if ratios else "")
        for one in levels[:MOST_NAMED]
    ]
    left = len(levels) - len(names)
    return listed([*names, f"{left} more"] if left else names)


def _differing(effect: LevelEffect) -> int:
    return sum(one.judgement in {"less", "more"} for one in effect.ratios)


def _weight(effect: LevelEffect) -> tuple[int, float]:
    """Order levels: by the number of cells that differ, then by the largest difference."""
    sizes = (abs(math.log(one.value.value)) for one in effect.ratios if one.value.value > 0)
    return _differing(effect), max(sizes, default=0.0)


def _name(effect: FactorEffect) -> str:
    return _text(effect.factor, effect.reference)


def _text(factor: str, level: str) -> str:
    return f"HTTP/{level}" if factor == "http_version" else level
