"""The verb ``calibrate``: its table and its errors."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from command_line import Command
from httpbed.addons.calibration import calibrate_verb as calibrate
from httpbed.addons.calibration.cell import Finding
from httpbed.addons.calibration.session import Verdict
from httpbed.report.terminal import Console
from recorded import DEMO

GOOD = Finding("rate up", "bit/s", 1e7, 1.0001e7, 2e4, "as demanded")
ZERO = Finding("packets missing up", "packets", 0.0, 0.0, 0.0, "none may be")
SLOW = Finding("median delay up", "s", 0.025, 0.0254, 50e-6, "a wake-up")
UNMEASURED = Finding("rate down", "bit/s", 1e7, None, 2e4, "the sender was held up")


def shown(*verdicts: Verdict) -> str:
    console = Console(file=io.StringIO(), width=120, record=True)
    calibrate.show(verdicts, Path("certificate.json"), console)
    return console.export_text()


def test_the_table_shows_expected_and_achieved_with_the_tolerance() -> None:
    """Findings that must be zero and are zero are left out."""
    text = shown(Verdict("rate 10 Mbit/s", (GOOD, ZERO), {}, 2e-5, "SCHED_FIFO"))
    (row,) = [line for line in text.splitlines() if line.startswith("rate 10")]
    assert row.split("  ")[0] == "rate 10 Mbit/s"
    for word in ("10 Mbit/s", "10.001 Mbit/s", "0.20 %", "ok"):
        assert word in row
    assert "packets missing" not in text
    assert "1 of 1 cells passed; the emulator ran as SCHED_FIFO" in text
    assert "at most 20 us" in text


def test_the_table_shows_failures_with_their_reasons() -> None:
    """This includes a cell that could not measure and one that could not run."""
    text = shown(
        Verdict("delay 25 ms", (SLOW,), {}, 1e-3, "SCHED_OTHER"),
        Verdict("rate 10 Mbit/s", (UNMEASURED,), {}),
        Verdict("trace", (), {}, broken="httpbed-link ended"),
    )
    for words in ("FAILED", "25.4 ms", "a wake-up", "not measured", "BROKEN", "httpbed-link ended"):
        assert words in text
    assert "0 of 3 cells passed" in text


def refused(httpbed: Command, *arguments: str | Path) -> str:
    """Run the command line, which must reject its arguments; return stderr."""
    code, _, err = httpbed(*arguments)
    assert code == 2
    return err


def test_strict_refuses_before_anything_is_built(
    httpbed: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the reason and the command to run."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "own.toml"
    file.write_text(DEMO)
    folder = tmp_path / "campaign"
    told = refused(httpbed, "run", file, "--strict", "-o", folder)
    assert "there is no link certificate on this machine" in told
    assert "httpbed doctor calibrate" in told
    assert not folder.exists()
