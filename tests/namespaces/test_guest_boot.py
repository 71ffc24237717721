"""How guests end, with a script in the place of the kernel: it gets the kernel's words."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from families import living, until
from httpbed.addons.virtual import boot
from httpbed.base.errors import BedError
from scripted_guest import console, scripted

pytestmark = [pytest.mark.namespaces, pytest.mark.as_root]


def run(folder: Path, kernel: str, limit_s: float = 60.0) -> str:
    """Run a guest to its end; return its console."""
    return console(asyncio.run(boot.run(scripted(folder, kernel), folder, limit_s=limit_s)))


def test_a_kernel_sees_one_processor_its_seed_and_its_folder(tmp_path: Path) -> None:
    """What is written there stays."""
    script = 'nproc; echo "$UML_SEED $*"; id -u; touch /trial/left/file; : >/dev/shm/own'
    processors, words, user = run(tmp_path, script).splitlines()
    assert (processors, user) == ("1", "0")
    assert words.startswith("7 mem=256M root=/dev/root")
    assert (tmp_path / "trial/left/file").exists()
    assert not Path("/dev/shm/own").exists()  # noqa: S108 - of the guest's namespace


def test_the_shared_memory_of_a_guest_may_hold_programs(tmp_path: Path) -> None:
    """The kernel maps the guest's memory executable, whatever this machine's /dev/shm forbids."""
    script = "cp /usr/bin/true /dev/shm/true && /dev/shm/true && echo ran"
    assert run(tmp_path, script) == "ran\n"


def test_a_kernel_that_dies_is_quoted(tmp_path: Path) -> None:
    """With the last lines of its console, in which no character moves a terminal's cursor."""
    said = "echo lost; echo first; echo; echo second; printf 'Kernel panic: \\033[31mno init\\n'"
    with pytest.raises(BedError) as error:
        run(tmp_path, f"{said}; exit 3")
    assert str(error.value) == (
        "the guest ended with exit status 3: first; second; Kernel panic: \\x1b[31mno init"
    )


def test_a_panic_is_quoted_without_the_registers_that_follow(tmp_path: Path) -> None:
    """They say nothing to a user, and may be 50 long lines."""
    registers = "for n in $(seq 50); do printf 'R%d: %0100d\\n' $n 0; done"
    script = f"echo lost; echo 'Kernel panic - no init'; {registers}; exit 134"
    with pytest.raises(BedError, match=r"exit status 134: lost; Kernel panic - no init$"):
        run(tmp_path, script)


def test_a_kernel_that_hangs_is_ended(tmp_path: Path) -> None:
    """By this machine's clock, with all its processes."""
    with pytest.raises(BedError, match=r"did not end within 1 s .*: entering the loop"):
        run(tmp_path, "echo entering the loop; sleep 1000 & while :; do :; done", limit_s=1.0)


def test_a_cancelled_guest_leaves_no_process(tmp_path: Path) -> None:
    """A second Ctrl-C breaks attempts off."""
    one, begun = scripted(tmp_path, "setsid sleep 1000 & wait"), asyncio.Event()

    async def cancelled() -> None:
        watched = boot.run(one, tmp_path, limit_s=60.0, watch=lambda _: begun.set())
        running = asyncio.create_task(watched)
        await begun.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(cancelled())


_ORCHESTRATOR = """
import asyncio, sys
from pathlib import Path
import scripted_guest
from httpbed.addons.virtual import boot
folder = Path(sys.argv[1])
guest = scripted_guest.scripted(folder, f"setsid sh -c 'sleep 1000; : {folder}' & wait")
begun = lambda _: (folder / "begun").touch()
asyncio.run(boot.run(guest, folder, limit_s=60.0, watch=begun))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_orchestrator_takes_its_guest_along(tmp_path: Path, number: int) -> None:
    """The kernel ends the guest's namespace, so also processes that left the group."""
    support = {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", _ORCHESTRATOR, str(tmp_path)]
    orchestrator = subprocess.Popen(words, env={**os.environ, **support})
    until((tmp_path / "begun").exists)
    orchestrator.send_signal(number)
    orchestrator.wait()
    until(lambda: not living(str(tmp_path)))


_TESTED = """
import sys
from pathlib import Path
from httpbed.addons.virtual import capability
from httpbed.addons.virtual.guest_kernel import GuestKernel
found = capability.test(GuestKernel(Path(sys.argv[1]), "7.2", "", ""))
print(found.ok, found.figure, found.remedy, sep="; ")
"""


@pytest.mark.parametrize(
    ("user", "change", "reason", "remedy"),
    [
        (
            "--map-user=65534",
            "echo 0 >/proc/sys/user/max_user_namespaces",
            "user namespace",
            "sysctl user.max_user_namespaces=10000",
        ),
        (
            "--map-root-user",
            'mount --bind . . && cd "$PWD" && mount -o remount,bind,noexec .',
            "may not be executed",
            "set HTTPBED_CACHE to a folder",
        ),
    ],
)
def test_a_machine_without_the_rights_says_which(
    tmp_path: Path, user: str, change: str, reason: str, remedy: str
) -> None:
    """It has no user namespaces, or the kernel is where no programs may run."""
    kernel = scripted(tmp_path, "exit 0").kernel
    command = ["unshare", "--user", user, "--keep-caps", "--mount", "sh", "-ec"]
    words = [f'{change}; exec "$@"', "sh", sys.executable, "-c", _TESTED, str(kernel)]
    found = subprocess.run(
        [*command, *words], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert found.stdout.startswith("None; ")
    assert reason in found.stdout
    assert remedy in found.stdout


def test_guests_of_one_process_take_different_processors() -> None:
    """As long as there are any; then they share them evenly."""
    usable = sorted(os.sched_getaffinity(0))
    with boot.processor() as first, boot.processor() as second:
        assert first == usable[0]
        assert second == usable[1 % len(usable)]
    with boot.processor() as again:
        assert again == first
