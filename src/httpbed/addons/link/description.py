"""What a link emulates, in one line: printed before the command runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from httpbed.addons.link.options import WAYS, DescribedLink
from httpbed.experiment import profiles
from httpbed.experiment.impairments.queue import QUEUE_LIMIT
from httpbed.experiment.impairments.registry import ALL


def sentence(described: DescribedLink) -> str:
    """Describe both directions, once if they are equal, after the name and title of a profile."""
    name = described.link.profile
    titled = f"{name} ({profiles.all_profiles()[name].title}): " if name else ""
    up, down = (", ".join(_impairments(table)) for table in described.written)
    if up == down:
        return f"{titled}each way {up}"
    return titled + "; ".join(f"{way} {words}" for way, words in zip(WAYS, (up, down), strict=True))


def _impairments(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words for each impairment and for what is absent; a queue needs a rate."""
    whole = {**table, "queue": {"limit": QUEUE_LIMIT, **table.get("queue", {})}}
    if "rate" not in table:
        del whole["queue"]
    for impairment in ALL:
        if impairment.field in whole:
            yield impairment.words(whole[impairment.field])
        elif impairment.absent:
            yield impairment.absent
