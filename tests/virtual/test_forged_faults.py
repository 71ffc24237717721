"""A program of a guest that plays a fault to its kernel gets no memory but its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from link_command import link

SOURCE = Path(__file__).parents[1] / "adversary/forged_fault.c"
COMMANDS = 94
"""Commands in ``struct stub_data``, as ``closed-stub.patch`` has it."""
CALLS = 14
"""More than the stub has system calls."""


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attack")
    compiler = shutil.which("cc")
    assert compiler, "these tests need a C compiler: install gcc"
    words = [compiler, "-O1", "-static", "-o", str(folder / "forged"), str(SOURCE)]
    subprocess.run(words, check=True)
    return folder


def said(attack: Path, way: str) -> list[str]:
    """Run a way of the attack for each system call of the stub, in one guest; return its words."""
    script = f"for n in $(seq 0 {CALLS}); do ./forged {way} {COMMANDS} $n; echo ended $?; done"
    ended = link("--clock", "virtual", "--isolated", "--", "sh", "-c", script, cwd=attack)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert sum(line.startswith("ended ") for line in lines) == CALLS + 1
    assert "no stub" not in lines
    return lines


def test_no_system_call_of_the_stub_returns_to_the_program(attack: Path) -> None:
    """With one that does, it reports a fault, and receives the descriptor of all memory itself."""
    lines = said(attack, "gadget")
    assert "mapped" not in lines
    assert lines.count("there is no such gadget") == CALLS + 1


def test_commands_of_the_program_map_nothing(attack: Path) -> None:
    """It jumps behind each system call, with the stub's data as it likes them."""
    lines = said(attack, "commands")
    assert "mapped" not in lines
    assert "there is no such system call" in lines


def test_no_system_call_of_the_stub_is_another_one(attack: Path) -> None:
    """Each address has its own; a process that makes another one is killed, and the guest lives."""
    lines = said(attack, "elsewhere")
    assert lines.count("returned") <= 1  # munmap's own
    assert "there is no such system call" in lines
