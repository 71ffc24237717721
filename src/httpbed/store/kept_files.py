"""The files that trials keep on request, as a campaign's attempts have them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from httpbed.base import units
from httpbed.experiment.kept import KINDS, QLOG_ENDINGS
from httpbed.store import layout

PLACE = f"{layout.TRIALS}/BLOCK/TRIAL/ATTEMPT/artifacts"


def lines(directory: Path, kept: Collection[str]) -> Iterator[str]:
    """Yield a line for each kind: how many attempts have it, its size and its place."""
    attempts = [directory / place / "artifacts" for place in layout.attempts(directory)]
    for name in sorted(kept):
        sizes = [sum(_sizes(name, artifacts)) for artifacts in attempts]
        count, size = sum(map(bool, sizes)), units.format_size(sum(sizes), units.SHORT_DIGITS)
        yield (
            f"kept: {name} of {count} of {len(attempts)} attempts, {size},"
            f" in {directory}/{PLACE}/{KINDS[name].place}"
        )


def _sizes(name: str, artifacts: Path) -> Iterator[int]:
    """Yield the sizes of the attempt's files of a kind; programs cannot leave links."""
    patterns = [KINDS[name].place] if name != "qlog" else [f"*/*{one}" for one in QLOG_ENDINGS]
    files = (file for pattern in patterns for file in artifacts.glob(pattern))
    yield from (file.stat().st_size for file in files if file.is_file())
