"""Files and attempts that differ from what was written, and how commands report them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.base.errors import visible

MAX_REASONS = 3
"""Reasons shown in one line for one place; the others are counted."""
MAX_NAMED = 5
"""Attempts that :func:`lines` names; ``httpbed verify`` names all."""


@dataclass(frozen=True, order=True)
class Damage:
    """An attempt, or a file of the campaign, that differs from what was written."""

    place: str
    """Path below the campaign's folder."""
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        shown, rest = self.reasons[:MAX_REASONS], self.reasons[MAX_REASONS:]
        return f"{self.place}: {'; '.join(shown)}" + (f"; and {len(rest)} more" if rest else "")


def lines(damaged: Sequence[Damage], directory: Path) -> Iterator[str]:
    """Yield lines that name some damaged attempts with the differences, and what to do."""
    if not damaged:
        return
    many = len(damaged) > 1
    what = f"{len(damaged)} attempts differ" if many else "1 attempt differs"
    yield (
        f"{what} from what was written and {'count' if many else 'counts'} as missing;"
        f" httpbed run moves {'them' if many else 'it'} to damaged/ and runs"
        f" {'their trials' if many else 'its trial'} again:"
    )
    yield from (f"  {visible(str(damage))}" for damage in damaged[:MAX_NAMED])
    if len(damaged) > MAX_NAMED:
        rest = len(damaged) - MAX_NAMED
        yield f"  and {rest} more; httpbed verify {visible(str(directory))} names all"


def values(damaged: Sequence[Damage]) -> list[dict[str, Any]]:
    """Return damaged places for :func:`json.dumps`."""
    return [{"place": damage.place, "reasons": list(damage.reasons)} for damage in damaged]
