"""``design.jsonl``: the trials of a campaign in order, one on each line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from httpbed.experiment.trial import Trial

Levels = tuple[tuple[str, str], ...]


def text(design: Iterable[Trial]) -> str:
    """Return the file's content."""
    return "".join(f"{trial.model_dump_json()}\n" for trial in design)


def parse(content: str) -> list[Trial]:
    """Return the trials in a file's content; all trials of a treatment share one document.

    The blocks of a campaign repeat the same documents. Copies of them would take most of the memory
    of a large design.
    """
    documents: dict[Levels, dict[str, Any]] = {}
    return [_sharing(Trial.model_validate_json(line), documents) for line in content.splitlines()]


def _sharing(trial: Trial, documents: dict[Levels, dict[str, Any]]) -> Trial:
    known = documents.setdefault(tuple(trial.levels.items()), trial.document)
    return trial.model_copy(update={"document": known}) if known == trial.document else trial
