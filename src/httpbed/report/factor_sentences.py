"""What each factor did, one sentence each: where it gave less or more, and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from httpbed.base.units import format_share
from httpbed.experiment.document import KeyPath, factor_references
from httpbed.experiment.factorial import numeric_levels
from httpbed.experiment.metric import METRICS
from httpbed.report import experiment_words
from httpbed.report.phrasing import (
    Sentence,
    covering,
    level,
    listed,
    ratio_interval,
    ratio_text,
    sentence_case,
    title,
)
from httpbed.results import comparison
from httpbed.results.comparison import (
    EQUAL_MARGIN,
    FactorEffect,
    Interaction,
    LevelEffect,
    Ratio,
)
from httpbed.results.estimate import CONFIDENCE
from httpbed.results.findings import Findings
from httpbed.results.log_ratio import Standing

MAX_LEVELS = 4
"""Most levels of a factor that a sentence describes one by one."""
MAX_NAMED = 8
"""Levels that a list names."""
EQUAL = f"equal to within {format_share(EQUAL_MARGIN)}"
SLOWS: Mapping[str, int] = {
    "rate": -1,
    "delay": 1,
    "jitter": 1,
    "loss": 1,
    "size": 1,
    "files": 1,
    "delay_reading": 1,
}
"""Keys of an experiment, where a larger value makes every transfer slower (1) or faster (-1)."""
SHORT: Mapping[Standing, str] = {"less": "less", "more": "more"}
READINGS = {"round-trip": 1.0, "one-way": 2.0}
"""Levels of ``delay_reading`` by the delay that they give."""


def factor_sentences(
    findings: Findings, document: Mapping[str, Any], effects: Iterable[FactorEffect] | None = None
) -> list[Sentence]:
    """Describe what each factor did to the metric.

    What everybody knows is left out, such as that a higher rate needs less time, unless there is
    nothing else to say.
    """
    every = findings.effects if effects is None else tuple(effects)
    telling = [effect for effect in every if not _is_trivial(findings.metric, document, effect)]
    describe = FactorSentences(findings, document)
    return [describe.sentence(effect) for effect in telling or every]


def _is_trivial(metric: str, document: Mapping[str, Any], effect: FactorEffect) -> bool:
    """Whether a factor only slowed transfers where its value is known to slow them."""
    ratios = [ratio for one in effect.levels for _, ratio in one.directed()]
    cells = sum(len(one.ratios) for one in effect.levels)
    expected = _expected(metric, document, effect)
    if not expected or 2 * len(ratios) < cells:
        return False
    return all(
        ratio.judgement == expected[one.level]
        for one in effect.levels
        for _, ratio in one.directed()
    )


def _expected(
    metric: str, document: Mapping[str, Any], effect: FactorEffect
) -> Mapping[str, Standing]:
    """Return on which side of the reference each level is known to lie; empty if it is not known.

    For times, and for throughputs over other networks.
    """
    keys = {_key(path) for path, name in factor_references(document) if name == effect.factor}
    slows = {SLOWS.get(key, 0) for key in keys}
    is_time = METRICS[metric].unit == "s"
    if len(slows) != 1 or METRICS[metric].better == "neither" or (not is_time and "size" in keys):
        return {}
    levels = [effect.reference, *(one.level for one in effect.levels)]
    known = numeric_levels(levels)
    places = READINGS if set(levels) <= set(READINGS) else known.places if known else {}
    if not places or 0 in slows:
        return {}
    towards_more = slows.pop() * (1 if METRICS[metric].lower_is_better else -1)
    return {
        name: "more" if towards_more * (places[name] - places[effect.reference]) > 0 else "less"
        for name in levels[1:]
    }


def _key(path: KeyPath) -> str:
    """Return the key of an experiment that a reference gives a value."""
    known = [str(key) for key in path if key in SLOWS]
    return known[-1] if known and path[-1] == known[-1] else ""


def less_and_more(metric: str) -> tuple[str, str]:
    """Return what a treatment with a smaller, and with a larger, value did."""
    if metric == "request_time":
        return "needed less time", "needed more time"
    if metric == "page_load_time":
        return "loaded the page in less time", "loaded the page in more time"
    return f"had a lower {title(metric)}", f"had a higher {title(metric)}"


class FactorSentences:
    """The sentences on one campaign's factors."""

    def __init__(self, findings: Findings, document: Mapping[str, Any]) -> None:
        self._findings, self._document = findings, document
        self._less, self._more = less_and_more(findings.metric)
        self._verbs = {"less": self._less, "more": self._more}
        is_of_time = findings.metric in {"request_time", "page_load_time"}
        self._short = SHORT if is_of_time else {"less": "lower", "more": "higher"}

    def sentence(self, effect: FactorEffect) -> Sentence:
        """Describe what a factor did."""
        about, against = sentence_case(title(effect.factor)), f"against {_name(effect)}"
        every = [ratio for one in effect.levels for ratio in one.ratios]
        if not every:
            text = "no two treatments with values differ in this factor alone"
            return Sentence(text, about=about)
        judgements = {ratio.judgement for ratio in every}
        if judgements == {"open"}:
            none = {1: "the one cell is", 2: "neither cell is"}.get(len(every))
            text = f"{against}, {none or f'none of {len(every)} cells is'} "
            settled = _settled(every) if len(every) > 1 else unsettled(every)
            return Sentence(f"{text}{settled} ({extremes(every)})", about=about)
        if judgements <= {"equal", "open"}:
            text = f"changed nothing that is settled {against}: {', '.join(_undirected(every))}"
            return Sentence(text if "open" in judgements else _nothing(every, against), about=about)
        return Sentence(f"{against}, {'; '.join(self._by_level(effect))}", about=about)

    def _by_level(self, effect: FactorEffect) -> Iterator[str]:
        """Describe the levels with most settled differences, and count the others."""
        ordered = sorted(effect.levels, key=_weight, reverse=True)
        shown = [level_effect for level_effect in ordered if _differing(level_effect)]
        if len(effect.levels) <= MAX_LEVELS:
            shown = list(effect.levels)
        for level_effect in shown[:MAX_LEVELS]:
            yield self._level(effect.factor, level_effect)
        if more := shown[MAX_LEVELS:]:
            yield f"{_names(effect, more)} differed in some cells"
        if same := [level_effect for level_effect in ordered if level_effect not in shown]:
            yield f"no difference is settled for {_names(effect, same)}"

    def _level(self, factor: str, effect: LevelEffect) -> str:
        subject, ratios = _text(factor, effect.level), effect.ratios
        if found := comparison.interaction(effect, factor):
            return f"{subject} {self.interaction(found)}"
        sides: tuple[Standing, Standing] = ("less", "more")
        by = {side: [ratio for ratio in ratios if ratio.judgement == side] for side in sides}
        other = _undirected(ratios)
        if len(ratios) == 1:
            verb = f"{self._less if by['less'] else self._more} ({extremes(ratios)})"
            return f"{subject} {verb}" if by["less"] or by["more"] else f"{subject} was {other[0]}"
        first, second = sorted(sides, key=lambda side: -len(by[side]))
        if not by[first]:
            return f"{subject} differed in no settled cell: {', '.join(other)}"
        count = _count(by[first], ratios)
        texts = [f"{subject} {self._verbs[first]} in {count} ({extremes(by[first])})"]
        if by[second]:
            texts.append(f"{self._short[second]} in {len(by[second])} ({extremes(by[second])})")
        if len(by["less"]) + len(by["more"]) <= (1 - CONFIDENCE) * len(ratios):
            texts.append("no more than chance gives")
        return ", ".join([*texts, *other])

    def interaction_alone(
        self, effect: FactorEffect, level_effect: LevelEffect, interaction: Interaction
    ) -> Sentence:
        """Describe where one level gives less and where more, with the interval of each cell."""
        about = sentence_case(title(effect.factor))
        subject = _text(effect.factor, level_effect.level)
        cells = [ratio for _, ratio in level_effect.directed()]
        intervals = ", ".join(ratio_interval(ratio.interval) for ratio in cells)
        text = f"against {_name(effect)}, {subject} {self.interaction(interaction)}"
        covered = covering(ratio.interval for ratio in cells)
        return Sentence(text, f"{covered}: {intervals}" if len(cells) <= MAX_LEVELS else "", about)

    def interaction(self, interaction: Interaction) -> str:
        """Say at which levels of the other factor there is less, and at which more."""
        first, second = sorted(interaction.sides, key=lambda side: -len(interaction.sides[side]))
        return (
            f"{self._verbs[first]} {self._where(interaction, first)}, but {self._short[second]}"
            f" {self._where(interaction, second)}"
        )

    def _where(self, interaction: Interaction, side: Standing) -> str:
        """Name the levels of a side, with their ratios: ``with nginx (1.29x to 1.51x)``."""
        levels = interaction.sides[side]
        place = self._place(interaction.factor, [name for name, _, _ in levels])
        preposition = "at" if interaction.factor in self._findings.network else "with"
        ratios = [ratio for _, _, some in levels for ratio in some]
        cells = sum(count for _, count, _ in levels)
        counted = "" if len(ratios) == cells else f" in {len(ratios)} of {cells} cells"
        return f"{preposition} {place}{counted} ({extremes(ratios)})"

    def _place(self, factor: str, names: Sequence[str]) -> str:
        if factor in self._findings.network:
            return experiment_words.condition(self._document, {factor: listed(names)})
        return listed(level(factor, name) for name in names)


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


def _nothing(every: Sequence[Ratio], against: str) -> str:
    return f"changed nothing {against}: {EQUAL} in {_of_all(every)}"


def _of_all(ratios: Sequence[Ratio]) -> str:
    count = len(ratios)
    return {1: "the one cell", 2: "both cells"}.get(count, f"all {count} cells")


def _count(some: Sequence[Ratio], ratios: Sequence[Ratio]) -> str:
    return _of_all(ratios) if len(some) == len(ratios) else f"{len(some)} of {len(ratios)} cells"


def _undirected(ratios: Sequence[Ratio]) -> list[str]:
    """Count the cells without a direction: equal, or not settled."""
    equal, open_ones = (
        [ratio for ratio in ratios if ratio.judgement == judgement]
        for judgement in ("equal", "open")
    )
    alone = len(ratios) == 1
    texts = [EQUAL if alone else f"{EQUAL} in {len(equal)}"] if equal else []
    if open_ones:
        texts.append(unsettled(open_ones) if alone else f"{len(open_ones)} {unsettled(open_ones)}")
    return texts


def _names(effect: FactorEffect, levels: Sequence[LevelEffect]) -> str:
    names = [_text(effect.factor, one.level) for one in levels[:MAX_NAMED]]
    left = len(levels) - len(names)
    return listed([*names, f"{left} more"] if left else names)


def _differing(effect: LevelEffect) -> int:
    return sum(ratio.judgement in {"less", "more"} for ratio in effect.ratios)


def _weight(effect: LevelEffect) -> tuple[int, float]:
    """Order levels: by the number of cells that differ, then by the largest difference."""
    sizes = (abs(math.log(ratio.value.value)) for ratio in effect.ratios if ratio.value.value > 0)
    return _differing(effect), max(sizes, default=0.0)


def _name(effect: FactorEffect) -> str:
    return _text(effect.factor, effect.reference)


def _text(factor: str, level: str) -> str:
    return f"HTTP/{level}" if factor == "http_version" else level
