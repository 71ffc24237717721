"""The command line, run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from httpbed.cli import main as command_line

Command = Callable[..., tuple[int, str, str]]
"""Runs httpbed with arguments; returns the exit code, stdout and stderr."""


def command(monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> Command:
    """Return a function that runs httpbed in this process."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["httpbed", *map(str, arguments)])
        capture.readouterr()
        with pytest.raises(SystemExit) as left:
            command_line.main()
        out, err = capture.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code, out.decode(errors="replace"), err.decode()

    return run
