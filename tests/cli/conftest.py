"""The fixture of all tests of verbs."""

from __future__ import annotations

import pytest

import command_line
from command_line import Command


@pytest.fixture
def httpbed(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Return a function that runs httpbed and returns its exit code, stdout and stderr."""
    return command_line.command(monkeypatch, capfdbinary)
