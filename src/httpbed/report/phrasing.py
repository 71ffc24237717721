"""How numbers and names are written, the same on the terminal, in figures and in HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.base import units
from httpbed.base.clock import Clock
from httpbed.experiment.metric import METRICS, Form
from httpbed.results.comparison import MIN_BLOCKS, Ratio
from httpbed.results.estimate import CONFIDENCE, Interval
from httpbed.results.findings import Findings, Row
from httpbed.results.sample import Bounded

Namer = Callable[[Mapping[str, str]], str]
"""Names a treatment, given its levels."""
DASH = "\N{EN DASH}"
FEW_BLOCKS = f"fewer than {MIN_BLOCKS} blocks"

# For each unit of a metric: the smallest magnitude for which a prefix is used, its factor, name.
_PREFIXES: Mapping[str, tuple[tuple[float, float, str], ...]] = {
    "s": ((0.5, 1.0, "s"), (0.5e-3, 1e-3, "ms"), (0.0, 1e-6, "us")),
    "bit/s": ((0.5e9, 1e9, "Gbit/s"), (1e5, 1e6, "Mbit/s"), (0.0, 1e3, "kbit/s")),
    "byte": ((0.5e6, 1e6, "MB"), (0.5e3, 1e3, "kB"), (0.0, 1.0, "B")),
    "byte/s": ((0.5e6, 1e6, "MB/s"), (0.5e3, 1e3, "kB/s"), (0.0, 1.0, "B/s")),
    "1": ((0.0, 0.01, "%"),),
}
# Decimals, and from which shown value on they suffice.
_DECIMALS = ((0, 1000.0), (1, 100.0), (2, 0.5))
_MIN_DECIMALS: Mapping[Form, int] = {"count": 0, "index": 3}


@dataclass(frozen=True)
class NumberFormat:
    """How the values of one metric are written, alike in one table."""

    factor: float
    """What one of ``unit`` is in the metric's own unit."""
    unit: str
    decimals: int

    def number(self, value: float) -> str:
        """Write a value without its unit."""
        return f"{value / self.factor:.{self.decimals}f}"

    def end(self, value: Bounded) -> str:
        """Write a value without its unit, with ``>`` or ``<`` where it is a bound."""
        text = self.number(value.value)
        if not value.beyond:
            return text
        return f"{value.beyond} {text.rstrip('0').rstrip('.') if '.' in text else text}"

    def bounded(self, value: Bounded) -> str:
        """Write a value with its unit, and ``>`` or ``<`` where it is a bound."""
        return f"{self.end(value)} {self.unit}".rstrip()

    def interval(self, interval: Interval | None) -> str:
        """Write an interval without its unit."""
        if interval is None:
            return DASH
        low, high = self.end(interval.low), self.end(interval.high)
        return low if low == high and interval.low.beyond else f"{low} .. {high}"

    def finer(self) -> NumberFormat:
        """Return the format with one more decimal, for means and deviations."""
        return NumberFormat(self.factor, self.unit, self.decimals + 1)


def number_format(metric: str, values: Iterable[float]) -> NumberFormat:
    """Choose the prefix by the largest of the values, the decimals by the smallest."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    form, unit = METRICS[metric].form, METRICS[metric].unit
    if form in _MIN_DECIMALS:
        return NumberFormat(1.0, "", max(_MIN_DECIMALS[form], int(any(size % 1 for size in sizes))))
    largest = max(sizes, default=0.0)
    prefixes = _PREFIXES.get(unit, ((0.0, 1.0, unit),))
    factor, name = next((factor, name) for least, factor, name in prefixes if largest >= least)
    shown = min(sizes, default=factor) / factor
    decimals = next((places for places, least in _DECIMALS if shown >= least), 3)
    return NumberFormat(factor, name, decimals)


def table_format(findings: Findings) -> NumberFormat:
    """Choose the number format of a table of findings."""
    medians = (row.estimate.median.value for _, row in findings.rows() if row.estimate)
    return number_format(findings.metric, medians)


def signed(metric: str, value: float) -> str:
    """Write a difference with its sign, in a unit of its own: ``+12.4 ms``, ``-0.256 us``."""
    if not value:
        return "0"
    size = number_format(metric, [value]).bounded(Bounded(abs(value)))
    return f"{'+' if value > 0 else '-'}{size}"


def mark(value: Bounded) -> str:
    """Return the mark of a bound: ``> `` or ``< ``; empty for an exact value."""
    return f"{value.beyond} " if value.beyond else ""


def ratio_number(value: float) -> str:
    """Write a ratio with two decimals, or with two significant digits where it is tiny."""
    if value >= 100:  # three digits tell enough
        return f"{value:.0f}"
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def ratio_text(value: Bounded) -> str:
    """Write a ratio as ``0.81x``."""
    return f"{mark(value)}{ratio_number(value.value)}x"


def ratio_interval(interval: Interval | None) -> str:
    """Write the interval of a ratio."""
    if interval is None:
        return DASH
    low, high = interval.low, interval.high
    return f"{mark(low)}{ratio_number(low.value)} .. {mark(high)}{ratio_number(high.value)}"


def bracketed(scale: NumberFormat, interval: Interval | None) -> str:
    """Write an interval that stands beside its value: ``[4.9, 5.6]``; empty without one."""
    return f"[{scale.interval(interval).replace(' .. ', ', ')}]" if interval else ""


def ratio_brackets(interval: Interval | None) -> str:
    """Write the interval of a ratio that stands beside it: ``[0.68, 0.89]``; empty without one."""
    return f"[{ratio_interval(interval).replace(' .. ', ', ')}]" if interval else ""


def open_word(ratio: Ratio, clock: Clock) -> str:
    """Return why a comparison is open: noise, or too few blocks for any judgement.

    In virtual time nothing is noise: the blocks meet different draws, and do not settle it.
    """
    if ratio.n < MIN_BLOCKS:
        return f"n < {MIN_BLOCKS}"
    return "noise" if clock == "real" else "open"


def coverage(intervals: Iterable[Interval | None]) -> str:
    """Return the coverage of these intervals: ``95 %``, or ``at least 50 %`` where they differ.

    Empty without any interval.
    """
    shares = {min(CONFIDENCE, interval.coverage) for interval in intervals if interval}
    if not shares:
        return ""
    return ("at least " if len(shares) > 1 else "") + units.format_share(min(shares))


def covering(intervals: Iterable[Interval | None]) -> str:
    """Name these intervals by their coverage: ``95 % interval``."""
    covered = coverage(intervals)
    return (
        f"interval of {covered}"
        if covered.startswith("at least")
        else f"{covered} interval".strip()
    )


ABBREVIATIONS = frozenset({"http", "tcp"})


def title(name: str) -> str:
    """Turn a metric's or factor's name into words."""
    if name in METRICS:
        return METRICS[name].title
    return " ".join(word.upper() if word in ABBREVIATIONS else word for word in name.split("_"))


def sentence_case(text: str) -> str:
    """Begin a text with a capital letter and leave the rest, such as ``HTTP``, as it is."""
    return text[:1].upper() + text[1:]


def treatment(levels: Mapping[str, str], names: Iterable[str]) -> str:
    """Name a treatment by its levels of some factors: ``HTTP/3, bbr``."""
    return ", ".join(level(name, levels[name]) for name in names) or "all"


def whole_treatment(levels: Mapping[str, str]) -> str:
    """Name a treatment by all of its levels; without a factor it is the only one."""
    return treatment(levels, levels) if levels else "the only treatment"


def shared_levels(treatments: Collection[Mapping[str, str]]) -> dict[str, str]:
    """Return the levels that different treatments share."""
    first = next(iter(treatments), {})
    same = {
        name: level
        for name, level in first.items()
        if all(other[name] == level for other in treatments)
    }
    return same if same != first else {}


def naming(treatments: Collection[Mapping[str, str]]) -> Namer:
    """Return what names some treatments by the levels that they do not share."""
    shared = shared_levels(treatments)
    return lambda levels: whole_treatment(
        {name: level for name, level in levels.items() if name not in shared}
    )


def treatment_in_sentence(levels: Mapping[str, str], names: Iterable[str]) -> str:
    """Name a treatment without commas between its levels: ``HTTP/3 (bbr)``."""
    first, *others = [level(name, levels[name]) for name in names] or ["all"]
    return f"{first} ({', '.join(others)})" if others else first


def level(name: str, value: str) -> str:
    """Name one level so that it can be read alone."""
    if name == "http_version":
        return f"HTTP/{value}"
    return f"{title(name)} {value}" if value[:1].isdigit() else value


def base_name(findings: Findings) -> str:
    """Name the base, with its levels in the order of the treatments' names."""
    names = _base_factors(findings)
    return treatment(findings.base, names) if names else "base"


def base_in_sentence(findings: Findings) -> str:
    """Name the base as :func:`treatment_in_sentence` names treatments."""
    names = _base_factors(findings)
    return treatment_in_sentence(findings.base, names) if names else "base"


def _base_factors(findings: Findings) -> list[str]:
    return [name for name in (*findings.others, *findings.network) if name in findings.base]


def listed(words: Iterable[str]) -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def counted(noun: str, verdicts: Sequence[str], kinds: Iterable[str]) -> str:
    """Count verdicts, in the order of ``kinds``: ``3 claims: 2 reproduced, 1 open``."""
    counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in kinds if kind in verdicts)
    return f"{units.format_count(len(verdicts), noun)}: {counts}"


def bits_per_second(value: float) -> str:
    """Write a rate."""
    return units.format_rate(value, units.SHORT_DIGITS)


def ceiling(row: Row) -> str:
    """Write the ceiling of a goodput: ``of 5 Mbit/s``; only the unit without a ceiling."""
    if not row.ceiling_bit_s:
        return "Mbit/s"
    most = "at most " if row.ceiling_changes else ""
    return f"of {most}{bits_per_second(row.ceiling_bit_s)}"


def goodput_number(value: Bounded, ceiling_bit_s: float | None, decimals: int) -> str:
    """Write a goodput in its ceiling's unit, or in Mbit/s without a ceiling.

    What would round to nothing gets two digits.
    """
    known = (least for least, _ in units.RATE_PREFIXES if ceiling_bit_s and ceiling_bit_s >= least)
    factor = next(known, 1e6)
    shown = value.value / factor
    if 0 < shown < 10**-decimals:
        decimals = 1 - math.floor(math.log10(shown))
    return NumberFormat(factor, "", decimals).end(value)


def duration(seconds: float) -> str:
    """Write a duration."""
    return f"{seconds:.4g} s"


def brief_duration(seconds: float) -> str:
    """Write a duration with a suitable unit and few digits, as ``12.3 ms``."""
    return units.format_duration(seconds, units.SHORT_DIGITS)


def brief_size(size_bytes: float) -> str:
    """Write a size with a suitable unit and few digits, as ``1.23 MB``."""
    return units.format_size(size_bytes, units.SHORT_DIGITS)


def done(row: Row) -> str:
    """Write how many of a treatment's trials completed, or that no attempt was valid."""
    if row.tally.outcomes["invalid"] and not row.tally.recorded:
        return "no valid attempt"
    return f"{row.tally.completed}/{row.tally.planned}"


def agreeing_blocks(ratio: Ratio) -> str:
    """Count the blocks whose ratio lies on the same side of 1 as the median."""
    agreeing = ratio.below if ratio.value.value < 1 else ratio.above
    return f"{agreeing} of {ratio.n} {'block' if ratio.n == 1 else 'blocks'}"


def shortened(text: str, most: int) -> str:
    """Shorten a long name in its middle; names differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


MAX_OF_A_KIND = 3
"""Most subjects that are all named; of more, two are named and the others counted."""


@dataclass(frozen=True)
class Remark:
    """A remark on one subject, with a remedy."""

    subject: str
    text: str
    remedy: str = ""


def in_one_line(remarks: Iterable[Remark], kind: str) -> Iterator[str]:
    """Join remarks of one kind into one line; yield nothing if there are none.

    Subjects with the same remark are grouped; each remedy appears once, at the end.
    """
    subjects: dict[str, list[str]] = {}
    remedies: dict[str, None] = {}
    for remark in remarks:
        subjects.setdefault(remark.text, []).append(remark.subject)
        remedies[remark.remedy] = None
    texts = [f"{', '.join(few(names, kind))}: {text}" for text, names in subjects.items()]
    if texts:
        yield "; ".join([*few(texts, kind), *few([*filter(None, remedies)], "remedies")])


def few(names: Sequence[str], kind: str) -> list[str]:
    """Keep the first names, and count the others of the kind."""
    if len(names) <= MAX_OF_A_KIND:
        return list(names)
    shown = names[: MAX_OF_A_KIND - 1]
    return [*shown, f"and {len(names) - len(shown)} more {kind}"]


def compared_blocks(pairs: int, blocks: tuple[int, int]) -> str:
    """Return how many blocks a comparison has: ``6 paired``, or those of both sides."""
    return f"{pairs} paired" if pairs else " and ".join(map(str, blocks))


@dataclass(frozen=True)
class Sentence:
    """One finding."""

    text: str
    """Without its full stop."""
    evidence: str = ""
    """Interval and number of blocks; empty for a sentence without figures of its own."""
    about: str = ""
    """The factor that the sentence is about, if it is about one."""

    def __str__(self) -> str:
        lead = f"{self.about}: " if self.about else ""
        return f"{lead}{self.text} ({self.evidence})." if self.evidence else f"{lead}{self.text}."
