"""``design.jsonl``: the trials of a campaign in order, one on each line.

The blocks of a campaign repeat the documents of their treatments, which are most of a design. So a
document stands in the first line with its levels, and lines with the same levels and document leave
it out. In memory, too, trials of a treatment share one document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from httpbed.experiment.trial import Trial

Levels = tuple[tuple[str, str], ...]


def text(design: Iterable[Trial]) -> str:
    """Return the file's content."""
    written: dict[Levels, dict[str, Any]] = {}
    return "".join(f"{_line(trial, written)}\n" for trial in design)


def _line(trial: Trial, written: dict[Levels, dict[str, Any]]) -> str:
    levels = tuple(trial.levels.items())
    repeated = written.get(levels) == trial.document
    written[levels] = trial.document
    return trial.model_dump_json(exclude={"document"} if repeated else None)


def parse(content: str) -> list[Trial]:
    """Return the trials in a file's content; those of a treatment share one document.

    Raises:
        ValueError: A line is none of a design; the message names it.
    """
    read: dict[Levels, dict[str, Any]] = {}
    return [_of_line(*line, read) for line in enumerate(content.splitlines(), start=1)]


def _of_line(number: int, line: str, read: dict[Levels, dict[str, Any]]) -> Trial:
    try:
        return _trial(json.loads(line), read)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"line {number}: {place}: {first['msg']}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"line {number}: {type(error).__name__}: {error}") from None


def _trial(content: dict[str, Any], read: dict[Levels, dict[str, Any]]) -> Trial:
    levels = tuple(content["levels"].items())
    if content.get("document") not in (None, read.get(levels)):
        read[levels] = content["document"]
    return Trial.model_validate({**content, "document": read.get(levels)})
