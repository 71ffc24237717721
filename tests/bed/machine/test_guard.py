"""No process of a guarded command survives the death of any of its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from families import living, until
from httpbed.bed.machine import guard

# Three generations. The middle one ends, so the last is an orphan in its own session.
FAMILY = (
    "sh -c 'setsid sleep 1000.{word} & setsid sleep 1001.{word} & sleep 0.1' & sleep 999.{word}"
)
MEMBERS = 3


@pytest.fixture
def word() -> str:
    """A number that occurs only in the arguments of this test's processes."""
    return str(uuid.uuid4().int)[:12]


def start(word: str) -> subprocess.Popen[bytes]:
    """Start a caller that runs several generations under guards."""
    script = (
        "import sys; from httpbed.bed.machine import guard; "
        "sys.exit(guard.run(['sh', '-c', sys.argv[1]]))"
    )
    caller = subprocess.Popen([sys.executable, "-c", script, FAMILY.format(word=word)])
    until(lambda: len(sleepers(word)) == MEMBERS)
    return caller


def sleepers(word: str) -> list[int]:
    """Return the command's own processes, without the guards."""
    return [pid for pid in living(f".{word}") if b"sleep" in cmdline(pid).split(b"\0")[0]]


def cmdline(pid: int) -> bytes:
    """Return the arguments of a process; empty after it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def guards(word: str) -> list[int]:
    """Return the first guard, then the second."""
    return sorted(pid for pid in living(f".{word}") if b"guard.py" in cmdline(pid))


@pytest.mark.parametrize("victim", ["caller", "first guard", "second guard", "command"])
def test_no_process_survives_a_sigkill_of_any_of_them(word: str, victim: str) -> None:
    """This includes orphans in other sessions."""
    with start(word) as caller:
        first, second = guards(word)
        victims = {
            "caller": caller.pid,
            "first guard": first,
            "second guard": second,
            "command": min(children(second)),
        }
        os.kill(victims[victim], signal.SIGKILL)
        until(lambda: not living(f".{word}"))
        caller.wait()


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_an_interrupt_ends_all_processes(word: str) -> None:
    """SIGINT to the first guard ends all and gives the shell's usual exit code."""
    with start(word) as caller:
        os.kill(guards(word)[0], signal.SIGINT)
        until(lambda: not living(f".{word}"))
        assert caller.wait() == 128 + signal.SIGINT


def test_the_exit_code_of_the_command_is_passed_on() -> None:
    """A signal counts as 128 plus its number."""
    assert guard.run(["sh", "-c", "exit 7"]) == 7
    assert guard.run(["sh", "-c", "kill -TERM $$"]) == 128 + signal.SIGTERM
    assert guard.run(["/nonexistent/program"]) == guard.EXIT_NOT_STARTED


def test_a_second_command_waits_for_the_lock(tmp_path: Path) -> None:
    """Two commands under one lock never overlap."""
    lock, log = tmp_path / "lock", tmp_path / "log"
    script = f"echo in >>{log}; sleep 0.2; echo out >>{log}"
    argv = [sys.executable, guard.__file__, "--lock", str(lock), "--", "sh", "-c", script]
    running = [subprocess.Popen(argv, stderr=subprocess.DEVNULL) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert log.read_text().split() == ["in", "out"] * 3
