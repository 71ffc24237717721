"""A command behind a link in virtual time: what is handed over, and what comes back."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from httpbed.host.guest import boot, job
from httpbed.host.guest.command import INIT, SHARED, Guest
from httpbed.host.packages.guest_kernel import GuestKernel
from httpbed.network.shell import options, plan
from httpbed.network.shell.guest import outside
from httpbed.network.shell.guest.work import PCAP, RANDOM_DEVICE, STDERR, STDOUT, HandedCommand
from httpbed.network.shell.run import LinkRequest

LIBRARY = b"a library"
RESULT: dict[str, Any] = {
    "exit": {"status": 3, "signal": None, "timed_out": False, "wall_s": 1.5, "cpu_s": 0.0}
    | {"max_rss_kib": 1, "runs": 1, "ended_for": None},
    "peer": "10.77.0.2",
    "outside": "none",
    "real_time": True,
    "result": {"directions": []},
}


def kernel(folder: Path) -> GuestKernel:
    """Return a kernel that has its library, and nothing else."""
    found = GuestKernel(folder / "linux", "7.2", "a" * 64, "b" * 64)
    found.random_device.write_bytes(LIBRARY)
    return found


def request(folder: Path, seed: int = 7) -> LinkRequest:
    """Return a request for a command and a capture."""
    return LinkRequest(
        ("server", "--slow"), options.describe({"loss": "4%"}), seed, "af_packet",
        pcap=folder / "capture.pcapng", meter=True, clock="virtual",
    )  # fmt: skip


def test_a_guest_gets_the_command_its_folder_and_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It prints here what the command prints there, and leaves the capture where it belongs."""
    handed = list[tuple[HandedCommand, str, Guest]]()
    libraries = list[bytes]()

    async def boots(guest: Guest, *, limit_s: float) -> None:
        del limit_s
        script = (guest.shared / INIT).read_text()
        handed.append((job.read_work(guest.shared), script, guest))
        libraries.append((guest.shared / RANDOM_DEVICE).read_bytes())
        for name in (STDOUT, STDERR):
            with (guest.shared / name).open("a") as stream:
                stream.write(f"early {name}\n")
                stream.flush()
                await asyncio.sleep(2 * outside.LOOK_S)
                stream.write(f"late {name}\n")
        (guest.shared / PCAP).write_bytes(b"packets")
        job.write_result(guest.shared, RESULT)

    monkeypatch.setattr(boot, "run", boots)
    ran = asyncio.run(outside.run(request(tmp_path), kernel(tmp_path), tmp_path, print))
    ((work, script, guest),) = handed
    assert (work.request.argv, work.folder) == (("server", "--slow"), tmp_path)
    assert work.environment.items() >= os.environ.items()
    assert work.environment["LD_PRELOAD"] == str(SHARED / RANDOM_DEVICE)
    assert libraries == [LIBRARY]
    assert (work.request.outside, work.request.meter) == (False, False)
    assert script.endswith(f" {tmp_path}\n")
    assert not guest.shared.exists()
    assert capfd.readouterr() == ("early stdout\nlate stdout\n", "early stderr\nlate stderr\n")
    assert (tmp_path / "capture.pcapng").read_bytes() == b"packets"
    assert (ran.exit.status, ran.exit.wall_s, ran.outside) == (3, 1.5, "none")


def test_the_seed_of_a_guest_follows_from_that_of_the_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So --seed repeats the kernel's ports and keys, too."""
    seeds = list[int]()

    async def boots(guest: Guest, *, limit_s: float) -> None:
        del limit_s
        seeds.append(guest.seed)
        job.write_result(guest.shared, RESULT)

    monkeypatch.setattr(boot, "run", boots)
    for seed in (7, 7, 8):
        asyncio.run(outside.run(request(tmp_path, seed), kernel(tmp_path), tmp_path, print))
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_capture_that_the_command_replaced_is_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    """Nothing else of the user gets into the capture, nothing blocks, and the user is told."""
    others = tmp_path / "others"
    others.write_text("secret")

    async def boots(guest: Guest, *, limit_s: float) -> None:
        del limit_s
        if kind == "link":
            (guest.shared / PCAP).symlink_to(others)
        else:
            os.mkfifo(guest.shared / PCAP)
        job.write_result(guest.shared, RESULT)

    monkeypatch.setattr(boot, "run", boots)
    asyncio.run(outside.run(request(tmp_path), kernel(tmp_path), tmp_path, print))
    assert (tmp_path / "capture.pcapng").read_bytes() == b""
    assert "capture.pcapng stays empty" in capsys.readouterr().out


def test_the_emulator_sleeps_in_virtual_time() -> None:
    """While it polled for a due time, the clock would stand still."""
    spins = [
        plan.plan(options.describe({}), 7, "cubic", clock=clock).network.emulator_config["spin_us"]
        for clock in ("real", "virtual")
    ]
    assert spins[0] > spins[1] == 0


@pytest.mark.parametrize("folder", ["/", "/proc/self", "/sys/class", "/dev/mine"])
def test_a_folder_that_no_guest_shares_is_refused(folder: str) -> None:
    """Each guest has its own devices, processes and shared memory."""
    (mistake,) = outside.mistakes({}, Path(folder), isolated=False)
    assert f"a guest cannot write into the working folder {folder}" in str(mistake)


def test_a_guest_is_not_nested_in_another_link_unless_that_is_wanted() -> None:
    """Its packets would not pass the outer link."""
    inside = {"HTTPBED_UPLINK": "/scratch/trial/uplink"}
    (mistake,) = outside.mistakes(inside, Path("/home"), isolated=False)
    assert "a guest cannot reach the link around this command" in str(mistake)
    assert not [*outside.mistakes(inside, Path("/home"), isolated=True)]
