"""One sentence of a report's answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentence:
    """One finding."""

    text: str
    """Without its full stop."""
    evidence: str = ""
    """Interval and number of blocks; empty for a sentence without figures of its own."""
    about: str = ""
    """The factor that the sentence is about, if it is about one."""

    def __str__(self) -> str:
        lead = f"{self.about}: " if self.about else ""
        return f"{lead}{self.text} ({self.evidence})." if self.evidence else f"{lead}{self.text}."
