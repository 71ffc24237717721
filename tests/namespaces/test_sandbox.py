"""A sandbox by itself: what its programs may do to this machine, and how they are started."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from pathlib import Path

import pytest

from httpbed.bed.sandbox.sandbox_spec import ProcessSpec, SandboxSpec
from httpbed.bed.sandbox.supervisor import sandbox

pytestmark = [pytest.mark.namespaces, pytest.mark.as_root]

HOSTS_OWN = "tools"
CONTENT_SHA256 = hashlib.sha256(b"content").hexdigest()


def spec_below(folder: Path) -> SandboxSpec:
    """Describe a sandbox with a root that is this machine's own."""
    return SandboxSpec(
        scratch=folder / "scratch",
        trial=folder,
        roots={HOSTS_OWN: Path("/")},
        shared={},
        programs={},
        hosts={},
        sysctls={},
        tmpfs_bytes=2**20,
    )


async def _read(folder: Path, file: str) -> str:
    async with sandbox(spec_below(folder)) as supervisor:
        program = ProcessSpec(argv=("cat", file), root=HOSTS_OWN, stdout="said")
        assert (await supervisor.run(program)).clean
    return (folder / "said").read_text()


def seen(folder: Path, file: str) -> str:
    """Read a file of /proc inside."""
    (folder / "scratch").mkdir()
    return asyncio.run(_read(folder, file))


def test_programs_of_this_machine_are_read_only(tmp_path: Path) -> None:
    """Root of this machine is root inside and could write to every writable mount."""
    table = seen(tmp_path, "/proc/self/mountinfo")
    mounts = {line.split()[4]: line.split()[5].split(",") for line in table.splitlines()}
    shown = [place for place in mounts if place.split("/")[1] in {"usr", "etc", "bin", "lib"}]
    assert {"/usr", "/etc"} <= set(shown)
    assert all("ro" in mounts[place] for place in shown), table


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="a kernel without autogroups")
def test_trials_are_as_nice_as_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new session would begin at 0, and the kernel shares the CPUs between sessions first."""
    monkeypatch.setattr(os, "getpriority", lambda _which, _who: 7)
    assert seen(tmp_path, "/proc/self/autogroup").split()[-2:] == ["nice", "7"]


def test_programs_of_the_bed_hear_all_signals(tmp_path: Path) -> None:
    """Signals that the sandbox blocks or ignores for itself reach its programs."""
    told = dict(line.split(":\t") for line in seen(tmp_path, "/proc/self/status").splitlines())
    ours = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines())
    assert told["SigBlk"] == ours["SigBlk"]
    assert not int(told["SigIgn"], 16) & 1 << (signal.SIGPIPE - 1)


def test_an_abandoned_request_does_no_harm(tmp_path: Path) -> None:
    """The meter of a link stops waiting when the command ends; the sandbox answers all the same."""

    async def ask_and_turn_away() -> None:
        async with sandbox(spec_below(tmp_path)) as supervisor:
            for _ in range(20):
                asking = asyncio.create_task(supervisor.digest("/trial/content"))
                await asyncio.sleep(0)
                asking.cancel()
            assert await supervisor.digest("/trial/content") == (7, CONTENT_SHA256)

    (tmp_path / "scratch").mkdir()
    (tmp_path / "content").write_text("content")
    asyncio.run(ask_and_turn_away())


def test_a_cancelled_wait_for_a_program_does_no_harm(tmp_path: Path) -> None:
    """A client that ends while the bed ends its connections must not end the sandbox."""

    async def run_and_turn_away() -> None:
        async with sandbox(spec_below(tmp_path)) as supervisor:
            program = ProcessSpec(argv=("sleep", "0.2"), root=HOSTS_OWN)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(supervisor.run(program), 0.1)
            assert (await supervisor.run(program)).clean

    (tmp_path / "scratch").mkdir()
    asyncio.run(run_and_turn_away())


def test_a_program_that_never_ends_its_line_ends_alone(tmp_path: Path) -> None:
    """Its line is not kept in memory without bound, and the sandbox goes on."""

    async def write() -> tuple[bool, bool]:
        endless = "head -c 100000000 /dev/zero | tr '\\0' a"
        async with sandbox(spec_below(tmp_path)) as supervisor:
            program = ProcessSpec(
                argv=("bash", "-o", "pipefail", "-c", endless), root=HOSTS_OWN, lines=True
            )
            long = await supervisor.run(program)
            after = await supervisor.run(ProcessSpec(argv=("true",), root=HOSTS_OWN))
            return long.clean, after.clean

    (tmp_path / "scratch").mkdir()
    assert asyncio.run(write()) == (False, True)
