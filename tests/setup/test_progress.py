"""Progress of set-up: steps are announced with their usual duration, and slow steps show life."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[2] / "setup/progress.py"


@pytest.fixture
def progress() -> ModuleType:
    """Load ``setup/progress.py``, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("setup_progress", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_step_is_announced_with_its_usual_duration(
    progress: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line appears on stderr when the step begins."""
    with progress.step("building", "a minute"):
        deadline = time.monotonic() + 10
        while not (line := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert line == "set-up: building (usually a minute)\n"


def test_a_quick_step_that_may_be_silent_prints_nothing(
    progress: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """``make prepare`` without a change prints nothing."""
    with progress.step("building", "a minute", silent_s=60.0):
        pass
    assert capsys.readouterr().err == ""


def test_a_slow_step_reports_that_it_is_running(
    progress: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sign of life says how long the step has taken so far."""
    monkeypatch.setattr(progress, "SIGN_OF_LIFE_S", 0.01)
    text, deadline = "", time.monotonic() + 10
    with progress.step("building", "a minute"):
        while "so far" not in text and time.monotonic() < deadline:
            time.sleep(0.01)
            text += capsys.readouterr().err
    assert "set-up: building: 0 s so far\n" in text


def test_a_failing_step_passes_its_error_on(progress: ModuleType) -> None:
    """The thread that reports progress ends with the step."""
    with pytest.raises(OSError, match="broken"), progress.step("building", "a minute"):
        raise OSError("broken")
