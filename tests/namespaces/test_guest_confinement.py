"""What the kernel of a guest can reach of this machine when a program of the guest has taken it.

The programs here run in the place of the kernel, with its confinement.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

import process_tree
from httpbed.addons.virtual import boot, command
from httpbed.base.errors import BedError
from httpbed.bed.machine import unprivileged
from scripted_guest import LEFT_BYTES, console, python, scripted

pytestmark = [pytest.mark.namespaces, pytest.mark.as_root]

ATTACKS = Path(__file__).parents[1] / "adversary/taken_kernel.py"
MB = 10**6


def run(folder: Path, program: str, limit_s: float = 120.0) -> Path:
    """Run a Python program in the place of a kernel; return what it left."""
    return asyncio.run(boot.run(python(folder, program), folder, limit_s=limit_s))


def test_a_kernel_reaches_nothing_of_this_machine(tmp_path: Path) -> None:
    """No network, no process, no file but those of a guest, no right, no way to get one."""
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o755)
    left = run(tmp_path, ATTACKS.read_text().replace("@SECRET@", str(secret)))
    tried = [json.loads(line) for line in console(left).splitlines()]
    assert len(tried) >= 50
    assert [one for one in tried if one["succeeded"]] == []


def test_a_kernel_is_no_user_of_this_machine_with_rights(tmp_path: Path) -> None:
    """Also when root runs httpbed."""
    users = list[str]()

    async def looked_at() -> None:
        begun = asyncio.Event()
        guest = scripted(tmp_path, "sleep 1000")
        running = asyncio.create_task(boot.run(guest, tmp_path, watch=lambda _: begun.set()))
        await begun.wait()
        users.extend(user_of(process.pid) for process in process_tree.descendants(os.getpid()))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(looked_at())
    mapped = unprivileged.user()
    assert set(users) == {str(mapped[0] if mapped else os.geteuid())}


def user_of(process: int) -> str:
    status = Path(f"/proc/{process}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return fields["Uid"].split()[1]


FILLING = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
kept = []
def fill(handle):
    try:
        while True:
            os.write(handle, b"1" * 2**20)
    except OSError as error:
        print(error.errno, os.lseek(handle, 0, 1))
"""


@pytest.mark.parametrize(
    "way",
    [
        "fill(os.open('/trial/left/file', os.O_CREAT | os.O_WRONLY))",
        (
            "handle = os.open('/trial/left/file', os.O_CREAT | os.O_WRONLY);"
            " [libc.fallocate(handle, 1, ctypes.c_long(n * 2**20), ctypes.c_long(2**20))"
            " for n in range(100)]"
        ),
        "[os.close(os.open(f'/trial/left/{n}', os.O_CREAT)) for n in range(5000)]",
    ],
)
def test_a_kernel_that_fills_its_folder_reaches_its_bound(tmp_path: Path, way: str) -> None:
    """The rest of the disk stays free, and the guest's attempt is void."""
    before = os.statvfs(tmp_path).f_bfree * os.statvfs(tmp_path).f_frsize
    with pytest.raises(BedError, match=r"the guest (filled its folder|ended with exit status 1)"):
        run(tmp_path, FILLING + way)
    after = os.statvfs(tmp_path).f_bfree * os.statvfs(tmp_path).f_frsize
    kept = sum(path.stat().st_size for path in (tmp_path / "trial").rglob("*") if path.is_file())
    assert kept <= LEFT_BYTES
    assert before - after < 100 * LEFT_BYTES


def test_a_kernel_that_takes_memory_without_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the bound of its part."""
    monkeypatch.setattr(command, "_OWN_BYTES", 2**27)
    taking = "import mmap\nkept = []\nwhile True:\n    one = mmap.mmap(-1, 2**24)\n"
    taking += "    one.write(b'1' * 2**24)\n    kept.append(one)\n"
    with pytest.raises(BedError, match=r"the guest used more than \d+ MB of memory"):
        run(tmp_path, taking)


def test_a_kernel_starts_no_more_processes_than_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork bomb ends with its part."""
    monkeypatch.setattr(command, "_PROCESSES", 400)
    forking = (
        "import os, time\ncount = 0\ntry:\n    while count < 2000:\n"
        "        if os.fork() == 0:\n            time.sleep(1000)\n        count += 1\n"
        "except OSError:\n    pass\nprint(count)\n"
    )
    assert int(console(run(tmp_path, forking))) < 400


@pytest.mark.parametrize(
    ("left", "reason"),
    [
        ("os.symlink('away', '/trial/left/result')", "left a symbolic link, 'result'"),
        ("os.mkfifo('/trial/left/pipe')", "left a named pipe, 'pipe'"),
        ("os.makedirs('/'.join(['/trial/left', *'n' * 40]))", "made folders more than 32 deep"),
    ],
)
def test_what_is_no_file_and_no_folder_voids_the_attempt(
    tmp_path: Path, left: str, reason: str
) -> None:
    """Nothing of httpbed leaves such a thing in a guest."""
    with pytest.raises(BedError, match=reason):
        run(tmp_path, "import os\n" + left)
