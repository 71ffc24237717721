"""Programs that have gone wild end as failures with the reason, and leave the machine as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.programs import recipe
from httpbed.trial import plan
from shell_programs import outcome

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

MB = 10**6
FLOOD = "yes"
FILES = "n=0; while :; do head -c 1000000 /dev/zero >$n; n=$((n+1)); done"
EMPTY_FILES = "n=0; while :; do : >$n; n=$((n+1)); done"
MEMORY_FILE = "head -c 10000000000 /dev/zero >/tmp/big || exit 3"
MEMORY = "tail /dev/zero"
FORKS = "while sleep 1000 & do :; done"


@pytest.fixture(autouse=True)
def _tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the bounds, so that tests reach them sooner."""
    monkeypatch.setattr(plan, "LOG_BYTES", 4 * MB)
    monkeypatch.setattr(recipe, "MEMORY_BYTES", 64 * MB)
    monkeypatch.setattr(recipe, "PROCESSES", 400)


@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("script", [FLOOD, FILES, EMPTY_FILES])
def test_a_program_that_fills_the_disk_is_ended(tmp_path: Path, role: str, script: str) -> None:
    """In one file or many, as a client or before a server listens."""
    record = outcome(tmp_path, script, role)
    assert f"{role} filled its folder of " in record.attempt.outcome.reason
    kept = [file for file in (tmp_path / "campaign").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in kept) < 80 * MB
    assert len(kept) < 200


@pytest.mark.parametrize(
    ("script", "word"),
    [
        (MEMORY_FILE, "exit status 3"),  # the file system in memory is full, or the file too long
        (MEMORY, "exit status 1"),  # it said that its memory is exhausted
        (FORKS, "exit status"),  # the shell can fork no more
    ],
)
def test_a_program_that_fills_the_memory_fails_by_itself(
    tmp_path: Path, script: str, word: str
) -> None:
    """Its allocation fails, and no other process is harmed."""
    record = outcome(tmp_path, script)
    assert "client ended well" in record.attempt.outcome.reason
    assert word in record.attempt.outcome.reason
