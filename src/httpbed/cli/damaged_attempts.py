"""How verbs tell of attempts that are not as they were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import visible
from httpbed.store.attempts import Damage

MOST = 5
"""Attempts that are named; httpbed verify names all."""


def lines(damaged: Sequence[Damage], directory: Path) -> Iterator[str]:
    """Name some attempts with what differs, and say what becomes of them."""
    if not damaged:
        return
    many = len(damaged) > 1
    what = f"{len(damaged)} attempts differ" if many else "1 attempt differs"
    yield (
        f"{what} from what was written and {'count' if many else 'counts'} as not there;"
        f" httpbed run moves {'them' if many else 'it'} to damaged/ and makes what is missing:"
    )
    yield from (f"  {visible(str(one))}" for one in damaged[:MOST])
    if len(damaged) > MOST:
        rest = len(damaged) - MOST
        yield f"  and {rest} more; httpbed verify {visible(str(directory))} names all"


def values(damaged: Sequence[Damage]) -> list[dict[str, Any]]:
    """Return the same for :func:`json.dumps`."""
    return [{"place": one.place, "reasons": list(one.reasons)} for one in damaged]
