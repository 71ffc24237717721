"""What a trial left, and by what two repetitions of it differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.experiment.kept import LINK_RESULT
from httpbed.experiment.trial import Record
from httpbed.store.attempts import OBSERVATIONS
from httpbed.store.campaign import Campaign

_NAMED = 3
"""Metrics that are named; the others are counted."""


@dataclass(frozen=True)
class Evidence:
    """A trial's outcome, and the bytes of its observations and of the emulator's result."""

    outcome: str
    """Kind and reason, such as "timed out: ..."; empty if it completed."""
    observations: bytes = b""
    link_result: bytes = b""


def of_campaign(campaign: Campaign) -> dict[str, Evidence]:
    """Return the evidence of each trial by the names of its levels."""
    return {_name(record): _evidence(campaign, record) for record in campaign.records()}


def difference(one: Evidence, other: Evidence) -> str:
    """Return in words by what two repetitions differ; empty if they are the same bytes."""
    if one == other:
        return ""
    if one.outcome != other.outcome:
        return f"once {one.outcome or 'completed'}, once {other.outcome or 'completed'}"
    found = [*_metrics(one.observations, other.observations)]
    words = ", ".join(found[:_NAMED])
    if len(found) > _NAMED:
        words += f" and {len(found) - _NAMED} more metrics"
    if not found and one.observations != other.observations:
        words = "the bytes of the observations, not their values"
    return "; ".join(filter(None, (words, *_values(one.link_result, other.link_result))))


def _name(record: Record) -> str:
    return ", ".join(record.attempt.trial.levels.values())


def _evidence(campaign: Campaign, record: Record) -> Evidence:
    outcome, artifacts = record.attempt.outcome, campaign.artifacts(record.attempt)
    files = (artifacts.parent / OBSERVATIONS, artifacts / LINK_RESULT)
    contents = (file.read_bytes() if file.exists() else b"" for file in files)
    is_completed = outcome.kind == "completed"
    return Evidence("" if is_completed else f"{outcome.kind}: {outcome.reason}", *contents)


def _metrics(one: bytes, other: bytes) -> Iterator[str]:
    """Yield the metrics that differ, those that differ most first."""
    first, second = _observed(one), _observed(other)
    shares = dict[str, float]()
    for key in first.keys() | second.keys():
        share = _share(first.get(key), second.get(key))
        shares[key[0]] = max(share, shares.get(key[0], 0.0))
    for metric, share in sorted(shares.items(), key=lambda item: (-item[1], item[0])):
        if share:
            yield f"{metric} by {share:.2g} %" if share < float("inf") else f"{metric} once only"


def _observed(lines: bytes) -> Mapping[tuple[str, str], float]:
    found = map(json.loads, lines.splitlines())
    return {(one["metric"], one["item"] or ""): one["value"] for one in found}


def _share(one: float | None, other: float | None) -> float:
    """Return the difference in per cent of the greater value; infinite if one value is missing."""
    if one == other:
        return 0.0
    if one is None or other is None:
        return float("inf")
    return 100 * abs(one - other) / max(abs(one), abs(other))


def _values(one: bytes, other: bytes) -> Iterator[str]:
    """Yield how many values of the emulator's result differ, if any."""
    if one == other:
        return
    first, second = ([*_leaves(json.loads(text or b"null"))] for text in (one, other))
    if len(first) != len(second):
        yield f"the emulator's result has {len(first)} and {len(second)} values"
        return
    differing = sum(a != b for a, b in zip(first, second, strict=True))
    yield f"{differing} of {len(first)} values of the emulator's result"


def _leaves(node: Any) -> Iterator[Any]:
    if isinstance(node, Mapping):
        for child in node.values():
            yield from _leaves(child)
    elif isinstance(node, list):
        for child in node:
            yield from _leaves(child)
    else:
        yield node
