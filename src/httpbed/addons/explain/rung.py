"""What lifting a limit did to a trial: a value, which a report shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from httpbed.addons.explain.explanation import Explained, Unexplained
from httpbed.addons.explain.lifts import Lift
from httpbed.base import units

REMOVED = 0.2
"""Share of its cost that a cause may keep if lifting its limit removed it."""


@dataclass(frozen=True)
class Rung:
    """What a lift did."""

    lift: Lift
    before: Explained
    after: Explained | Unexplained

    @property
    def saved_s(self) -> float | None:
        """Seconds that the trial took less; None if it cannot be divided."""
        if isinstance(self.after, Unexplained):
            return None
        return self.before.seconds - self.after.seconds

    @property
    def is_kept(self) -> bool:
        """Whether the next rung keeps what this one lifts: it saved something."""
        return (
            isinstance(self.after, Explained)
            and self.after.outcome == "completed"
            and self.after.division.whole < self.before.division.whole
        )

    @property
    def confirmed(self) -> bool:
        """Whether the cause went away, and the time that it took with it."""
        if not self.is_kept or isinstance(self.after, Unexplained):
            return False
        cost = self.after.division.costs().get(self.lift.cause, 0)
        return cost <= REMOVED * self.before.division.costs()[self.lift.cause]

    def sentence(self) -> str:
        """Say what was lifted and what came of it, without the full stop."""
        if isinstance(self.after, Unexplained):
            return f"With {self.lift.what}, the trial cannot be divided: {self.after.reason}"
        took = units.format_duration(self.after.seconds, units.SHORT_DIGITS)
        saved = self.saved_s or 0.0
        size = units.format_duration(abs(saved), units.SHORT_DIGITS)
        change = f"{size} {'less' if saved >= 0 else 'more'}"
        verdict = "is confirmed" if self.confirmed else f"is not confirmed{self._doubt()}"
        return f"With {self.lift.what} it takes {took}, {change}: {self.lift.cause} {verdict}"

    def _doubt(self) -> str:
        return ": it is still there" if self.is_kept else ", and the lift is not kept"

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        after = None if isinstance(self.after, Unexplained) else self.after.values()
        return {
            "cause": self.lift.cause,
            "lifted": self.lift.what,
            "confirmed": self.confirmed,
            "kept": self.is_kept,
            "saved_s": self.saved_s,
            "after": after,
        }
