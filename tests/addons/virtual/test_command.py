"""The command that boots a guest, and the first program in it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from httpbed.addons.virtual.command import INIT, SEED, Guest, init
from httpbed.addons.virtual.visible_files import HANDED

GUEST = Guest(
    kernel=Path("/cache/linux"),
    handed=Path("/campaign/guest/handed"),
    seed=7,
    memory_bytes=2**30,
    cpu=1,
    left_bytes=2**20,
)


@pytest.mark.parametrize(
    "elsewhere",
    [
        replace(GUEST, kernel=Path("/home/other/linux")),
        replace(GUEST, handed=Path("/another campaign/guest")),
        replace(GUEST, seen=[Path("/home/other/lib")]),
        replace(GUEST, written=Path("/home/other/folder")),
        replace(GUEST, left_bytes=2**30, cpu=0),
    ],
)
def test_the_kernel_sees_the_same_words_for_the_same_trial(elsewhere: Guest) -> None:
    """It hashes its command line into its randomness: no folder of this machine may be in it."""
    assert elsewhere.kernel_words() == GUEST.kernel_words()
    assert elsewhere.environment() == GUEST.environment()


def test_blocks_differ_in_the_environment_alone() -> None:
    """The seed is no word of the command line."""
    other = replace(GUEST, seed=8)
    assert other.kernel_words() == GUEST.kernel_words()
    assert (GUEST.environment()[SEED], other.environment()[SEED]) == ("7", "8")


def test_the_guest_has_at_least_the_memory_that_it_needs() -> None:
    """The kernel takes whole MiB."""
    assert "mem=1025M" in replace(GUEST, memory_bytes=2**30 + 1).kernel_words()


def test_no_environment_of_the_user_reaches_the_kernel() -> None:
    """It would move the kernel's stack."""
    assert set(GUEST.environment()) == {"TMPDIR", SEED}


def test_a_kernel_may_write_to_one_folder_of_bounded_size(tmp_path: Path) -> None:
    """All else that it sees of this machine is read-only."""
    ((_, part),) = replace(GUEST, seen=[Path("/usr")]).sandbox(tmp_path).parts.items()
    assert part.folders == {"left": 2**20}
    assert part.shared.keys() == {"/kernel", "/seen/httpbed", "/seen/usr"}
    assert part.written == {}
    assert part.root is part.host is None


def test_only_a_command_of_the_user_keeps_this_user() -> None:
    """A trial's kernel is another user's if root runs httpbed."""
    assert not GUEST.sandbox(Path("/a")).keeps_user
    assert replace(GUEST, written=Path("/home/user/work")).sandbox(Path("/a")).keeps_user


def test_the_first_program_is_a_script_that_becomes_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Words, folders and settings with blanks and quotes stay whole."""
    monkeypatch.setattr(sys, "executable", "/o'dd place/python")
    script = init("a.module", {"PYTHONPATH": "/a b"}, Path("/home/a user/work"))
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    last = shlex.split(script.splitlines()[-1])
    assert last[:3] == ["exec", "env", "-i"]
    assert "PYTHONPATH=/a b" in last
    assert last[-6:-4] == ["/o'dd place/python", "-P"]
    assert last[-2:] == ["a.module", "/home/a user/work"]


def test_the_kernel_starts_what_is_handed_over() -> None:
    """Under the name that the host gives it."""
    assert f"init={HANDED}/{INIT}" in GUEST.kernel_words()
