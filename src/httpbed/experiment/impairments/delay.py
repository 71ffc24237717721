"""Delay, jitter (which keeps the order of packets) and reordering (which does not)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from httpbed.base.units import Seconds, Share, SignedSeconds, at_most
from httpbed.base.value import TEXT, Value, form_by_key
from httpbed.experiment.impairments.descriptor import (
    Emulated,
    Feature,
    Impairment,
    LinkFigures,
    Option,
    Table,
    nanoseconds,
)

LONGEST_S = 60.0
MAX_SAMPLES = 1_000_000

Delay = Annotated[Seconds, at_most(LONGEST_S)]


class Distributed(Value):
    """A random deviation from the delay for each packet; its mean is 0."""

    distribution: Literal["uniform", "normal", "pareto"]
    """``uniform``: between minus and plus the spread; ``normal``; ``pareto``: of shape 3."""
    spread: Delay
    """Largest deviation if uniform, else the standard deviation."""


class Samples(Value):
    """A deviation from the delay for each packet, chosen from a table."""

    samples: list[Annotated[SignedSeconds, at_most(LONGEST_S)]] = Field(
        min_length=1, max_length=MAX_SAMPLES
    )
    """Deviations with equal probabilities, such as measured ones."""


Jitter = Annotated[
    Annotated[Delay, Tag(TEXT)]
    | Annotated[Distributed, Tag("<distribution>")]
    | Annotated[Samples, Tag("<samples>")],
    form_by_key(
        '"5 ms"', distribution="<distribution>", spread="<distribution>", samples="<samples>"
    ),
]
"""Uniform between minus and plus this; or of another distribution; or from a table."""


class Reordering(Value):
    """Some packets are held back, so that later packets overtake them."""

    share: Share
    """Probability that a packet is held back, independently of all others."""
    hold: Delay
    """Additional delay of these packets."""


def _emulated_jitter(
    jitter: float | Distributed | Samples | None, direction: Emulated
) -> Table | None:
    if isinstance(jitter, Samples):
        samples = [nanoseconds(sample) for sample in jitter.samples]
        return {"distribution": "table", "samples_ns": samples, "key": direction.key("jitter")}
    if isinstance(jitter, Distributed):
        shape, spread = jitter.distribution, jitter.spread
    else:
        shape, spread = "uniform", jitter or 0.0
    if not spread:
        return None
    return {
        "distribution": shape,
        "spread_ns": nanoseconds(spread),
        "key": direction.key("jitter"),
    }


def _emulated_reordering(reordering: Reordering | None, direction: Emulated) -> Table | None:
    if reordering is None or not reordering.share:
        return None
    return {
        "probability": reordering.share,
        "hold_ns": nanoseconds(reordering.hold),
        "key": direction.key("reordering"),
    }


def _jitter_words(table: Table) -> str:
    if "samples" in table:
        return f"jitter from {len(table['samples'])} samples"
    return f"{table.get('distribution', '?')} jitter of {table.get('spread', '?')}"


def _reordering_words(table: Table) -> str:
    return f"{table.get('share', '?')} reordered by {table.get('hold', '?')}"


def _spread_s(jitter: float | Distributed | Samples | None, _figures: LinkFigures) -> float | None:
    """Return the largest deviation, or the standard deviation of an unbounded distribution."""
    if isinstance(jitter, Samples):
        return max(map(abs, jitter.samples))
    return jitter.spread if isinstance(jitter, Distributed) else jitter


DELAY = Impairment(
    field="delay",
    emulator_key="delay_ns",
    emulated=lambda delay, _direction: nanoseconds(delay),
    text="{}",
    absent="no delay",
    features=(Feature("delay_s", "number", "s", lambda delay, _: float(delay), along="sum"),),
    options=(
        Option("delay", ("delay",), "duration", "50ms", "One-way delay, added after transmission."),
    ),
)
JITTER = Impairment(
    field="jitter",
    emulated=_emulated_jitter,
    text="{} jitter",
    table_words=_jitter_words,
    options=(
        Option(
            "jitter",
            ("jitter", "spread"),
            "duration",
            "5ms",
            "Variation of the delay that keeps the order; by default uniform between minus and"
            " plus this.",
            ("jitter",),
        ),
        Option(
            "jitter-distribution",
            ("jitter", "distribution"),
            "word",
            "normal",
            "uniform, normal or pareto.",
            needs="jitter",
        ),
    ),
    random=True,
    is_computed=True,
    features=(
        Feature(
            "jitter_s",
            "number",
            "s",
            _spread_s,
            addition="Largest deviation; the standard deviation if normal or pareto.",
        ),
    ),
)
REORDERING = Impairment(
    field="reordering",
    emulated=_emulated_reordering,
    text="{} reordered",
    table_words=_reordering_words,
    options=(
        Option(
            "reorder",
            ("reordering", "share"),
            "share",
            "1%",
            "Probability that a packet is held back and overtaken.",
        ),
        Option(
            "reorder-hold",
            ("reordering", "hold"),
            "duration",
            "10ms",
            "Time for which a reordered packet is held back.",
            needs="reorder",
        ),
    ),
    random=True,
    is_computed=True,
    counters=("reordered",),
    features=(
        Feature(
            "reordering",
            "number",
            "1",
            lambda reordering, _: reordering.share if reordering else 0.0,
            along="any",
        ),
        Feature(
            "reordering_hold_s",
            "number",
            "s",
            lambda reordering, _: reordering.hold if reordering else None,
            addition="Additional delay of these packets.",
        ),
    ),
)
