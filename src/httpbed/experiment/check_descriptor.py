"""What a check on an attempt is called, whom it judges and what it requires.

The checks themselves are in :mod:`httpbed.experiment.check`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from httpbed.base import units
from httpbed.experiment.trial import Check

BedOrSubject = Literal["bed", "subject"]
CheckApplies = Literal[
    "every attempt",
    "user-space emulator",
    "kernel backend",
    "scheduled changes",
    "events",
    "hand-over",
    "HTTP/3",
    "stated TCP buffers",
    "proxies",
    "one file",
    "download",
    "intervals",
    "upload",
    "page load",
    "recorded site",
]
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class CheckDescriptor:
    """What one check is called, whom it judges and what it requires."""

    name: str
    """The name in ``trial.json``, where a part's name replaces ``{part}``. A comma and a place may
    follow there: a direction, hop, link or client."""
    of: BedOrSubject
    """Broken, a check of the bed makes the attempt invalid, one of the subject the outcome
    failed."""
    applies: CheckApplies
    """Which attempts have it."""
    requirement: str
    """What must hold, in one sentence; ``{limit}`` stands for :attr:`limit`."""
    by_strain: bool = False
    """Whether only a busy machine breaks it, so that the trial is worth another attempt."""
    is_note: bool = False
    """Whether it never breaks, and only explains other results."""
    is_explicit: bool = False
    """Whether the figure of a broken one says by itself what is wrong."""
    group: str = ""
    """The common name of several checks, which reports may list as one."""
    unit: str = ""
    """Unit of what it measures: ``s``, ``1`` for a share, or what it counts; empty if it measures
    nothing. Of several measured values, a report shows the largest."""
    limit: float = 0.0
    """Bound of what it measures, in :attr:`unit`, where it is the same for all attempts."""

    @property
    def id(self) -> str:
        """What the check is called in files, whatever it was observed at."""
        return _PLACEHOLDER.sub(r"\1", self.name)

    @property
    def meaning(self) -> str:
        """What must hold, with the limit."""
        write = units.format_share if self.unit == "1" else units.format_duration
        return self.requirement.replace("{limit}", write(self.limit))

    def result(  # noqa: PLR0913 - what was observed, and where
        self,
        *,
        passed: bool | None,
        figure: str,
        limit: str = "",
        where: str = "",
        item: str = "",
        measured: float | None = None,
    ) -> Check:
        """Return the check with what was observed.

        ``where`` is its direction, hop or client, ``item`` what its name has a placeholder for.
        ``measured`` is in the descriptor's unit.
        """
        return Check(
            check=self.id,
            item=item,
            name=self.title(where=where, item=item),
            of=self.of,
            passed=passed,
            figure=figure,
            limit=limit,
            measured=measured,
            unit="" if measured is None else self.unit,
        )

    def title(self, *, where: str = "", item: str = "") -> str:
        """Return the name in ``trial.json``."""
        name = _PLACEHOLDER.sub(item, self.name)
        return f"{name}, {where}" if where else name
