"""An impairment as its author described it, in words: what stands in a table, short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
    bad = said.get("bad", "100 %")
    entered, left = said.get("to_bad", "?"), said.get("to_good", "?")
    return f"{bad} loss in bursts (entered at {entered} of packets, left at {left})"


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
