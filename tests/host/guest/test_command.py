"""The command that boots a guest, and the first program in it."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from httpbed.host.guest.command import SEED, SHARED, Guest, init

GUEST = Guest(Path("/cache/linux"), Path("/campaign/guest"), seed=7, memory_bytes=2**30, cpu=1)


@pytest.mark.parametrize(
    "elsewhere",
    [
        replace(GUEST, kernel=Path("/home/other/linux")),
        replace(GUEST, shared=Path("/another campaign/guest")),
        replace(GUEST, cpu=0),
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
    assert set(GUEST.environment()) == {"PATH", "TMPDIR", SEED}


def test_the_shared_folder_is_an_argument_and_no_text_of_the_shell() -> None:
    """A folder's name may contain what a shell would execute."""
    strange = replace(GUEST, shared=Path("/x; reboot"))
    assert strange.argv().count("/x; reboot") == 1


def test_the_first_program_is_a_script_that_becomes_the_command() -> None:
    """Words and settings with blanks and quotes stay whole."""
    script = init(["/o'dd place/python", "-m", "job"], {"PYTHONPATH": "/a b"})
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    last = shlex.split(script.splitlines()[-1])
    assert last[:3] == ["exec", "env", "-i"]
    assert "PYTHONPATH=/a b" in last
    assert last[-4:] == ["/o'dd place/python", "-m", "job", "</dev/null"]


def test_the_guest_finds_the_shared_folder_where_its_kernel_finds_it() -> None:
    """The path is the same before and after the change of the root."""
    assert f"mount --bind {SHARED} .{SHARED}" in init(["true"], {})
    assert f"init={SHARED}/init" in GUEST.kernel_words()


def test_a_folder_that_is_written_through_keeps_its_path() -> None:
    """It is bound before the root becomes read-only, and again into the new root."""
    lines = init(["true"], {}, [Path("/home/a user/work")]).splitlines()
    kept, joined = (
        lines.index(f"mount --bind '/home/a user/work' {place}'/home/a user/work'")
        for place in ("", ".")
    )
    assert kept < lines.index("mount -o remount,bind,ro /") < lines.index("cd /sys/root") < joined
