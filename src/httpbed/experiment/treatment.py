"""The key of a treatment, by which treatments are counted, grouped and looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

TreatmentKey = tuple[str, ...]
"""A treatment: its levels in the order of the experiment's factors."""


def treatment_key(levels: Mapping[str, Any], factors: Iterable[str] | None = None) -> TreatmentKey:
    """Return a treatment's key.

    Args:
        levels: Its levels, in the order of the factors; or with further members, such as a row of a
            table.
        factors: The names of the factors in their order; needed unless ``levels`` has only them.
    """
    return tuple(levels.values() if factors is None else (levels[name] for name in factors))
