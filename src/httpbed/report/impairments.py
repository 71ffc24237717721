"""An impairment as its author described it, in words: what stands in a table, short."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from httpbed.experiment.impairments.loss import GilbertElliott

Table = Mapping[str, Any]


def rate(said: Table) -> str:
    """Say a rate that is more than a figure."""
    if "bucket" in said:
        return f"{said['bucket']} by a token bucket of {said.get('burst', '?')}"
    if "trace" in said:
        return f"rate of the trace {said['trace']}"
    if "cellular" in said:
        model = said["cellular"]
        mean = model.get("mean", "?") if isinstance(model, Mapping) else "?"
        return f"cellular rate of {mean} on average"
    steps = said.get("steps", [])
    return ", then ".join(f"{bit_s} from {at}" for at, bit_s in steps[:3]) + (
        ", ..." if len(steps) > 3 else ""  # noqa: PLR2004 - more is no sentence
    )


def loss(said: Table) -> str:
    """Say a loss that is more than a share."""
    if "packets" in said:
        return f"loss of {len(said['packets'])} listed packets"
    if "replay" in said:
        return f"losses as in {said['replay']}"
    if (known := _known_bursts(said)) is None:
        return _varied_bursts(said)
    mean, length = _mean(known), f"{known.mean_burst:.1f}".removesuffix(".0")
    if (known.bad, known.good) == (1, 0):
        return f"{mean} loss in bursts of {length} packets on average"
    return (
        f"{mean} loss: {said.get('bad', '100 %')} in bursts of {length} packets on average,"
        f" {said.get('good', '0 %')} between them"
    )


def _known_bursts(said: Table) -> GilbertElliott | None:
    """Read the model's parameters; None where a factor stands for one, by all its levels."""
    try:
        return GilbertElliott.model_validate(said)
    except ValueError:
        return None


def _mean(known: GilbertElliott) -> str:
    """Write the mean loss with two digits, or to a tenth of a percent where it is large."""
    percent = 100 * known.mean
    digits = 1 - math.floor(math.log10(percent)) if 0 < percent < 10 else 1  # noqa: PLR2004
    return f"{percent:.{digits}f}".rstrip("0").rstrip(".") + " %"


def _varied_bursts(said: Table) -> str:
    entered, left = said.get("to_bad", "?"), said.get("to_good", "?")
    lost = f", {said['bad']} lost in them" if "bad" in said else ""
    between = f", {said['good']} lost between them" if "good" in said else ""
    return f"loss in bursts (entered at {entered} of packets, left at {left}{lost}{between})"


def jitter(said: Table) -> str:
    """Say a jitter of which more is said than its size."""
    if "samples" in said:
        return f"jitter from {len(said['samples'])} samples"
    return f"{said.get('distribution', '?')} jitter of {said.get('spread', '?')}"


def reordering(said: Table) -> str:
    """Say how many packets are overtaken."""
    return f"{said.get('share', '?')} reordered by {said.get('hold', '?')}"


def queue(said: Table) -> str:
    """Say a queue's discipline, where it is not the plain one, and its limit."""
    discipline = said.get("discipline", "droptail")
    name = {"codel": "CoDel", "fq_codel": "FQ-CoDel", "pie": "PIE"}.get(discipline)
    words = [*([name] if name else []), *(["ECN"] if said.get("ecn") is True else [])]
    return " ".join([*words, f"queue {said['limit']}"])


TABLES: Mapping[str, Callable[[Table], str]] = {
    "rate": rate,
    "loss": loss,
    "jitter": jitter,
    "reordering": reordering,
    "queue": queue,
}
"""How a table is said, by the impairment's name."""
TEXTS: Mapping[str, str] = {
    "rate": "{}",
    "delay": "{}",
    "loss": "{} loss",
    "jitter": "{} jitter",
    "reordering": "{} reordered",
    "duplication": "{} duplicated",
    "corruption": "{} corrupted",
    "counted": "bytes counted as {}",
    "queue": "queue {}",
}
"""How a text is said, by the impairment's name; in the order in which a link is described."""
ABSENT: Mapping[str, str] = {"rate": "no rate limit", "delay": "no delay", "loss": "no loss"}
"""What is worth saying of what is not there."""


def short(name: str, said: Table) -> str:
    """Say a table in a few words, for a drawing; what it leaves out is said elsewhere."""
    if name == "rate":
        return _short_rate(said)
    if name == "loss":
        return _short_loss(said)
    if name == "jitter":
        return "sampled jitter" if "samples" in said else jitter(said)
    return TABLES[name](said)


def _short_rate(said: Table) -> str:
    if "steps" in said:
        return f"rate in {len(said['steps'])} steps"
    if "trace" in said:
        return "rate of a trace"
    return f"{said['bucket']} token bucket" if "bucket" in said else "cellular rate"


def _short_loss(said: Table) -> str:
    if "packets" in said:
        return "listed losses"
    if "replay" in said:
        return "recorded losses"
    known = _known_bursts(said)
    return f"{_mean(known)} loss in bursts" if known else "loss in bursts"
