"""A program that tells nothing of its requests: what is known comes from whoever asked it."""

from __future__ import annotations

from pathlib import Path

from httpbed.programs.protocol import ProgramReport


def parse(_: Path) -> ProgramReport:
    """Find nothing, and nothing wrong."""
    return ProgramReport()
